import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { instant, json } from '../db/columns.ts'

/** Work that must be done, written in the transaction that causes it. A job that succeeded is gone; one that is dead stays for 30 days. */
export const jobs = pgTable(
  'jobs',
  {
    /** A new id, or `cron:name` for the one row that is a schedule. */
    id: text().primaryKey(),
    name: text().notNull(),
    key: text(),
    data: json<Record<string, unknown>>().notNull(),
    /** `waiting`, `active` or `failed`. */
    state: text().notNull(),
    attempt: integer().notNull(),
    /** waiting: not before; active: the lease ends, and whoever looks next takes the job; failed: when it died. */
    runAt: instant().notNull(),
    /** Whoever holds it may settle the job; taken anew by every attempt. */
    lease: text(),
    error: text(),
    createdAt: instant().notNull(),
  },
  (t) => [
    uniqueIndex('jobs_key').on(t.name, t.key).where(sql`${t.state} = 'waiting' and ${t.key} is not null`),
    index('jobs_run_at').on(t.runAt).where(sql`${t.state} <> 'failed'`),
  ],
)
