import { and, eq, gt, inArray, isNull } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { AppError } from '../../errors.ts'
import { oneLine } from '../mail/message.ts'
import { mailNotice } from '../mail/service.ts'
import { notify } from '../notifications/service.ts'
import { configured } from '../oauth/providers.ts'
import { connectedAccounts } from '../oauth/table.ts'
import { passkeys } from '../passkeys/table.ts'
import { loginSessions, users } from '../users/table.ts'
import { visible } from './people.ts'
import type { User } from './schema.ts'

/** Passkeys and identities elsewhere: what adding and giving up a way to sign in has in common. All of it in the running transaction. */
const NOTICE_DAYS = 7

/**
 * Before a way in is added, or begun. The caller was let in by an answer that may be a second old, and his sessions may end at this very moment
 * because somebody else has proved that the account is his: whoever comes second waits here, and then sees it.
 */
export async function holdSession(ctx: Ctx, sessionId: string): Promise<User> {
  const live = and(
    eq(loginSessions.id, sessionId),
    isNull(loginSessions.revokedAt),
    gt(loginSessions.expiresAt, ctx.now),
  )
  const [owner] = await ctx.db.select({ id: loginSessions.userId }).from(loginSessions).where(live)
  const [user] = owner
    ? await ctx.db
        .select(visible)
        .from(users)
        .where(and(eq(users.id, owner.id), eq(users.status, 'active')))
        .for('no key update')
    : []
  const [still] = user ? await ctx.db.select({ id: loginSessions.id }).from(loginSessions).where(live) : []
  if (!user || !still) throw new AppError('unauthenticated', 'This session has ended. Sign in again.')
  return user
}

/** A thief who adds a way in must not do so unseen. */
export async function tellOfNewWay(ctx: Ctx, user: User, what: string): Promise<void> {
  const title = 'A new way to sign in was added'
  const advice = 'If this was not you, remove it in your account and change your password.'
  await notify(ctx, {
    userId: user.id,
    type: 'warning',
    reason: 'security',
    title,
    message: `${what} ${advice}`,
    link: '/account',
  })
  await mailNotice(ctx, user, {
    to: user.email,
    kind: 'new_way_in',
    subject: title,
    lines: [`Hello ${oneLine(user.name)},`, what],
    notes: [`${advice} It is at ${ctx.app.url}/account`],
    expiresAt: new Date(Date.parse(ctx.now) + NOTICE_DAYS * 86_400_000).toISOString(),
  })
}

/** After one was given up: nobody locks himself out. The lock lets the second of two at the same moment see that the first is gone. */
export async function requireWayIn(ctx: Ctx, userId: string): Promise<void> {
  const [user] = await ctx.db
    .select({ password: users.passwordHash, provedAt: users.emailVerifiedAt })
    .from(users)
    .where(eq(users.id, userId))
    .for('no key update')
  // Codes and links go to a proved address.
  if (user?.password || user?.provedAt) return
  const [passkey] = await ctx.db.select({ id: passkeys.id }).from(passkeys).where(eq(passkeys.userId, userId)).limit(1)
  if (passkey) return
  const [identity] = await ctx.db
    .select({ id: connectedAccounts.id })
    .from(connectedAccounts)
    .where(and(eq(connectedAccounts.userId, userId), inArray(connectedAccounts.provider, configured(ctx.app.config))))
    .limit(1)
  if (!identity)
    throw new AppError(
      'conflict.last_way',
      'This is your last way to sign in. Confirm your e-mail address, set a password or add another one first.',
    )
}
