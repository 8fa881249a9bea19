import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, json, newId } from '../db/columns.ts'

export type Purpose =
  | 'code'
  | 'magic_link'
  | 'printed_link'
  | 'verify_email'
  | 'reset'
  | 'confirm_account'
  | 'email_change'
  | 'email_undo'
  | 'passkey_register'
  | 'passkey_login'
  | 'oauth'
  | 'live_ticket'
  | 'tunnel_entry'
  | 'grant_consent'
  | 'grant_consent_limited'
  | 'grant_code'
  | 'grant_code_limited'

/**
 * Codes, links, challenges and states: secrets that work once and expire soon. The purpose is stored too, so that a
 * secret cannot be used for another one.
 */
export const oneTimeSecrets = pgTable(
  'one_time_secrets',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    purpose: text().$type<Purpose>().notNull(),
    /**
     * An e-mail address in lower case, or a user's id. A new secret replaces an unused one of the same purpose and
     * subject.
     */
    subject: text(),
    userId: uuid(),
    /** SHA-256 of a random secret; HMAC of a code, which is short enough to be guessed. */
    hash: text().notNull(),
    /** SHA-256 of the browser's cookie, if only the browser that asked may use the secret. */
    boundTo: text(),
    data: json<Record<string, unknown>>().notNull(),
    /**
     * The code itself, sealed, until it is used or has expired. Shown to the administrator of an instance without mail.
     */
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
