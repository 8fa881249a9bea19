import { and, eq, isNotNull, isNull, or } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { countAttempt, networkOf } from '../../auth/limits.ts'
import { dropSecretsOf, findPendingSecret } from '../../auth/one-time-secrets.ts'
import { type Refusal, throwIfRefused } from '../../auth/policy.ts'
import { randomTail } from '../../auth/secrets.ts'
import { connectionOf } from '../../db/session.ts'
import { AppError } from '../../errors.ts'
import { slugify } from '../../text/text.ts'
import { integrations } from '../integrations/table.ts'
import * as organizations from '../organizations/service.ts'
import { settingsOf } from '../settings/values.ts'
import { sessionRevoked, userRegistered } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { sameEmail, userColumns } from '../users/service.ts'
import { loginSessions, users } from '../users/table.ts'
import { removeSignInMethods, revokeProgramCredentials } from './hooks.ts'

/** Creates accounts and ends their credentials. Everything here runs in the caller's transaction. */
export interface NewUser {
  email: string
  name: string
  /** Null for users who registered with a code, a link or an OAuth identity. */
  passwordHash: string | null
  role: 'user' | 'admin'
  /** Confirmed by a code, a link or an OAuth provider. */
  emailVerified?: boolean
  avatarUrl?: string | null
}

/** Creates an account and its personal organization. */
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
  // The unique indexes decide, so that a generated handle never makes concurrent registrations fail.
  const insert = (handle: string) =>
    ctx.db
      .insert(users)
      .values({ ...values, handle })
      .onConflictDoNothing()
      .returning(userColumns)
  let [user] = await insert(base)
  if (!user) {
    const [taken] = await ctx.db.select({ id: users.id }).from(users).where(sameEmail(email))
    if (!taken) [user] = await insert(`${base}-${randomTail()}`)
  }
  // Checked after the insert, which waits for a concurrent change of address.
  if (!user || (await isReservedEmail(ctx, email)))
    throw new AppError('conflict.exists', 'This e-mail address already has an account. Sign in, or reset the password.')
  await organizations.createFor(ctx, {
    userId: user.id,
    name: `${user.name.slice(0, 90)}'s space`,
    slug: user.handle,
    personal: true,
  })
  ctx.emit(userRegistered, { subjectId: user.id, userId: user.id, data: { role: user.role } })
  return user
}

/** Returns whether an undo link can still restore this address to an account, so that no other account can use it. */
export async function isReservedEmail(ctx: Ctx, email: string, besidesUserId?: string): Promise<boolean> {
  const undo = await findPendingSecret(ctx, 'email_undo', email)
  return undo !== undefined && undo.userId !== besidesUserId
}

export async function requireOpenRegistration(ctx: Ctx): Promise<void> {
  if (!(await settingsOf(ctx)).registration.open)
    throw new AppError('forbidden', 'Registration is closed on this server. Ask an administrator for an account.')
}

/** Limits new accounts of one network. Counts in the transaction, so that a refused attempt is not counted. */
export const countRegistration = ({ app, db, ip }: Ctx): Promise<void> =>
  countAttempt(
    connectionOf(db),
    `register:${networkOf(ip)}`,
    app.config.RATE_LIMIT_REGISTER,
    3600,
    app.clock(),
    'registrations',
  )

/** Limits sign-in attempts of one network, by any method. Call it before the transaction, so that failures count. */
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
 * Throws if the user is the only active administrator. Call it before an account is suspended, deleted or loses its
 * role. The lock makes the second of two concurrent changes see the first: two administrators cannot demote each other.
 */
export async function requireAnotherAdmin(ctx: Ctx, leaving: string): Promise<void> {
  throwIfRefused(onlyAdminRefusal(await activeAdmins(ctx).for('no key update'), leaving))
}

/** Returns why this user must stay an active administrator, or undefined. */
export const lastAdminRefusal = async (ctx: Ctx, userId: string): Promise<Refusal | undefined> =>
  onlyAdminRefusal(await activeAdmins(ctx), userId)

const activeAdmins = (ctx: Ctx) =>
  ctx.db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.role, 'admin'), eq(users.status, 'active')))
    .orderBy(users.id)

const onlyAdminRefusal = (admins: readonly { id: string }[], userId: string): Refusal | undefined =>
  admins.length === 1 && admins[0]?.id === userId
    ? {
        code: 'conflict.last_admin',
        detail: 'This is the only active administrator. Make another user an administrator first.',
      }
    : undefined

/** Ends the sessions in which this user acts as another user, or an administrator acts as this user. */
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
 * Ends all sessions of the user (including impersonations), mailed links and codes, started sign-ins and, if `keepKeys`
 * is not set, API keys and MCP tokens.
 */
export async function endCredentials(ctx: Ctx, userId: string, { keepKeys = false } = {}): Promise<void> {
  await endImpersonations(ctx, userId)
  await ctx.db
    .update(loginSessions)
    .set({ revokedAt: ctx.now })
    .where(and(eq(loginSessions.userId, userId), isNull(loginSessions.revokedAt)))
  await revokeProgramCredentials.call(ctx, { userId, keepKeys })
  await dropSecretsOf(ctx, userId)
}

/** Removes the sign-in methods that work without the password, and the integrations that receive notifications. */
export async function removeOtherMethods(ctx: Ctx, userId: string): Promise<void> {
  await ctx.db.delete(integrations).where(eq(integrations.userId, userId))
  await removeSignInMethods.call(ctx, { userId })
}
