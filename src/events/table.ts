import { sql } from 'drizzle-orm'
import { bigserial, customType, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json } from '../db/columns.ts'

const xid8 = customType<{ data: string }>({ dataType: () => 'xid8' })

/**
 * One row for every change, written in the change's own transaction. It is the audit entry, the activity feed's entry and the live event:
 * written once, so they cannot disagree. `xid` orders rows by commit for readers that must not miss a late transaction.
 */
export const events = pgTable(
  'events',
  {
    seq: bigserial({ mode: 'number' }).primaryKey(),
    id: uuid().notNull(),
    at: instant().notNull(),
    /** `note.created`, or the action's id where an action has no event of its own (then it is audit only). */
    type: text().notNull(),
    action: text().notNull(),
    actorKind: text().notNull(),
    actorId: uuid(),
    actorName: text().notNull(),
    credentialId: uuid(),
    organizationId: uuid(),
    projectId: uuid(),
    /** The only person who may see it, for personal records and account matters. */
    userId: uuid(),
    subjectId: uuid(),
    data: json<Record<string, unknown>>().notNull(),
    requestId: text().notNull(),
    ip: text(),
    /** The instance that wrote it, so that it does not deliver its own events twice. */
    origin: uuid().notNull(),
    xid: xid8().notNull().default(sql`pg_current_xact_id()`),
  },
  (t) => [
    index('events_organization').on(t.organizationId, t.seq),
    index('events_project').on(t.projectId, t.seq),
    index('events_subject').on(t.subjectId, t.seq),
    index('events_user').on(t.userId, t.seq),
    index('events_at').on(t.at),
    index('events_xid').on(t.xid, t.seq),
  ],
)

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    credentialId: uuid().notNull(),
    key: text().notNull(),
    action: text().notNull(),
    /** SHA-256 of action and input. */
    fingerprint: text().notNull(),
    answer: json<unknown>(),
    expiresAt: instant().notNull(),
  },
  (t) => [primaryKey({ columns: [t.credentialId, t.key] }), index('idempotency_keys_expires').on(t.expiresAt)],
)
