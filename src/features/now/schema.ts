import { Type } from '@sinclair/typebox'
import { staffLines } from '../../events/staff-lines.ts'
import { statuses } from '../../records/task-states.ts'
import { UserOrAgent } from '../../records/user-or-agent.ts'
import {
  bool,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  optional,
  permissions,
  type Static,
  text,
} from '../../schema.ts'

const spans = ['2', '8', '24'] as const
export const NowQuery = object({ hours: optional(oneOf(spans, { description: 'Hours to look back. Default: 2' })) })
export type NowQuery = Static<typeof NowQuery>

const HeldTask = object({
  id: id(),
  key: text(20, { example: 'TUT-42' }),
  title: text(200, { example: 'Lock the data folder' }),
  status: oneOf(statuses),
  version: int({ min: 1 }),
})

const laneActions = ['update', 'release', 'comment'] as const

const Lane = object({
  party: UserOrAgent,
  for: nullable(object({ id: nullable(id()), name: text(100, { example: 'Ada Lovelace' }) })),
  task: nullable(HeldTask),
  lease: nullable(
    object({
      since: instant(),
      why: nullable(text(2000, { example: 'high priority, the only ready task' })),
      lastSeenAt: instant({ description: 'Last call of the holder' }),
      expiresAt: instant(),
      sessionId: nullable(id()),
    }),
  ),
  stalled: bool({ description: 'It holds a task and makes calls, but has changed nothing for 30 minutes' }),
  lastChangeAt: nullable(instant({ description: 'When it last changed anything' })),
  waiting: Type.Array(object({ id: id(), key: HeldTask.properties.key, title: HeldTask.properties.title }), {
    description: 'Open tasks that wait for the one it holds',
  }),
  marks: Type.Array(object({ at: instant(), line: oneOf(staffLines), eventId: id() }), {
    description: 'Its changes, oldest first',
  }),
  calls: Type.Array(object({ minute: instant(), n: int({ example: 3 }) }), {
    description: 'Its calls per minute; for 8 and 24 hours, several minutes are added up',
  }),
  can: optional(permissions(laneActions)),
})
export type Lane = Static<typeof Lane>

export const Now = object({
  at: instant(),
  hours: int({ example: 2 }),
  lanes: Type.Array(Lane, { description: 'People, each followed by their agents; those with stalled agents first' }),
  ready: Type.Array(object(HeldTask.properties), {
    description: 'Unassigned tasks that can be started, in the order in which they are picked',
  }),
})
export type Now = Static<typeof Now>
