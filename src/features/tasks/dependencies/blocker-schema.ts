import { type TObject, type TProperties, Type } from '@sinclair/typebox'
import { UserOrAgent } from '../../../records/user-or-agent.ts'
import {
  instant,
  noExample,
  nullable,
  object,
  optional,
  refusalFields,
  type Static,
  text,
  WayOut,
} from '../../../schema.ts'
import { itemTitle } from '../../stories/schema.ts'

/** An open task that another one waits for, and who works on it. */
const Blocker = object({
  key: text(20, { example: 'TUT-42' }),
  title: itemTitle,
  holder: nullable(UserOrAgent),
  heldSince: nullable(instant()),
  assignee: nullable(UserOrAgent),
})
export type Blocker = Static<typeof Blocker>
/** Whether the reader may start or end the work; if it waits for other tasks, also for which, and the ways out. */
const blockable = Type.Union([
  Type.Literal(true),
  object({
    ...refusalFields,
    by: optional({
      ...Type.Array(Blocker, { description: 'Open tasks that it waits for, and that you can see: at most 20' }),
      [noExample]: true,
    }),
    next: optional({ ...Type.Array(WayOut, { description: 'What to do first' }), [noExample]: true }),
  }),
])
export type Blockable = Static<typeof blockable>

/** Adds to what the reader may do why the task cannot be claimed or completed yet. */
export const withBlockers = <P extends TProperties>({ properties, ...options }: TObject<P>) =>
  object({ ...properties, claim: blockable, complete: blockable }, options)
