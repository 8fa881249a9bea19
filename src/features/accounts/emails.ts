import { and, eq, gt, isNull, sql } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { dropSecrets, issueSecret, redeemSecret } from '../../auth/one-time-secrets.ts'
import { anyone, person, recent } from '../../auth/policy.ts'
import { oneTimeSecrets } from '../../auth/table.ts'
import { AppError, invalid, type WayOut } from '../../errors.ts'
import { countMail, queueMail, wipeMail } from '../mail/service.ts'
import { notify } from '../notifications/service.ts'
import { userEmailChanged, userEmailChangeRequested, userEmailRestored, userEmailVerified } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { activeUser, byEmail, visible } from '../users/service.ts'
import { users } from '../users/table.ts'
import {
  CHANGE_MINUTES,
  changedMail,
  changeMail,
  takenMail,
  UNDO_MINUTES,
  VERIFY_MINUTES,
  verifyMail,
} from './messages.ts'
import { dropOtherLogins, endCredentials, isReserved } from './people.ts'
import type { ChangeEmail, LinkToken, VerifyAnswer, VerifyEmail } from './schema.ts'
import { holdSession } from './sign-in-methods.ts'

async function own(ctx: Ctx): Promise<User> {
  const user = await activeUser(ctx, userIdOf(ctx.actor))
  if (!user) throw new AppError('unauthenticated', 'This account no longer exists.')
  return user
}

const stale = (advice: string, next?: WayOut[]) =>
  new AppError('gone', `This link has been used or has expired. ${advice}`, { next })

// ---- proving that mail arrives

/** In the running transaction; new accounts get it too. */
export async function sendVerification(ctx: Ctx, user: User): Promise<void> {
  const secret = await issueSecret(ctx, {
    purpose: 'verify_email',
    minutes: VERIFY_MINUTES,
    subject: user.id,
    userId: user.id,
    data: { email: user.email },
  })
  await queueMail(ctx, verifyMail(ctx, user, secret))
}

const sendAgain = write('accounts.sendVerification', person, async (ctx, _: Record<string, never>): Promise<void> => {
  await sendVerification(ctx, await own(ctx))
})

/**
 * Only signed in as the very account: who gets a mail for an account that somebody else made with his address cannot make it look proven,
 * and so never ends up in an account whose password another knows.
 */
const markVerified = write('accounts.markVerified', person, async (ctx, { token }: LinkToken): Promise<void> => {
  const used = await redeemSecret(ctx, 'verify_email', token)
  const user = await own(ctx)
  // What is thrown here gives the link back to whom it belongs.
  if (used?.userId !== user.id || used.data.email !== user.email)
    throw stale('Ask for a new one while signed in to the account it is for.')
  await ctx.db
    .update(users)
    .set({ emailVerifiedAt: ctx.now, updatedAt: ctx.now, version: sql`${users.version} + 1` })
    .where(eq(users.id, user.id))
  await wipeMail(ctx, user.email, 'verify_email')
  ctx.emit(userEmailVerified, { subjectId: user.id, userId: user.id })
})

export const verifyEmail = flow(
  'accounts.verifyEmail',
  person,
  async (ctx, { token }: VerifyEmail): Promise<VerifyAnswer> => {
    if (token !== undefined) {
      await markVerified(ctx, { token })
      return { verified: true }
    }
    const user = await own(ctx)
    if (user.emailVerifiedAt) return { verified: true }
    await countMail(ctx, user.email)
    await sendAgain(ctx, {})
    return { sent: true }
  },
)

// ---- another address

const askNewMailbox = write('accounts.askNewMailbox', recent(5), async (ctx, { email }: ChangeEmail): Promise<void> => {
  const user = await holdSession(ctx, ctx.actor.credentialId as string)
  ctx.emit(userEmailChangeRequested, { subjectId: user.id, userId: user.id })
  if ((await byEmail(ctx, email)) || (await isReserved(ctx, email, user.id))) {
    await dropSecrets(ctx, 'email_change', user.id)
    return queueMail(ctx, takenMail(ctx, email))
  }
  const secret = await issueSecret(ctx, {
    purpose: 'email_change',
    minutes: CHANGE_MINUTES,
    subject: user.id,
    userId: user.id,
    data: { email },
  })
  await queueMail(ctx, changeMail(ctx, user, email, secret))
})

