import { boolean, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json } from '../../db/columns.ts'
import type { Fields, Outcome } from './fields.ts'

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
    state: text().$type<'running' | 'done' | 'stopped' | 'undone'>().notNull(),
    createdAt: instant().notNull(),
    expiresAt: instant().notNull(),
    undoneAt: instant(),
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
