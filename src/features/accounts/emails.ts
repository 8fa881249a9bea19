import { and, eq, gt, isNull, sql } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { dropSecrets, issueSecret, redeemSecret } from '../../auth/one-time-secrets.ts'
import { anyone, person, recent } from '../../auth/policy.ts'
import { oneTimeSecrets } from '../../auth/table.ts'
import { AppError, invalid, type WayOut } from '../../errors.ts'
import type { MailAnswer } from '../mail/schema.ts'
import { countMail, mailAnswer, queueMail, wipeMail } from '../mail/service.ts'
import { notify } from '../notifications/service.ts'
import { userEmailChanged, userEmailChangeRequested, userEmailRestored, userEmailVerified } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { activeUser, byEmail, userColumns } from '../users/service.ts'
import { users } from '../users/table.ts'
import {
  addressTakenMail,
  CHANGE_MINUTES,
  confirmNewEmailMail,
  emailChangedMail,
  UNDO_MINUTES,
  VERIFY_MINUTES,
  verifyMail,
} from './messages.ts'
import { endCredentials, isReservedEmail, removeOtherMethods } from './people.ts'
import type { ChangeEmail, LinkToken, VerifyAnswer, VerifyEmail } from './schema.ts'
import { lockSession } from './sign-in-methods.ts'

async function ownUser(ctx: Ctx): Promise<User> {
  const user = await activeUser(ctx, userIdOf(ctx.actor))
  if (!user) throw new AppError('unauthenticated', 'This account no longer exists.')
  return user
}

const staleLinkError = (advice: string, next?: WayOut[]) =>
  new AppError('gone', `This link has been used or has expired. ${advice}`, { next })

// ---- confirming the address

/** Mails a link that confirms the address. Runs in the caller's transaction; used for new accounts, too. */
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
  await sendVerification(ctx, await ownUser(ctx))
})

/**
 * Requires a session of the account: someone whose address a stranger registered cannot confirm that account with the
 * mail alone, and so never uses an account whose password the stranger knows.
 */
const markVerified = write('accounts.markVerified', person, async (ctx, { token }: LinkToken): Promise<void> => {
  const used = await redeemSecret(ctx, 'verify_email', token)
  const user = await ownUser(ctx)
  // The error rolls back the use of the link, so that its owner can still use it.
  if (used?.userId !== user.id || used.data.email !== user.email)
    throw staleLinkError('Sign in to the account that the link belongs to and request a new link.')
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
    const user = await ownUser(ctx)
    if (user.emailVerifiedAt) return { verified: true }
    await countMail(ctx, user.email)
    await sendAgain(ctx, {})
    return mailAnswer(ctx)
  },
)

// ---- changing the address

const requestChange = write('accounts.requestChange', recent(5), async (ctx, { email }: ChangeEmail): Promise<void> => {
  const user = await lockSession(ctx, ctx.actor.credentialId as string)
  ctx.emit(userEmailChangeRequested, { subjectId: user.id, userId: user.id })
  if ((await byEmail(ctx, email)) || (await isReservedEmail(ctx, email, user.id))) {
    await dropSecrets(ctx, 'email_change', user.id)
    return queueMail(ctx, addressTakenMail(ctx, email))
  }
  const secret = await issueSecret(ctx, {
    purpose: 'email_change',
    minutes: CHANGE_MINUTES,
    subject: user.id,
    userId: user.id,
    data: { email },
  })
  await queueMail(ctx, confirmNewEmailMail(ctx, user, email, secret))
})

/** Limit for each account, so that it cannot be used to send mail to strangers. */
const REQUESTS_AN_HOUR = 10

/** The response does not reveal whether the new address has an account; only the mail to it does. */
export const changeEmail = flow(
  'accounts.changeEmail',
  recent(5),
  async (ctx, { email }: ChangeEmail): Promise<MailAnswer> => {
    const user = await ownUser(ctx)
    if (email.toLowerCase() === user.email.toLowerCase()) throw invalid('/email', 'This is already your address.')
    const { driver, clock } = ctx.app
    await countAttempt(driver, `email-change:${user.id}`, REQUESTS_AN_HOUR, 3600, clock(), 'changes of your address')
    await countMail(ctx, email)
    await requestChange(ctx, { email })
    return mailAnswer(ctx)
  },
)

async function storeEmail(ctx: Ctx, userId: string, set: { email: string; passwordHash?: null }): Promise<void> {
  await ctx.db
    .update(users)
    .set({ ...set, emailVerifiedAt: ctx.now, updatedAt: ctx.now, version: sql`${users.version} + 1` })
    .where(eq(users.id, userId))
  await endCredentials(ctx, userId)
}

async function sendUndoLink(ctx: Ctx, before: User): Promise<void> {
  const undo = await issueSecret(ctx, {
    purpose: 'email_undo',
    minutes: UNDO_MINUTES,
    // The subject is the address, not the user: a thief who changes it twice must not replace the first undo link.
    subject: before.email,
    userId: before.id,
    data: { email: before.email },
  })
  await queueMail(ctx, emailChangedMail(ctx, before, undo))
}

/**
 * The link proves access to the new mailbox. The session proves that the account is the caller's own: otherwise a click
 * in a mail could attach someone's address to an account whose password a stranger knows. A link to the old mailbox can
 * undo the change for a day.
 */
export const confirmEmail = write(
  'accounts.confirmEmail',
  person,
  async (ctx, { token }: LinkToken): Promise<{ changed: true }> => {
    const before = await lockSession(ctx, ctx.actor.credentialId as string)
    const used = await redeemSecret(ctx, 'email_change', token)
    if (!used || used.userId !== before.id)
      throw staleLinkError('Request a new link.', [{ route: 'POST /api/auth/email-change' }])
    const email = String(used.data.email)
    if ((await byEmail(ctx, email)) || (await isReservedEmail(ctx, email, before.id)))
      throw new AppError('conflict.exists', 'Another account now uses this address. Choose another address.')
    await storeEmail(ctx, before.id, { email })
    await wipeMail(ctx, email, 'email_change')
    // An unconfirmed old address may be a typing mistake and belong to a stranger, who must not get the account.
    if (before.emailVerifiedAt) await sendUndoLink(ctx, before)
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

/**
 * Restores the old address and removes all sessions and sign-in methods, including those of a thief. The owner of the
 * mailbox signs in again with a new password or a mailed code.
 */
export const undoEmail = write(
  'accounts.undoEmail',
  anyone,
  async (ctx, { token }: LinkToken): Promise<{ restored: true }> => {
    const used = await redeemSecret(ctx, 'email_undo', token)
    const [user] = used?.userId ? await ctx.db.select(userColumns).from(users).where(eq(users.id, used.userId)) : []
    if (!used || !user) throw staleLinkError('Ask an administrator of this server for help.')
    const email = String(used.data.email)
    await storeEmail(ctx, user.id, { email, passwordHash: null })
    await removeOtherMethods(ctx, user.id)
    // Removes the undo links of later changes.
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
      title: 'Your old e-mail address was restored',
    })
    ctx.emit(userEmailRestored, { subjectId: user.id, userId: user.id })
    return { restored: true }
  },
)