/** An account must not be good for writing to strangers. */
const REQUESTS_AN_HOUR = 10

/** Only the mailbox itself learns whether the address has an account already. */
export const changeEmail = flow(
  'accounts.changeEmail',
  recent(5),
  async (ctx, { email }: ChangeEmail): Promise<{ sent: true }> => {
    const user = await own(ctx)
    if (email.toLowerCase() === user.email.toLowerCase()) throw invalid('/email', 'This is your address already.')
    const { driver, clock } = ctx.app
    await countAttempt(driver, `email-change:${user.id}`, REQUESTS_AN_HOUR, 3600, clock(), 'changes of your address')
    await countMail(ctx, email)
    await askNewMailbox(ctx, { email })
    return { sent: true }
  },
)

async function putEmail(ctx: Ctx, userId: string, set: { email: string; passwordHash?: null }): Promise<void> {
  await ctx.db
    .update(users)
    .set({ ...set, emailVerifiedAt: ctx.now, updatedAt: ctx.now, version: sql`${users.version} + 1` })
    .where(eq(users.id, userId))
  await endCredentials(ctx, userId)
}

async function offerWayBack(ctx: Ctx, before: User): Promise<void> {
  const undo = await issueSecret(ctx, {
    purpose: 'email_undo',
    minutes: UNDO_MINUTES,
    // The address and not the user: a thief who changes it twice must not replace the way back of the first time.
    subject: before.email,
    userId: before.id,
    data: { email: before.email },
  })
  await queueMail(ctx, changedMail(ctx, before, undo))
}

/**
 * Whoever has the link has the new mailbox; being signed in to the account as well, he did not just press a button in a mail that somebody
 * else had sent to him, and take over an account that the other one still has the password of. The old mailbox can take it back for a day.
 */
export const confirmEmail = write(
  'accounts.confirmEmail',
  person,
  async (ctx, { token }: LinkToken): Promise<{ changed: true }> => {
    const before = await holdSession(ctx, ctx.actor.credentialId as string)
    const used = await redeemSecret(ctx, 'email_change', token)
    if (!used || used.userId !== before.id)
      throw stale('Request a new one.', [{ route: 'POST /api/auth/email-change' }])
    const email = String(used.data.email)
    if ((await byEmail(ctx, email)) || (await isReserved(ctx, email, before.id)))
      throw new AppError('conflict.exists', 'This address got an account of its own meanwhile. Use another one.')
    await putEmail(ctx, before.id, { email })
    await wipeMail(ctx, email, 'email_change')
    // One that was never proved may be a stranger's, by a slip of the finger: the account is not his to take.
    if (before.emailVerifiedAt) await offerWayBack(ctx, before)
    await notify(ctx, {
      userId: before.id,
      type: 'warning',
      reason: 'security',
      title: 'Your e-mail address was changed',
    })
    ctx.emit(userEmailChanged, { subjectId: before.id, userId: before.id })
    return { changed: true }
  },
)

/** Whoever did it is out, with whatever he set up: the owner comes back by a new password or a code, which need his mailbox. */
export const undoEmail = write(
  'accounts.undoEmail',
  anyone,
  async (ctx, { token }: LinkToken): Promise<{ restored: true }> => {
    const used = await redeemSecret(ctx, 'email_undo', token)
    const [user] = used?.userId ? await ctx.db.select(visible).from(users).where(eq(users.id, used.userId)) : []
    if (!used || !user) throw stale('Ask the administrator of this instance for help.')
    const email = String(used.data.email)
    await putEmail(ctx, user.id, { email, passwordHash: null })
    await dropOtherLogins(ctx, user.id)
    // Ways back to addresses that came after this one.
    await ctx.db
      .delete(oneTimeSecrets)
      .where(
        and(
          eq(oneTimeSecrets.purpose, 'email_undo'),
          eq(oneTimeSecrets.userId, user.id),
          isNull(oneTimeSecrets.usedAt),
          gt(oneTimeSecrets.id, used.id),
        ),
      )
    await wipeMail(ctx, email, 'email_undo')
    await notify(ctx, {
      userId: user.id,
      type: 'warning',
      reason: 'security',
      title: 'The change of your e-mail address was undone',
    })
    ctx.emit(userEmailRestored, { subjectId: user.id, userId: user.id })
    return { restored: true }
  },
)
