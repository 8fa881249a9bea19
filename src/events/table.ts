import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { bigserial, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json } from '../db/columns.ts'

/**
 * The event was logged by hand. Rows of versions up to November 2026 have the action's former id. The condition is
 * the same text as in the index `events_logged`; otherwise the planner would not use the index.
 */
export const isLogged = (action: SQLWrapper): SQL => sql`${action} in ('activity.log', 'activities.log')`

/**
 * The event says that something was deleted. Matches the text of the type, because the condition must be the same as in
 * the index `events_deleted`, which cannot know the catalogue. A test compares it with `deletes` of the catalogue.
 */
export const isDeletion = (type: SQLWrapper): SQL => sql`${type} like '%.deleted'`

/**
 * One row for every change, written in the transaction of the change. The row is the audit entry, the entry of the
 * activity feed and the live event, so these cannot disagree. `seq` is taken before the commit, so a lower number may
 * become visible after a higher one (`position.ts`).
 */
export const events = pgTable(
  'events',
  {
    seq: bigserial({ mode: 'number' }).primaryKey(),
    id: uuid().notNull(),
    at: instant().notNull(),
    /** `note.created`, or the id of the action if it emitted no event (then the row is audit only). */
    type: text().notNull(),
    action: text().notNull(),
    actorKind: text().notNull(),
    actorId: uuid(),
    actorName: text().notNull(),
    /** For an agent: the program that it runs in, and the person it acts for. */
    actorClient: text(),
    actorForId: uuid(),
    actorForName: text(),
    credentialId: uuid(),
    /** The work session that was active on this credential and connection. */
    sessionId: uuid(),
    organizationId: uuid(),
    projectId: uuid(),
    /** The only person who may see the event, for personal records and accounts. */
    userId: uuid(),
    subjectId: uuid(),
    data: json<Record<string, unknown>>().notNull(),
    requestId: text().notNull(),
    ip: text(),
    /** The instance that wrote the row, so that it does not deliver its own events twice. */
    origin: uuid().notNull(),
  },
  // Every write updates these indexes, so they leave out rows without a value, and growing columns use block ranges.
  (t) => [
    index('events_organization').on(t.organizationId, t.seq).where(sql`${t.organizationId} is not null`),
    index('events_project').on(t.projectId, t.seq).where(sql`${t.projectId} is not null`),
    index('events_user').on(t.userId, t.seq).where(sql`${t.userId} is not null`),
    index('events_subject').on(t.subjectId, t.seq),
    index('events_agent').on(t.actorId, t.seq).where(sql`${t.actorKind} = 'agent'`),
    index('events_session').on(t.sessionId, t.seq).where(sql`${t.sessionId} is not null`),
    index('events_by_id').on(t.id),
    // Entries that people and agents log by hand are queried by type.
    index('events_logged').on(t.organizationId, t.type, t.seq).where(isLogged(t.action)),
    // The trash of a team.
    index('events_deleted').on(t.organizationId, t.seq).where(isDeletion(t.type)),
    index('events_at').using('brin', t.at),
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
