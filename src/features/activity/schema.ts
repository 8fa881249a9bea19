import { ActorSummary } from '../../records/user-or-agent.ts'
import {
  id,
  instant,
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
  title,
} from '../../schema.ts'
import { agentFilter } from '../agents/schema.ts'
import { projectFilter } from '../projects/schema.ts'

export const METADATA_BYTES = 16 << 10

/** Must not contain a dot. Types with a dot are the server's own (`task.completed`), so no one can imitate them. */
const type = text(50, {
  pattern: '^[a-z][a-z0-9_-]*$',
  example: 'deploy',
  description: 'A word of your choice. Types with a dot are reserved for the server',
})
const description = title(2000, { example: 'Deployed 1.4 to staging' })
const metadata = jsonObject({ description: 'At most 16 KiB' })

export const ActivityItem = object({
  id: id(),
  at: instant(),
  type: text(100, { example: 'task.completed' }),
  description: text(3000, { example: 'completed TUT-4 Lock the data folder' }),
  actor: ActorSummary,
  organizationId: id(),
  projectId: nullable(id()),
  taskId: nullable(id()),
  sessionId: nullable(id()),
  subjectId: nullable(id({ description: 'The record that the activity is about' })),
  path: nullable(
    text(300, { description: 'Path of that record below /api. Null if the event deleted it or its kind has no path' }),
  ),
})
export type ActivityItem = Static<typeof ActivityItem>

export const Activity = object({ ...ActivityItem.properties, metadata })
export type Activity = Static<typeof Activity>

export const ActivityCreate = object({
  type,
  description,
  metadata: optional(metadata),
  projectId: optional(id()),
  taskId: optional(id({ description: 'The activity gets the project of this task' })),
  sessionId: optional(id({ description: 'One of your own' })),
})
export type ActivityCreate = Static<typeof ActivityCreate>

/** Input of the tool, which takes references instead of ids. */
export interface ActivityLog extends Omit<ActivityCreate, 'projectId' | 'taskId'> {
  project?: string
  task?: string
}

export const ActivityQuery = object({
  order: optional(oneOf(['asc', 'desc'], { description: 'Default: desc, newest first' })),
  limit: paging().limit,
  cursor: paging().cursor,
  type: optional(
    text(100, {
      example: 'task.completed',
      description: 'A type, or the start of several types with a dot at the end (`task.`)',
    }),
  ),
  agentId: agentFilter,
  actorId: optional(id({ description: 'Only activity of this person or agent' })),
  actorType: optional(oneOf(['user', 'agent'], { description: 'Only activity of people, or only of agents' })),
  subjectId: optional(id({ description: 'Only activity about this record' })),
  projectId: projectFilter,
  taskId: optional(id()),
  since: optional(time({ description: 'At or after' })),
  until: optional(time({ description: 'Before' })),
})
export type ActivityQuery = Static<typeof ActivityQuery>
export const ActivityPage = pageOf(ActivityItem)
export type ActivityPage = Static<typeof ActivityPage>
