import { array, int, noExample, nullable, object, oneOf, optional } from '../../../schema.ts'

/** In the order in which a task shows them. */
export const taskFlags = ['asks_you', 'waits_for_you', 'changes_asked', 'stalled', 'needs_decision', 'ready'] as const
export type TaskFlag = (typeof taskFlags)[number]

/** What a list adds to each task on request. */
export const taskExtras = {
  flags: optional({
    ...array(oneOf(taskFlags, { example: 'ready' }), 2, {
      description: 'What it needs, for you; only with `with=flags`',
    }),
    [noExample]: true,
  }),
  parts: optional({
    ...nullable(object({ done: int({ example: 2 }), total: int({ example: 5 }) })),
    [noExample]: true,
  }),
  freesCount: optional({ ...int({ description: 'How many open tasks wait for it' }), [noExample]: true }),
}
