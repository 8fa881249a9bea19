import { boolean, index, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import type { CredentialKind } from '../../auth/actor.ts'
import { instant, json } from '../../db/columns.ts'
import type { ChangeMany } from '../tasks/many/many-schema.ts'
import type { BatchNotices } from '../tasks/many/notices.ts'
import type { Fields, Outcome } from './fields.ts'

export type ChangeState = 'running' | 'done' | 'stopped' | 'undoing' | 'undone'

/** What the job does, and for whom. */
interface BatchRequest {
  change: Omit<ChangeMany['change'], 'comment'>
  credential: CredentialKind
  /** The name of the person, for notifications. */
  name: string
}

export interface BatchProblem {
  /** The id of the task. */
  id: string
  detail: string
}

/**
 * One call of a person that changed tasks, so that they can undo it. Rows are removed after an hour. Neither table has
 * foreign keys: checking them would make every change of a task slower by a tenth.
 */
export const changes = pgTable(
  'changes',
  {
    id: uuid().primaryKey(),
    /** The team that the person worked in. */
    organizationId: uuid().notNull(),
    userId: uuid().notNull(),
    /** The login session or API key. */
    credentialId: uuid().notNull(),
    /** What the first task got: `priority High`. */
    label: text().notNull(),
    /** Of a change of all tasks that match, a job sets `done` or `stopped`; `undoing`: a job undoes it. */
    state: text().$type<ChangeState>().notNull(),
    createdAt: instant().notNull(),
    expiresAt: instant().notNull(),
    undoneAt: instant(),
    /** The rest belongs to a change of all tasks that match: what a job does, and how far it is. */
    request: json<BatchRequest>(),
    /** The tasks that matched when the change was requested; the job goes through them in this order. */
    targets: uuid().array(),
    done: integer().notNull().default(0),
    refused: integer().notNull().default(0),
    /** The first tasks that were refused. */
    problems: json<BatchProblem[]>(),
    notices: json<BatchNotices>(),
    /** Why it stopped before its end. */
    stoppedBecause: text(),
  },
  (t) => [index('changes_user').on(t.userId, t.createdAt, t.id)],
)

/** A task that a change touched, with the fields that differ. Undo runs through the rows from the last to the first. */
export const changeItems = pgTable(
  'change_items',
  {
    changeId: uuid().notNull(),
    id: uuid().notNull(),
    taskId: uuid().notNull(),
    before: json<Fields>().notNull(),
    after: json<Fields>().notNull(),
    /** The call did not change the task itself; it only stopped waiting for one that the call closed. */
    freed: boolean().notNull(),
    /** What undo restored and what it did not. Null until then. */
    outcome: json<Outcome>(),
    createdAt: instant().notNull(),
  },
  (t) => [primaryKey({ columns: [t.changeId, t.id] })],
)
