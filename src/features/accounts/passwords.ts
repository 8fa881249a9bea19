import { eq, sql } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { forgetAttempts } from '../../auth/limits.ts'
import { issueSecret, peekSecret, redeemSecret } from '../../auth/one-time-secrets.ts'
import { checkPassword, hashPassword, verifyPassword } from '../../auth/passwords.ts'
import { anyone, authorize, machine, person, recent } from '../../auth/policy.ts'
import { AppError, invalid } from '../../errors.ts'
import type { MailAnswer } from '../mail/schema.ts'
import { countMail, mailAnswer, mailNotice, queueMail, wipeMail } from '../mail/service.ts'
import { notify } from '../notifications/service.ts'
import { resetRequested, userPasswordChanged, userPasswordReset } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { activeUser, byEmail, userColumns } from '../users/service.ts'
import { loginSessions, users } from '../users/table.ts'
import { type AccountQuestion, confirmAccountError, confirmMailbox, isAccountQuestion } from './confirm-account.ts'
import { passwordChangedMail, RESET_MINUTES, resetMail } from './messages.ts'
import { loginKey, ownAccount, proveIdentity } from './password-proof.ts'
import { countSignIn, endCredentials, removeOtherMethods } from './people.ts'
import type { ChangePassword, ForgotPassword, Login, ResetPassword, SignedIn } from './schema.ts'
import { startSession } from './sessions.ts'
import { lockSession } from './sign-in-methods.ts'

/** How long ago users must have confirmed their identity for changes that a stolen session must not allow. */
const RECENT_MINUTES = 5

/** Sets a new password in the caller's transaction and ends all credentials obtained with the old one. */
async function storePassword(
  ctx: Ctx,
  user: User,
  passwordHash: string,
  { how, keepKeys }: { how: string; keepKeys?: boolean },
): Promise<User> {
  // Comes first: a concurrent sign-in waits for this row, or is ended by the statements below.
  const [changed] = await ctx.db
    .update(users)
    .set({ passwordHash, updatedAt: ctx.now, version: sql`${users.version} + 1` })
    .where(eq(users.id, user.id))
    .returning(userColumns)
  await endCredentials(ctx, user.id, { keepKeys })
  await wipeMail(ctx, user.email, 'reset')
  await notify(ctx, {
    userId: user.id,
    type: 'warning',
    reason: 'security',
    title: 'Your password was changed',
    message: how,
  })
  await mailNotice(ctx, user, passwordChangedMail(ctx, user, how))
  return changed as User
}

const replacePassword = write(
  'accounts.changeTo',
  person,
  async (ctx, { from, to, keepKeys }: { from: string | null; to: string; keepKeys?: boolean }): Promise<SignedIn> => {
    await lockSession(ctx, ctx.actor.credentialId as string)
    const before = await ownAccount(ctx)
    // Concurrent changes: exactly one wins.
    if (before.passwordHash !== from)
      throw new AppError('conflict', 'Another request changed the password. Sign in again.')
    const user = await storePassword(ctx, before, to, {
      how: `You changed your password. Every other session${keepKeys ? '' : ', API key and MCP token'} was ended.`,
      keepKeys,
    })
    ctx.emit(userPasswordChanged, { subjectId: user.id, userId: user.id, data: { keysKept: keepKeys ?? false } })
    const { via = 'password', device } = (await currentSession(ctx)) ?? {}
    return startSession(ctx, user, { via, device: device ?? undefined })
  },
)

/** The current session: it ends with the others, and a new one of the same kind replaces it. */
const currentSession = async (ctx: Ctx) =>
  (
    await ctx.db
      .select({ via: loginSessions.via, device: loginSessions.device })
      .from(loginSessions)
      .where(eq(loginSessions.id, ctx.actor.credentialId as string))
  )[0]

export const changePassword = flow(
  'accounts.changePassword',
  person,
  async (ctx, { currentPassword, newPassword, keepKeys }: ChangePassword): Promise<SignedIn> => {
    const user = await ownAccount(ctx)
    if (keepKeys || !user.passwordHash)
      authorize(ctx.actor, recent(RECENT_MINUTES), 'accounts.changePassword', ctx.app.clock)
    if (user.passwordHash && currentPassword === undefined)
      throw invalid('/currentPassword', 'currentPassword is required: this account has a password.', 'required')
    checkPassword(newPassword, { ...user, admin: user.role === 'admin' }, '/newPassword')
    if (user.passwordHash)
      await proveIdentity(
        ctx,
        () => verifyPassword(currentPassword as string, user.passwordHash),
        'The current password is wrong.',
      )
    return replacePassword(ctx, { from: user.passwordHash, to: await hashPassword(newPassword), keepKeys })
  },
)

