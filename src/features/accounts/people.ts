import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { countAttempt, networkOf } from '../../auth/limits.ts'
import { dropSecretsOf, pendingFor } from '../../auth/one-time-secrets.ts'
import { randomTail } from '../../auth/secrets.ts'
import { connectionOf } from '../../db/session.ts'
import { AppError } from '../../errors.ts'
import { slugify } from '../../text/text.ts'
import { integrations } from '../integrations/table.ts'
import { wipeMail } from '../mail/service.ts'
import * as members from '../organizations/members.ts'
import * as organizations from '../organizations/service.ts'
import { sessionRevoked, userEmailVerified, userRegistered } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { sameEmail, visible } from '../users/service.ts'
import { loginSessions, users } from '../users/table.ts'
import { endCredentialsOf, removeSignInMethods } from './hooks.ts'

/** How accounts are created, and what they lose. Everything here runs in the caller's transaction. */
export interface NewUser {
  email: string
  name: string
  /** None for those who came in by a code, a link or another identity. */
  passwordHash: string | null
  role: 'user' | 'admin'
  /** Proven by a code, a link, or a provider that says so. */
  emailVerified?: boolean
  avatarUrl?: string | null
}

/** The account and its personal organization, in one transaction. */
export async function insertUser(ctx: Ctx, { email, name, emailVerified, ...rest }: NewUser): Promise<User> {
  const base = slugify(email.split('@')[0]?.slice(0, 40) ?? name) || 'user'
  const values = {
    ...rest,
    email,
    name: name.trim(),
    emailVerifiedAt: emailVerified ? ctx.now : null,
    preferences: {},
    createdAt: ctx.now,
    updatedAt: ctx.now,
  }
  // The unique indexes decide, so that people who register at the same moment do not trip over a handle they did not choose.
  const insert = (handle: string) =>
    ctx.db
      .insert(users)
      .values({ ...values, handle })
      .onConflictDoNothing()
      .returning(visible)
  let [user] = await insert(base)
  if (!user) {
    const [taken] = await ctx.db.select({ id: users.id }).from(users).where(sameEmail(email))
    if (!taken) [user] = await insert(`${base}-${randomTail()}`)
  }
  // After the insert, which waits for a change of address that is under way.
  if (!user || (await isReserved(ctx, email)))
    throw new AppError('conflict.exists', 'This e-mail address has an account already. Sign in, or reset the password.')
  await organizations.createFor(ctx, {
    userId: user.id,
    name: `${user.name.slice(0, 90)}'s space`,
    slug: user.handle,
    personal: true,
  })
  ctx.emit(userRegistered, { subjectId: user.id, userId: user.id, data: { role: user.role } })
  return user
}

/** An address that its account may still get back is nobody else's: a thief must not be able to take the way back away. */
export async function isReserved(ctx: Ctx, email: string, besidesUserId?: string): Promise<boolean> {
  const undo = await pendingFor(ctx, 'email_undo', email)
  return undo !== undefined && undo.userId !== besidesUserId
}

export function requireOpenRegistration({ app }: Ctx): void {
  if (app.config.REGISTRATION === 'closed')
    throw new AppError('forbidden', 'This instance takes no new registrations. Ask its administrator for an account.')
}

/** How many accounts one network may make. In a transaction a refusal takes its own count back, which leaves it at the limit. */
export const countRegistration = ({ app, db, ip }: Ctx): Promise<void> =>
  countAttempt(
    connectionOf(db),
    `register:${networkOf(ip)}`,
    app.config.RATE_LIMIT_REGISTER,
    3600,
    app.clock(),
    'registrations',
  )

/** Before the transaction: how often one network may try to sign in, in whatever way. */
export const countSignIn = ({ app, ip }: Ctx): Promise<void> =>
  countAttempt(
    app.driver,
    `login-from:${networkOf(ip)}`,
    app.config.RATE_LIMIT_LOGIN,
    60,
    app.clock(),
    'sign-in attempts',
  )

/**
 * Before an account is suspended, deleted or loses its role. Whoever comes second waits for the first, and then no longer counts those that
 * are gone: of two administrators who demote each other at the same moment, one stays.
 */
export async function keepAnAdmin(ctx: Ctx, leaving: string): Promise<void> {
  const admins = await ctx.db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.role, 'admin'), eq(users.status, 'active')))
    .orderBy(users.id)
    .for('no key update')
  if (admins.length === 1 && admins[0]?.id === leaving)
    throw new AppError('conflict.last_admin', 'This is the only active administrator. Make somebody else one first.')
}

/** Ends the sessions in which this user acts as somebody else, and those in which somebody acts as them. */
export async function endImpersonations(ctx: Ctx, userId: string): Promise<void> {
  const ended = await ctx.db
    .update(loginSessions)
    .set({ revokedAt: ctx.now })
    .where(
      and(
        isNotNull(loginSessions.impersonatorId),
        isNull(loginSessions.revokedAt),
        or(eq(loginSessions.impersonatorId, userId), eq(loginSessions.userId, userId)),
      ),
    )
    .returning({ id: loginSessions.id, userId: loginSessions.userId })
  for (const session of ended)
    ctx.emit(sessionRevoked, {
      subjectId: session.id,
      userId: session.userId,
      data: { reason: 'impersonation ended' },
    })
}

/**
 * Ends every session of the user (also those in which they act as somebody else), every mailed link or code, every sign-in
 * that was begun, and, unless `keepKeys` is set, API keys and MCP tokens.
 */
export async function endCredentials(ctx: Ctx, userId: string, { keepKeys = false } = {}): Promise<void> {
  await endImpersonations(ctx, userId)
  await ctx.db
    .update(loginSessions)
    .set({ revokedAt: ctx.now })
    .where(and(eq(loginSessions.userId, userId), isNull(loginSessions.revokedAt)))
  await endCredentialsOf.call(ctx, { userId, keepKeys })
  await dropSecretsOf(ctx, userId)
}

/** Removes the ways to sign in that the password does not guard, and the places that notifications are forwarded to. */
export async function dropOtherLogins(ctx: Ctx, userId: string): Promise<void> {
  await ctx.db.delete(integrations).where(eq(integrations.userId, userId))
  await removeSignInMethods.call(ctx, { userId })
}

/**
 * Somebody has just proved that the mailbox is theirs. If the account's address was never proved before, somebody else may
 * have created the account: everything that was set up until now (password, passkeys, identities elsewhere, sessions, keys,
 * where notifications go, who is let into the personal space) stops working.
 */
export async function proveMailbox(ctx: Ctx, user: User): Promise<User> {
  if (user.emailVerifiedAt) return user
  // The row comes first: whoever adds a way in at the same moment waits for it, or is done and goes with the rest.
  const [proved] = await ctx.db
    .update(users)
    .set({
      emailVerifiedAt: ctx.now,
      passwordHash: null,
      preferences: sql`${users.preferences} - 'currentOrganizationId'`,
      updatedAt: ctx.now,
      version: sql`${users.version} + 1`,
    })
    // Still the address that was proved: whoever made the account may be moving it to another one at this very moment.
    .where(and(eq(users.id, user.id), eq(users.email, user.email)))
    .returning(visible)
  if (!proved) throw new AppError('conflict', 'The address of this account was changed at the same moment. Try again.')
  await members.reclaim(ctx, user.id)
  await dropOtherLogins(ctx, user.id)
  await endCredentials(ctx, user.id)
  await wipeMail(ctx, user.email, 'verify_email')
  ctx.emit(userEmailVerified, { subjectId: user.id, userId: user.id })
  return proved
}
