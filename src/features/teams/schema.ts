import { Type } from '@sinclair/typebox'
import { hubLimits } from '../../live/limits.ts'
import { statuses } from '../../records/task-states.ts'
import {
  array,
  id,
  instant,
  int,
  jsonObject,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  type Static,
  text,
  time,
} from '../../schema.ts'
import { Member } from '../organizations/schema.ts'
import { ProjectActivity } from '../projects/schema.ts'

const Activity = object({ ...ProjectActivity.properties, projectId: nullable(id()), subjectId: nullable(id()) })
export const ActivityQuery = object({
  order: optional(oneOf(['asc', 'desc'], { description: 'Default: desc, newest first' })),
  limit: paging().limit,
  cursor: paging().cursor,
  type: optional(text(100, { example: 'note.created' })),
  actorId: optional(id({ description: 'Only events by this user or their agents' })),
  since: optional(time({ description: 'At or after' })),
  until: optional(time({ description: 'Before' })),
})
export type ActivityQuery = Static<typeof ActivityQuery>
export const ActivityPage = pageOf(Activity)
export type ActivityPage = Static<typeof ActivityPage>

const date = text(10, { pattern: '^\\d{4}-\\d\\d-\\d\\d$', example: '2026-11-15' })
const n = (example: number) => int({ example })

export const AnalyticsQuery = object({
  days: optional(int({ min: 1, max: 365, example: 30, description: 'The number of days up to today. Default: 30' })),
})
export type AnalyticsQuery = Static<typeof AnalyticsQuery>
export const Analytics = object({
  days: n(30),
  from: instant(),
  members: n(5),
  activeMembers: n(3),
  projects: object({ active: n(4), archived: n(1) }),
  tasks: object(
    Object.fromEntries(statuses.map((status) => [status, n(2)])) as Record<
      (typeof statuses)[number],
      ReturnType<typeof n>
    >,
  ),
  notes: n(12),
  completed: Type.Array(object({ date, count: n(2) }), { description: 'Completed tasks by day' }),
  changes: Type.Array(object({ date, people: n(7), agents: n(21) }), {
    description: 'Changes by day: by people, and by agents with their tokens',
  }),
  contributors: Type.Array(object({ id: id(), name: text(100, { example: 'Ada Lovelace' }), changes: n(28) }), {
    description: 'Members with the most changes, including their agents; at most ten',
  }),
})
export type Analytics = Static<typeof Analytics>

const { email: _, organizationId: __, joinedAt: ___, ...face } = Member.properties
const Presence = object({
  ...face,
  status: oneOf(['online', 'away', 'offline'], {
    description: 'Last seen within 2 minutes, within 15 minutes, or earlier',
  }),
  lastSeenAt: nullable(instant()),
  agents: int({ example: 1, description: 'MCP tokens of the member in this team that were used within 2 minutes' }),
})
/** Who is online now, by open connections and, for agents, by claimed tasks. */
const Here = object({
  type: oneOf(['user', 'agent']),
  id: id(),
  name: text(100, { example: 'Ada Lovelace' }),
  since: instant(),
  state: nullable(jsonObject({ description: 'Their profile text; null for an agent' })),
  connections: int({ example: 1 }),
})
export const PresencePage = object({ ...pageOf(Presence).properties, here: array(Here, hubLimits.present) })
export type PresencePage = Static<typeof PresencePage>
