import { and, eq, gt, isNull } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { minutesAfter } from '../../auth/one-time-secrets.ts'
import { AppError } from '../../errors.ts'
import { oneLine } from '../mail/message.ts'
import { mailNotice } from '../mail/service.ts'
import { notify } from '../notifications/service.ts'
import type { User } from '../users/schema.ts'
import { userColumns } from '../users/service.ts'
import { loginSessions, users } from '../users/table.ts'
import { countSignInMethods } from './hooks.ts'
import { NOTICE_MINUTES } from './messages.ts'

/** For adding and removing any sign-in method. Everything here runs in the caller's transaction. */

/**
 * Locks the user's row, then throws if the session has ended. Call it before a sign-in method is added: a concurrent
 * transaction may be ending the session, because the owner of the mailbox is recovering the account. The second of the
 * two transactions waits here and then sees the changes of the first.
 */
export async function lockSession(ctx: Ctx, sessionId: string): Promise<User> {
  const live = and(
    eq(loginSessions.id, sessionId),
    isNull(loginSessions.revokedAt),
    gt(loginSessions.expiresAt, ctx.now),
  )
  const [owner] = await ctx.db.select({ id: loginSessions.userId }).from(loginSessions).where(live)
  const [user] = owner
    ? await ctx.db
        .select(userColumns)
        .from(users)
        .where(and(eq(users.id, owner.id), eq(users.status, 'active')))
        .for('no key update')
    : []
  const [still] = user ? await ctx.db.select({ id: loginSessions.id }).from(loginSessions).where(live) : []
  if (!user || !still) throw new AppError('unauthenticated', 'This session has ended. Sign in again.')
  return user
}

/** Notifies the user of a new sign-in method, so that a thief cannot add one unnoticed. */
export async function notifyNewMethod(ctx: Ctx, user: User, what: string): Promise<void> {
  const title = 'A sign-in method was added'
  const advice = 'If this was not you, remove it in your settings and change your password.'
  await notify(ctx, {
    userId: user.id,
    type: 'warning',
    reason: 'security',
    title,
    message: `${what} ${advice}`,
    link: '/settings/profile',
  })
  await mailNotice(ctx, user, {
    to: user.email,
    kind: 'new_way_in',
    subject: title,
    lines: [`Hello ${oneLine(user.name)},`, what],
    notes: [`${advice} Your settings: ${ctx.app.url}/settings/profile`],
    expiresAt: minutesAfter(ctx.now, NOTICE_MINUTES),
  })
}

/**
 * Throws if the user has no sign-in method left. Call it after one was removed. The lock makes the second of two
 * concurrent removals see the first.
 */
export async function requireSignInMethod(ctx: Ctx, userId: string): Promise<void> {
  const [user] = await ctx.db
    .select({ password: users.passwordHash, provedAt: users.emailVerifiedAt })
    .from(users)
    .where(eq(users.id, userId))
    .for('no key update')
  // With a confirmed address the user can sign in with a mailed code or link.
  if (user?.password || user?.provedAt) return
  const counts = await countSignInMethods.call(ctx, { userId })
  if (counts.every((count) => count === 0))
    throw new AppError(
      'conflict.last_way',
      'This is your last sign-in method. Confirm your e-mail address, set a password or add another method first.',
    )
}
