import { sql } from 'drizzle-orm'
import { index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import type { Via } from '../../auth/actor.ts'
import { instant, json, newId, record } from '../../db/columns.ts'
import type { Preferences } from './schema.ts'

export const users = pgTable(
  'users',
  {
    ...record(),
    email: text().notNull(),
    name: text().notNull(),
    handle: text().notNull(),
    passwordHash: text(),
    avatarUrl: text(),
    coverUrl: text(),
    bio: text(),
    timezone: text(),
    locale: text(),
    role: text().$type<'user' | 'admin'>().notNull().default('user'),
    status: text().$type<'active' | 'suspended'>().notNull().default('active'),
    emailVerifiedAt: instant(),
    onboardedAt: instant(),
    preferences: json<Preferences>().notNull(),
  },
  (t) => [
    uniqueIndex('users_email').on(sql`lower(${t.email})`),
    uniqueIndex('users_handle').on(sql`lower(${t.handle})`),
  ],
)

/** A JWT contains the id of its session; the row decides whether the session is still valid. */
export const loginSessions = pgTable(
  'login_sessions',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Sign-in method. A device's session may not approve other devices; an impersonation ends after 30 minutes. */
    via: text().$type<Via>().notNull().default('password'),
    /** The administrator who acts as this user. */
    impersonatorId: uuid(),
    /** When the user last proved their identity (sign-in or confirmation). Null for devices and impersonation. */
    authenticatedAt: instant(),
    /** Name that the client sent, such as `tutti on laptop`. */
    device: text(),
    userAgent: text(),
    ip: text(),
    createdAt: instant().notNull(),
    lastSeenAt: instant().notNull(),
    /** Final end of the session; a refresh extends only the idle limit. */
    expiresAt: instant().notNull(),
    revokedAt: instant(),
  },
  (t) => [index('login_sessions_user').on(t.userId)],
)

/** All refresh tokens of a session, including used ones: using one twice means it was stolen, and ends the session. */
export const refreshTokens = pgTable(
  'refresh_tokens',
  {
    hash: text().primaryKey(),
    sessionId: uuid()
      .notNull()
      .references(() => loginSessions.id, { onDelete: 'cascade' }),
    expiresAt: instant().notNull(),
    usedAt: instant(),
    /** When it was used again, shortly after it had been replaced. */
    usedAgainAt: instant(),
  },
  (t) => [index('refresh_tokens_session').on(t.sessionId)],
)
