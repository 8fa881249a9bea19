import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import { instant } from './columns.ts'

/** Facts about the instance: the master secret's fingerprint, the hash of the set-up token. */
export const meta = pgTable('meta', { key: text().primaryKey(), value: text().notNull() })

/**
 * Attempts that are counted across restarts and instances: sign-ins, codes, registrations. One row per key and window;
 * `blockedUntil` makes a client wait after too many failures, longer each time. The turn of a user's export is such a
 * row too (`features/transfer/export-turn.ts`).
 */
export const counters = pgTable('counters', {
  key: text().primaryKey(),
  count: integer().notNull(),
  expiresAt: instant().notNull(),
  blockedUntil: instant(),
})
