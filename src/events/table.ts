import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { bigint, bigserial, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json } from '../db/columns.ts'

/**
 * The event was logged by hand. Rows of versions up to November 2026 have the action's former id. The words are those of
 * the index `events_logged`, or the planner would not use it.
 */
export const isLogged = (action: SQLWrapper): SQL => sql`${action} in ('activity.log', 'activities.log')`

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
    /** The writing transaction, as a number that block range indexes know. */
    xid: bigint({ mode: 'bigint' }).notNull().default(sql`(pg_current_xact_id()::text::bigint)`),
  },
  // Every write pays for these, so rows that lack a column stay out of its index, and what only grows gets a block range index.
  (t) => [
    index('events_organization').on(t.organizationId, t.seq).where(sql`${t.organizationId} is not null`),
    index('events_project').on(t.projectId, t.seq).where(sql`${t.projectId} is not null`),
    index('events_user').on(t.userId, t.seq).where(sql`${t.userId} is not null`),
    index('events_subject').on(t.subjectId, t.seq),
    index('events_agent').on(t.actorId, t.seq).where(sql`${t.actorKind} = 'agent'`),
    index('events_by_id').on(t.id),
    // What people and agents log by hand is asked for by its type.
    index('events_logged').on(t.organizationId, t.type, t.seq).where(isLogged(t.action)),
    index('events_at').using('brin', t.at),
    index('events_xid').using('brin', t.xid),
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
