import { isNull, type SQL, sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  bigserial,
  boolean,
  date,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { instant, json, newId, searchOver, textList } from '../../db/columns.ts'
import type { Status } from '../../records/task-states.ts'
import type { Evidence } from '../projects/workflow/workflow-schema.ts'
import { stories, workItem } from '../stories/table.ts'
import type { TaskCheckpoint } from './leases/checkpoint-schema.ts'
import type { Acceptance } from './schema.ts'

type Party = 'user' | 'agent'

type Columns = Record<
  | 'assigneeId'
  | 'priority'
  | 'dueAt'
  | 'openWaiters'
  | 'position'
  | 'id'
  | 'status'
  | 'deletedAt'
  | 'hasOpenBlockers'
  | 'hasOpenParts',
  AnyPgColumn
>

/** The order in which tasks of one assignee are picked. An index serves only queries that use these expressions. */
export const pickOrder = (t: Columns): [assignee: SQL, urgency: SQL, ...others: SQL[]] => [
  sql`${t.assigneeId}`,
  sql`(case ${t.priority} when 'critical' then 0 when 'high' then 1 when 'medium' then 2 else 3 end)`,
  sql`${t.dueAt}`,
  sql`${t.openWaiters} desc`,
  sql`${t.position}`,
  sql`${t.id}`,
]

/** SQL for the weight of a priority; the most urgent has the highest. */
export const priorityRank = (t: Pick<Columns, 'priority'>): SQL<number> =>
  sql<number>`(case ${t.priority} when 'critical' then 3 when 'high' then 2 when 'medium' then 1 else 0 end)`
/** SQL for the due date; tasks without one come last. */
export const dueOrNever = (t: Pick<Columns, 'dueAt'>): SQL<string> =>
  sql<string>`coalesce(${t.dueAt}, 'infinity'::timestamptz)`

/** SQL condition: planned work that is not blocked, except perhaps by a blocked parent. */
export const startable = (t: Columns): SQL =>
  sql`${t.status} = 'todo' and ${t.deletedAt} is null and not ${t.hasOpenBlockers} and not ${t.hasOpenParts}`

export const tasks = pgTable(
  'tasks',
  {
    ...workItem(),
    /** Null: without a story. */
    storyId: uuid().references(() => stories.id, { onDelete: 'cascade' }),
    /** The task that this one is a part of. */
    parentId: uuid().references((): AnyPgColumn => tasks.id, { onDelete: 'set null' }),
    /** The key `TUT-42` is the project's key and this number. Never reused. */
    number: integer().notNull(),
    assigneeType: text().$type<Party>(),
    assigneeId: uuid(),
    labels: textList().notNull(),
    estimate: integer(),
    acceptance: json<Acceptance[]>().notNull(),
    dueAt: instant(),
    completionNotes: text(),
    startedAt: instant(),
    completedAt: instant(),
    /** Whether a person or an agent completed it; null if it is not done, or was done before this was stored. */
    completedByType: text().$type<Party>(),
    /** The lease: who works on the task now, until it expires. All its columns are null without a lease. */
    leaseType: text().$type<Party>(),
    leaseHolderId: uuid(),
    leaseSessionId: uuid(),
    /** The credential that took the lease. */
    leaseCredentialId: uuid(),
    /** The connection that took the lease; null if the protocol has none. Credential and connection renew it. */
    leaseConnection: text(),
    /** When that connection was known to have closed; null while it is open or unknown. */
    leaseClosedAt: instant(),
    /** The person that the holder works for. */
    leaseForId: uuid(),
    /** Why the holder works on it: the reason given by next_task, or the person who assigned it. */
    leaseWhy: text(),
    leaseSince: instant(),
    leaseSeenAt: instant(),
    leaseExpiresAt: instant(),
    /** The checkpoint of the last session that worked on it. */
    lastCheckpoint: json<TaskCheckpoint>(),
    /**
     * Triggers write these three columns (migration 0026); code only reads them: whether open tasks of its team block
     * it, whether it has open parts, and how many open tasks of its team it blocks.
     */
    hasOpenBlockers: boolean().notNull().default(false),
    hasOpenParts: boolean().notNull().default(false),
    openWaiters: integer().notNull().default(0),
  },
  (t) => [
    uniqueIndex('tasks_number').on(t.projectId, t.number),
    // Without deleted tasks, so that counts by status read only the index.
    index('tasks_project').on(t.projectId, t.status, t.position).where(isNull(t.deletedAt)),
    index('tasks_completed').on(t.projectId, t.completedAt).where(sql`${t.status} = 'done' and ${t.deletedAt} is null`),
    index('tasks_position').on(t.projectId, t.position, t.id),
    index('tasks_priority').on(t.projectId, priorityRank(t), t.id).where(isNull(t.deletedAt)),
    index('tasks_due').on(t.projectId, dueOrNever(t), t.id).where(isNull(t.deletedAt)),
    index('tasks_team_priority').on(t.organizationId, priorityRank(t), t.id).where(isNull(t.deletedAt)),
    index('tasks_team_due').on(t.organizationId, dueOrNever(t), t.id).where(isNull(t.deletedAt)),
    index('tasks_updated').on(t.projectId, t.updatedAt, t.id),
    index('tasks_organization').on(t.organizationId, t.updatedAt, t.id),
    index('tasks_assignee').on(t.assigneeId, t.status).where(sql`${t.assigneeId} is not null`),
    index('tasks_lease').on(t.leaseHolderId).where(sql`${t.leaseHolderId} is not null`),
    index('tasks_lease_credential').on(t.leaseCredentialId).where(sql`${t.leaseCredentialId} is not null`),
    // Startable tasks, in the order in which next_task picks them.
    index('tasks_ready')
      .on(t.projectId, ...pickOrder(t))
      .where(startable(t)),
    index('tasks_ready_team')
      .on(t.organizationId, ...pickOrder(t))
      .where(startable(t)),
    index('tasks_leased').on(t.organizationId, t.projectId).where(sql`${t.leaseHolderId} is not null`),
    index('tasks_story').on(t.storyId),
    index('tasks_parent').on(t.parentId, t.status).where(sql`${t.parentId} is not null`),
    index('tasks_search').using('gin', t.search),
  ],
)

export const taskDependencies = pgTable(
  'task_dependencies',
  {
    /** The id by which devices refer to a dependency. */
    id: uuid().notNull().default(sql`gen_random_uuid()`),
    taskId: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: 'cascade' }),
    blockedById: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: 'cascade' }),
    kind: text().$type<'blocks' | 'relates' | 'discovered_from' | 'duplicates'>().notNull().default('blocks'),
    createdAt: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.taskId, t.blockedById, t.kind] }),
    uniqueIndex('task_dependencies_id').on(t.id),
    index('task_dependencies_blocker').on(t.blockedById),
  ],
)

