import { and, eq, exists, gt, gte, isNull, ne, notExists, or } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { type Ctx, flow, read, write } from '../../action.ts'
import { userIdOf, type Via } from '../../auth/actor.ts'
import { minutesAfter } from '../../auth/one-time-secrets.ts'
import { account, anyone, person, signedIn } from '../../auth/policy.ts'
import { hashSecret, newSecret, secretKind } from '../../auth/secrets.ts'
import { AppError, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { sessionRevoked, userRefreshed, userSignedIn } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { userColumns } from '../users/service.ts'
import { loginSessions, refreshTokens, users } from '../users/table.ts'
import { sessionEnded } from './hooks.ts'
import type { Refresh, SessionPage, SessionQuery, SignedIn } from './schema.ts'

const IDLE_MINUTES = 30 * 24 * 60
const TOTAL_MINUTES = 90 * 24 * 60
/** Lifetime of the session and of its access token, which cannot be renewed. */
const IMPERSONATION_MINUTES = 30

interface SessionStart {
  via: Via
  device?: string
}

export interface Proof {
  userId: string
  /** Hash of the checked password: the proof is void once the password was changed. */
  passwordHash?: string
}

/**
 * Returns the user with a shared lock, after the caller proved who they are. Throws if a password change, a suspension
 * or an end of credentials came first; a later one waits for the lock and then also ends the new session.
 */
export async function lockProvedUser(ctx: Ctx, { userId, passwordHash }: Proof): Promise<User> {
  const same = passwordHash === undefined ? undefined : eq(users.passwordHash, passwordHash)
  const [user] = await ctx.db
    .select(userColumns)
    .from(users)
    .where(and(eq(users.id, userId), eq(users.status, 'active'), same))
    .for('share')
  if (!user) throw new AppError('unauthenticated', 'This account cannot sign in. Ask an administrator of this server.')
  return user
}

/** Creates a login session in the caller's transaction. Every sign-in method calls it. */
export async function startSession(ctx: Ctx, user: User, { via, device }: SessionStart): Promise<SignedIn> {
  const [session] = await ctx.db
    .insert(loginSessions)
    .values({
      userId: user.id,
      via,
      device: device?.slice(0, 100),
      authenticatedAt: via === 'device' ? null : ctx.now,
      userAgent: ctx.userAgent?.slice(0, 300),
      ip: ctx.ip,
      createdAt: ctx.now,
      lastSeenAt: ctx.now,
      expiresAt: minutesAfter(ctx.now, TOTAL_MINUTES),
    })
    .returning({ id: loginSessions.id })
  if (!session) throw new Error('insert returned nothing')
  return { ...(await newTokens(ctx, user.id, session.id)), user }
}

async function newTokens(ctx: Ctx, userId: string, sessionId: string): Promise<Omit<SignedIn, 'user'>> {
  const refreshToken = newSecret('refresh')
  await ctx.db
    .insert(refreshTokens)
    .values({ hash: hashSecret(refreshToken), sessionId, expiresAt: minutesAfter(ctx.now, IDLE_MINUTES) })
  const { token, expiresAt } = await ctx.app.jwt.sign({ userId, sessionId }, ctx.app.clock())
  return { token, refreshToken, expiresAt }
}

/**
 * Creates a short session in which an administrator acts as a user: it has no refresh token, and every audit entry
 * names the administrator. The caller has checked their right.
 */
export async function startImpersonation(
  ctx: Ctx,
  user: User,
  impersonatorId: string,
): Promise<Omit<SignedIn, 'refreshToken'>> {
  const until = minutesAfter(ctx.now, IMPERSONATION_MINUTES)
  const session = {
    userId: user.id,
    via: 'impersonation' as const,
    impersonatorId,
    userAgent: ctx.userAgent?.slice(0, 300),
    ip: ctx.ip,
  }
  const [row] = await ctx.db
    .insert(loginSessions)
    .values({ ...session, createdAt: ctx.now, lastSeenAt: ctx.now, expiresAt: until })
    .returning({ id: loginSessions.id })
  if (!row) throw new Error('insert returned nothing')
  return {
    ...(await ctx.app.jwt.sign({ userId: user.id, sessionId: row.id }, ctx.app.clock(), IMPERSONATION_MINUTES)),
    user,
  }
}

/** Signs in a user whose identity the caller has checked. Throws for suspended users. */
export const signIn = write(
  'accounts.signIn',
  anyone,
  async (ctx, { userId, passwordHash, ...how }: SessionStart & Proof): Promise<SignedIn> => {
    const user = await lockProvedUser(ctx, { userId, passwordHash })
    const answer = await startSession(ctx, user, how)
    ctx.emit(userSignedIn, {
      subjectId: user.id,
      userId: user.id,
      data: { via: how.via, userAgent: ctx.userAgent },
    })
    return answer
  },
)

/** A replaced token works once more for this long: two tabs may renew at the same moment. */
const GRACE_MS = 30_000

/** Uses a replaced token again. Returns false unless the last renewal just replaced it and it was not reused yet. */
async function reuseWithinGrace(ctx: Ctx, hash: string): Promise<boolean> {
  const later = alias(refreshTokens, 'later')
  const rows = await ctx.db
    .update(refreshTokens)
    .set({ usedAgainAt: ctx.now })
    .where(
      and(
        eq(refreshTokens.hash, hash),
        isNull(refreshTokens.usedAgainAt),
        gt(refreshTokens.usedAt, new Date(Date.parse(ctx.now) - GRACE_MS).toISOString()),
        notExists(
          ctx.db
            .select({ hash: later.hash })
            .from(later)
            .where(
              and(
                eq(later.sessionId, refreshTokens.sessionId),
                ne(later.hash, refreshTokens.hash),
                gte(later.usedAt, refreshTokens.usedAt),
              ),
            ),
        ),
      ),
    )
    .returning({ hash: refreshTokens.hash })
  return rows.length > 0
}

const rotate = write(
  'accounts.rotate',
  anyone,
  async (ctx, { hash }: { hash: string }): Promise<SignedIn | 'unknown' | 'reused'> => {
    // One statement marks the token as used, so only one of several concurrent refreshes succeeds here.
    const [fresh] = await ctx.db
      .update(refreshTokens)
      .set({ usedAt: ctx.now })
      .where(and(eq(refreshTokens.hash, hash), isNull(refreshTokens.usedAt), gt(refreshTokens.expiresAt, ctx.now)))
      .returning({ sessionId: refreshTokens.sessionId })
    const [found] = await ctx.db
      .select({ sessionId: loginSessions.id, userId: loginSessions.userId, usedAt: refreshTokens.usedAt })
      .from(refreshTokens)
      .innerJoin(loginSessions, eq(loginSessions.id, refreshTokens.sessionId))
      .where(and(eq(refreshTokens.hash, hash), isNull(loginSessions.revokedAt), gt(loginSessions.expiresAt, ctx.now)))
    if (!found) return 'unknown'
    if (!fresh && !(await reuseWithinGrace(ctx, hash))) {
      if (!found.usedAt) return 'unknown'
      await revokeSession(ctx, found.sessionId, found.userId, 'refresh token used twice')
      return 'reused'
    }
    const [user] = await ctx.db
      .select(userColumns)
      .from(users)
      .where(and(eq(users.id, found.userId), eq(users.status, 'active')))
    if (!user) return 'unknown'
    ctx.emit(userRefreshed, { subjectId: user.id, userId: user.id })
    return { ...(await newTokens(ctx, user.id, found.sessionId)), user }
  },
)

export const refresh = flow('accounts.refresh', anyone, async (ctx, { refreshToken }: Refresh): Promise<SignedIn> => {
  const answer =
    refreshToken && secretKind(refreshToken) === 'refresh'
      ? await rotate(ctx, { hash: hashSecret(refreshToken) })
      : 'unknown'
  if (answer === 'reused')
    throw new AppError(
      'unauthenticated',
      'This refresh token was used before, so the session was ended. Sign in again.',
    )
  if (answer === 'unknown') throw new AppError('unauthenticated', 'The refresh token is not valid. Sign in again.')
  return answer
})

export async function revokeSession(ctx: Ctx, sessionId: string, userId: string, reason: string): Promise<void> {
  await ctx.db.update(loginSessions).set({ revokedAt: ctx.now }).where(eq(loginSessions.id, sessionId))
  await sessionEnded.call(ctx, { sessionId })
  ctx.emit(sessionRevoked, { subjectId: sessionId, userId, data: { reason } })
}

export const logout = write(
  'accounts.logout',
  signedIn,
  async (ctx, _: Record<string, never>): Promise<{ id: string; revoked: 'session' }> => {
    const id = ctx.actor.credentialId as string
    await revokeSession(ctx, id, userIdOf(ctx.actor), 'signed out')
    return { id, revoked: 'session' }
  },
)

// ---- listing and ending sessions

/** SQL condition: not revoked, not expired, and renewed within the last 30 days. */
export const liveSessionsOf = (ctx: Ctx, userId: string) =>
  and(
    eq(loginSessions.userId, userId),
    isNull(loginSessions.revokedAt),
    gt(loginSessions.expiresAt, ctx.now),
    or(
      eq(loginSessions.via, 'impersonation'),
      exists(
        ctx.db
          .select({ hash: refreshTokens.hash })
          .from(refreshTokens)
          .where(
            and(
              eq(refreshTokens.sessionId, loginSessions.id),
              isNull(refreshTokens.usedAt),
              gt(refreshTokens.expiresAt, ctx.now),
            ),
          ),
      ),
    ),
  )
const ownLiveSessions = (ctx: Ctx) => liveSessionsOf(ctx, userIdOf(ctx.actor))

export const listSessions = read(
  'accounts.listSessions',
  account('account:read'),
  async (ctx, query: SessionQuery): Promise<SessionPage> => {
    const sorts = { createdAt: loginSessions.createdAt, lastSeenAt: loginSessions.lastSeenAt }
    const page = keyset(sorts, loginSessions.id, query, { sort: 'createdAt' })
    const rows = await ctx.db
      .select({
        id: loginSessions.id,
        via: loginSessions.via,
        device: loginSessions.device,
        userAgent: loginSessions.userAgent,
        ip: loginSessions.ip,
        createdAt: loginSessions.createdAt,
        lastSeenAt: loginSessions.lastSeenAt,
        expiresAt: loginSessions.expiresAt,
      })
      .from(loginSessions)
      .where(page.where(ownLiveSessions(ctx)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const shown = rows.map((row) => ({
      ...row,
      current: row.id === ctx.actor.credentialId,
      impersonated: row.via === 'impersonation',
    }))
    return page.page(shown, query.total ? await ctx.db.$count(loginSessions, ownLiveSessions(ctx)) : undefined)
  },
)

export const endSession = write(
  'accounts.endSession',
  person,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const [ended] = await ctx.db
      .update(loginSessions)
      .set({ revokedAt: ctx.now })
      .where(and(eq(loginSessions.id, id), ownLiveSessions(ctx)))
      .returning({ id: loginSessions.id })
    if (!ended) throw notFound('session', id)
    await sessionEnded.call(ctx, { sessionId: id })
    ctx.emit(sessionRevoked, { subjectId: id, userId: userIdOf(ctx.actor), data: { reason: 'ended by its owner' } })
    return { id, deleted: true }
  },
  { destructive: true },
)
