import { Type } from '@sinclair/typebox'
import { staffLines } from '../../events/staff-lines.ts'
import { ActorSummary } from '../../records/user-or-agent.ts'
import { bool, eventKind, id, instant, int, nullable, object, oneOf, type Static, text } from '../../schema.ts'
import { statuses } from './schema.ts'

const span = { from: instant(), until: nullable(instant({ description: 'null: still active' })) }

/** The timeline of a session. For someone else's session: its summary, and the events that the reader may read. */
export const Timeline = object({
  id: id(),
  own: bool({ description: 'true: it is your session. Otherwise goals, briefs and checkpoint are left out' }),
  status: oneOf(statuses),
  userId: id(),
  agentId: nullable(id()),
  projectId: nullable(id()),
  taskId: nullable(id()),
  startedAt: instant(),
  endedAt: nullable(instant()),
  spans: Type.Array(object(span), { description: 'When it was active' }),
  holds: Type.Array(object({ taskId: id(), key: text(20, { example: 'TUT-42' }), ...span }), {
    description: 'Tasks that were claimed in it',
  }),
  briefs: Type.Array(
    object({
      at: instant(),
      tokens: int({ example: 1800 }),
      budget: int({ example: 4000 }),
      parts: Type.Array(object({ title: text(200, { example: 'Memories' }), tokens: int({ example: 480 }) })),
    }),
    { description: 'The briefs that were given in it' },
  ),
  events: Type.Array(
    object({
      id: id(),
      at: instant(),
      type: text(100, { example: 'task.completed' }),
      kind: eventKind,
      line: nullable(oneOf(staffLines)),
      description: text(3000, { example: 'completed TUT-4 Lock the data folder' }),
      actor: ActorSummary,
      own: bool({ description: 'true: done in this session; false: someone else changed a task of the session' }),
      subjectId: nullable(id()),
      changes: Type.Array(
        object({
          field: text(100, { example: 'priority' }),
          before: nullable(text(2000, { example: 'low' })),
          after: nullable(text(2000, { example: 'high' })),
        }),
        { description: 'The values that it replaced' },
      ),
      path: nullable(text(300, { example: '/tasks/TUT-4', description: 'Its address, without /api' })),
    }),
    { description: 'Oldest first' },
  ),
  more: bool({ description: 'There are earlier events, which are left out' }),
  calls: Type.Array(object({ minute: instant(), n: int({ example: 3 }) })),
})
export type Timeline = Static<typeof Timeline>
