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

/** A JWT carries its session's id; the row decides whether it still counts. */
export const loginSessions = pgTable(
  'login_sessions',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** How it began. A device's session may not approve other devices; an impersonated one ends after 30 minutes. */
    via: text().$type<Via>().notNull().default('password'),
    /** The administrator who acts as this user. */
    impersonatorId: uuid(),
    /** When the person last proved who they are, at sign-in or by confirming since. Null for devices, impersonation. */
    authenticatedAt: instant(),
    /** `tutti on laptop`, as the client named itself. */
    device: text(),
    userAgent: text(),
    ip: text(),
    createdAt: instant().notNull(),
    lastSeenAt: instant().notNull(),
    /** The end of the session whatever happens; a refresh moves the idle limit, not this one. */
    expiresAt: instant().notNull(),
    revokedAt: instant(),
  },
  (t) => [index('login_sessions_user').on(t.userId)],
)

/** All refresh tokens of a session, used ones too: seeing a used one again means it was stolen, and ends the session. */
export const refreshTokens = pgTable(
  'refresh_tokens',
  {
    hash: text().primaryKey(),
    sessionId: uuid()
      .notNull()
      .references(() => loginSessions.id, { onDelete: 'cascade' }),
    expiresAt: instant().notNull(),
    usedAt: instant(),
  },
  (t) => [index('refresh_tokens_session').on(t.sessionId)],
)
