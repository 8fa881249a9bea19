import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { instant, json } from '../db/columns.ts'

/**
 * Durable work, written in the transaction that causes it. A job that succeeded is deleted; one that failed permanently
 * stays for 30 days.
 */
export const jobs = pgTable(
  'jobs',
  {
    /** A new id, or `cron:name` for a schedule's only row. */
    id: text().primaryKey(),
    name: text().notNull(),
    key: text(),
    data: json<Record<string, unknown>>().notNull(),
    /** `waiting`, `active` or `failed`. */
    state: text().notNull(),
    attempt: integer().notNull(),
    /** waiting: earliest start; active: when the lease ends and others may claim the job; failed: when it failed. */
    runAt: instant().notNull(),
    /** Only its holder may settle the job; each attempt takes a new one. */
    lease: text(),
    error: text(),
    createdAt: instant().notNull(),
  },
  (t) => [
    uniqueIndex('jobs_key').on(t.name, t.key).where(sql`${t.state} = 'waiting' and ${t.key} is not null`),
    index('jobs_run_at').on(t.runAt).where(sql`${t.state} <> 'failed'`),
  ],
)
