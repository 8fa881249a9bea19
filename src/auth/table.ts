import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, json, newId } from '../db/columns.ts'
import type { Purpose } from './one-time-secrets.ts'

/** Codes, links, challenges and states: whatever works once and not for long. The purpose is part of it, so that none opens another's door. */
export const oneTimeSecrets = pgTable(
  'one_time_secrets',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    purpose: text().$type<Purpose>().notNull(),
    /** Whom it is about: an e-mail address in small letters, or a user's id. A new one replaces an unused one of the same purpose and subject. */
    subject: text(),
    userId: uuid(),
    /** SHA-256 of a random secret; HMAC of a code, which is short enough to be tried out. */
    hash: text().notNull(),
    /** SHA-256 of the browser's cookie, where only the browser that asked may use it. */
    boundTo: text(),
    data: json<Record<string, unknown>>().notNull(),
    /** The code itself, sealed, until it is used or has expired: for the administrator of an instance without mail. */
    sealed: text(),
    attempts: integer().notNull().default(0),
    createdAt: instant().notNull(),
    expiresAt: instant().notNull(),
    usedAt: instant(),
  },
  (t) => [
    index('one_time_secrets_hash').on(t.hash),
    uniqueIndex('one_time_secrets_open').on(t.purpose, t.subject).where(sql`${t.usedAt} is null`),
    index('one_time_secrets_expires').on(t.expiresAt),
  ],
)