/**
 * The number of tasks that each project has in each status, without deleted ones: the sum of `n`. Triggers add a row
 * for every change, because writers of a project would wait for each other's commits if they updated one row; now and
 * then they replace the rows of a project by their sums.
 */
export const taskCounts = pgTable(
  'task_counts',
  {
    projectId: uuid().notNull(),
    status: text().$type<Status>().notNull(),
    id: bigserial({ mode: 'number' }).notNull(),
    n: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.status, t.id] })],
)

/**
 * The number of tasks created in each project on each day (in UTC), and how many were done by people and by agents, as
 * sums. Deleted and cancelled tasks do not count. Triggers add rows, as for `taskCounts`.
 */
export const taskDays = pgTable(
  'task_days',
  {
    projectId: uuid().notNull(),
    day: date().notNull(),
    id: bigserial({ mode: 'number' }).notNull(),
    scope: integer().notNull(),
    people: integer().notNull(),
    agents: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.day, t.id] })],
)

/** Evidence that a task is done, in the shape of a feature's evidence. Rows are only added and verified. */
export const taskEvidence = pgTable(
  'task_evidence',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    taskId: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: 'cascade' }),
    level: text().$type<'reported' | 'observed' | 'verified'>().notNull(),
    evidence: json<Evidence>().notNull(),
    actorType: text().$type<Party>().notNull(),
    actorId: uuid(),
    actorName: text().notNull(),
    createdAt: instant().notNull(),
  },
  (t) => [index('task_evidence_task').on(t.taskId, t.createdAt)],
)

/** Calls of a worker in a minute. A worker is a credential and its connection (empty if it has none). */
export const callMinutes = pgTable(
  'call_minutes',
  {
    credentialId: uuid().notNull(),
    connection: text().notNull(),
    minute: instant().notNull(),
    calls: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.credentialId, t.connection, t.minute] }), index('call_minutes_minute').on(t.minute)],
)

export const taskComments = pgTable(
  'task_comments',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    taskId: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: 'cascade' }),
    authorType: text().$type<Party>().notNull(),
    authorId: uuid(),
    authorName: text().notNull(),
    body: text().notNull(),
    /** It is a question that waits for an answer. */
    asks: boolean().notNull().default(false),
    createdAt: instant().notNull(),
    editedAt: instant(),
    /** Rises with every edit, so that devices keep the newer text. */
    version: integer().notNull().default(1),
    search: searchOver('body'),
  },
  (t) => [
    index('task_comments_task').on(t.taskId, t.createdAt, t.id),
    index('task_comments_search').using('gin', t.search),
  ],
)