// ---- resetting a forgotten password

/**
 * Runs the same statements for every address, so that the duration does not reveal whether it has an account. For an
 * unknown address the mail is withheld and the secret is unknown to everyone.
 */
const sendReset = write('accounts.sendReset', anyone, async (ctx, { email }: ForgotPassword): Promise<void> => {
  const found = await byEmail(ctx, email)
  const user = found?.status === 'active' ? found : undefined
  const secret = await issueSecret(ctx, {
    purpose: 'reset',
    minutes: RESET_MINUTES,
    subject: user?.id ?? email,
    userId: user?.id,
  })
  const withheld = user ? undefined : 'No active account has this address.'
  await queueMail(ctx, resetMail(ctx, user ?? { email: email.toLowerCase(), name: '' }, secret), { withheld })
  ctx.emit(resetRequested, { subjectId: user?.id, userId: user?.id })
})

export const forgotPassword = flow(
  'accounts.forgotPassword',
  anyone,
  async (ctx, { email }: ForgotPassword): Promise<MailAnswer> => {
    await countSignIn(ctx)
    await countMail(ctx, email)
    await sendReset(ctx, { email })
    return mailAnswer(ctx)
  },
)

const staleResetError = () =>
  new AppError('gone', 'This link has been used or has expired. Request a new one.', {
    next: [{ route: 'POST /api/auth/forgot-password' }],
  })

interface ResetUse {
  token: string
  passwordHash: string
  /** Value of the cookie that marks the browser. */
  browser: string
}

const useReset = write(
  'accounts.useReset',
  anyone,
  async (ctx, { token, passwordHash, browser }: ResetUse): Promise<AccountQuestion | undefined> => {
    const used = await redeemSecret(ctx, 'reset', token)
    const user = used?.userId ? await activeUser(ctx, used.userId) : undefined
    if (!user) throw staleResetError()
    // A link that an administrator has passed on proves no mailbox.
    const proved = used?.data.handedOver
      ? user
      : await confirmMailbox(ctx, user, { via: 'password', browser, passwordHash })
    if (isAccountQuestion(proved)) {
      await wipeMail(ctx, user.email, 'reset')
      return proved
    }
    const how = 'You chose a new password with a link. Every session, API key and MCP token of your account was ended.'
    await storePassword(ctx, proved, passwordHash, { how })
    ctx.emit(userPasswordReset, { subjectId: user.id, userId: user.id })
    return undefined
  },
)

export const resetPassword = flow(
  'accounts.resetPassword',
  anyone,
  async (ctx, { token, password, browser }: ResetPassword & { browser: string }): Promise<{ reset: true }> => {
    const known = await peekSecret(ctx, 'reset', token)
    const user = known?.userId ? await activeUser(ctx, known.userId) : undefined
    if (!user) throw staleResetError()
    checkPassword(password, { ...user, admin: user.role === 'admin' })
    const question = await useReset(ctx, { token, browser, passwordHash: await hashPassword(password) })
    if (question) throw confirmAccountError(question)
    await forgetAttempts(ctx.app.driver, loginKey(user.email))
    return { reset: true }
  },
)

// ---- on the command line

const storeForOperator = write(
  'accounts.putPassword',
  machine,
  async (ctx, { id, passwordHash }: { id: string; passwordHash: string }): Promise<User> => {
    const [user] = await ctx.db.select(userColumns).from(users).where(eq(users.id, id))
    if (!user) throw new AppError('not_found', 'This account no longer exists.')
    const how =
      'The operator of this server set a new password for you. ' +
      'Every session, API key and MCP token of your account was ended.'
    const changed = await storePassword(ctx, user, passwordHash, { how })
    if (!user.emailVerifiedAt) await removeOtherMethods(ctx, id)
    ctx.emit(userPasswordReset, { subjectId: id, userId: id })
    return changed
  },
)

/** `tutti admin reset-password`. */
export const setPassword = flow(
  'accounts.setPassword',
  machine,
  async (ctx, { email, password }: Login): Promise<User> => {
    const user = await byEmail(ctx, email)
    if (!user) throw new AppError('not_found', `There is no account with the address ${email}.`)
    checkPassword(password, { ...user, admin: user.role === 'admin' })
    const changed = await storeForOperator(ctx, { id: user.id, passwordHash: await hashPassword(password) })
    await forgetAttempts(ctx.app.driver, loginKey(user.email))
    return changed
  },
)
