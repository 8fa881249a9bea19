import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countGuess, forgetAttempts } from '../../auth/limits.ts'
import { issueSecret, peekSecret, redeemSecret, tryCode } from '../../auth/one-time-secrets.ts'
import { checkPassword, hashPassword, needsRehash, verifyPassword } from '../../auth/passwords.ts'
import { anyone, authorize, interactive, machine, person, recent } from '../../auth/policy.ts'
import { hashSecret } from '../../auth/secrets.ts'
import { AppError, invalid } from '../../errors.ts'
import { countMail, mailNotice, queueMail, wipeMail } from '../mail/service.ts'
import { notify } from '../notifications/service.ts'
import {
  resetRequested,
  sessionConfirmed,
  signInFailed,
  userPasswordChanged,
  userPasswordReset,
} from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { activeUser, byEmail, sameEmail, visible } from '../users/service.ts'
import { loginSessions, users } from '../users/table.ts'
import { passwordChangedMail, RESET_MINUTES, resetMail } from './messages.ts'
import { countSignIn, dropOtherLogins, endCredentials, proveMailbox } from './people.ts'
import type { ChangePassword, Confirmed, ForgotPassword, Login, Reauth, ResetPassword, SignedIn } from './schema.ts'
import { type Proof, startSession } from './sessions.ts'
import { holdSession } from './sign-in-methods.ts'

const FAILURES = 5
const FAILURE_WINDOW = 15 * 60
/** What a stolen session must not be enough for. */
const RECENT_MINUTES = 5

// ---- proving to know it

const noteFailure = write(
  'accounts.noteFailure',
  anyone,
  async (ctx, { userId }: { userId: string | null }): Promise<void> => {
    ctx.emit(signInFailed, { subjectId: userId ?? undefined, userId })
  },
)

const putHash = write(
  'accounts.rehash',
  anyone,
  async (ctx, { id, from, to }: { id: string; from: string; to: string }): Promise<void> => {
    await ctx.db
      .update(users)
      .set({ passwordHash: to })
      .where(and(eq(users.id, id), eq(users.passwordHash, from)))
  },
)

const loginKey = (email: string): string => `login:${hashSecret(email.toLowerCase())}`

/** Whose e-mail address and password these are, for every way in by password: the same limits, and no hint at what was wrong. */
export async function provePassword(ctx: Ctx, { email, password }: Login): Promise<Proof> {
  const { app } = ctx
  await countSignIn(ctx)
  await countGuess(
    app.driver,
    loginKey(email),
    FAILURES,
    FAILURE_WINDOW,
    app.clock(),
    'failed sign-ins for this account',
  )
  const [user] = await ctx.db
    .select({ id: users.id, hash: users.passwordHash, status: users.status })
    .from(users)
    .where(sameEmail(email))
  const right = await verifyPassword(password, user?.hash)
  if (!right || !user?.hash || user.status !== 'active') {
    await noteFailure(ctx, { userId: user?.id ?? null })
    throw new AppError('unauthenticated', 'E-mail address or password is wrong.')
  }
  await forgetAttempts(app.driver, loginKey(email))
  if (!needsRehash(user.hash)) return { userId: user.id, passwordHash: user.hash }
  const passwordHash = await hashPassword(password)
  await putHash(ctx, { id: user.id, from: user.hash, to: passwordHash })
  return { userId: user.id, passwordHash }
}

/** Guesses of somebody who is signed in. Counted apart from sign-ins: who has stolen a session must not lock its owner out. */
const guessKey = (userId: string): string => `guess:${userId}`

async function proveOwn(ctx: Ctx, right: () => Promise<boolean>, wrong: string): Promise<void> {
  const { app } = ctx
  const userId = userIdOf(ctx.actor)
  await countGuess(app.driver, guessKey(userId), FAILURES, FAILURE_WINDOW, app.clock(), 'wrong guesses')
  if (!(await right())) {
    await noteFailure(ctx, { userId })
    throw new AppError('forbidden', wrong)
  }
  await forgetAttempts(app.driver, guessKey(userId))
}

async function own(ctx: Ctx): Promise<User & { passwordHash: string | null }> {
  const [user] = await ctx.db
    .select({ ...visible, passwordHash: users.passwordHash })
    .from(users)
    .where(eq(users.id, userIdOf(ctx.actor)))
  if (!user) throw new AppError('unauthenticated', 'This account no longer exists.')
  return user
}

// ---- confirming who one is

const tryOwnCode = write(
  'accounts.tryCode',
  interactive,
  async (ctx, { email, code }: { email: string; code: string }): Promise<boolean> => {
    const right = await tryCode(ctx, email, code)
    if (right) await wipeMail(ctx, email, 'code')
    return right !== undefined
  },
)

const markConfirmed = write(
  'accounts.markConfirmed',
  interactive,
  async (ctx, _: Record<string, never>): Promise<Confirmed> => {
    const sessionId = ctx.actor.credentialId as string
    await ctx.db.update(loginSessions).set({ authenticatedAt: ctx.now }).where(eq(loginSessions.id, sessionId))
    ctx.emit(sessionConfirmed, { subjectId: sessionId, userId: userIdOf(ctx.actor) })
    return { authenticatedAt: ctx.now }
  },
)

/** For what a session alone is not enough for. */
export const reauth = flow(
  'accounts.reauth',
  interactive,
  async (ctx, { password, code }: Reauth): Promise<Confirmed> => {
    if ((password === undefined) === (code === undefined))
      throw invalid(password === undefined ? '/password' : '/code', 'Send either password or code.', 'exclusive')
    const user = await own(ctx)
    if (code !== undefined)
      await proveOwn(
        ctx,
        () => tryOwnCode(ctx, { email: user.email, code }),
        'The code is wrong, used or too old. Ask for a new one.',
      )
    else if (user.passwordHash)
      await proveOwn(ctx, () => verifyPassword(password as string, user.passwordHash), 'The password is wrong.')
    else
      throw new AppError('forbidden', 'This account has no password. Confirm with a code sent by mail.', {
        next: [{ route: 'POST /api/auth/otp/send' }],
      })
    return markConfirmed(ctx, {})
  },
)

// ---- setting a new one

/** In the running transaction. Whoever got in with the old one is out. */
async function putPassword(
  ctx: Ctx,
  user: User,
  passwordHash: string,
  { how, keepKeys }: { how: string; keepKeys?: boolean },
): Promise<User> {
  // First of all: whoever gets in at the same moment waits here, or is seen by what follows.
  const [changed] = await ctx.db
    .update(users)
    .set({ passwordHash, updatedAt: ctx.now, version: sql`${users.version} + 1` })
    .where(eq(users.id, user.id))
    .returning(visible)
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

const changeTo = write(
  'accounts.changeTo',
  person,
  async (ctx, { from, to, keepKeys }: { from: string | null; to: string; keepKeys?: boolean }): Promise<SignedIn> => {
    await holdSession(ctx, ctx.actor.credentialId as string)
    const before = await own(ctx)
    // Of two changes at once, one counts.
    if (before.passwordHash !== from)
      throw new AppError('conflict', 'The password was changed at the same moment. Sign in again.')
    const user = await putPassword(ctx, before, to, {
      how: `You changed the password of your account. Every other session${keepKeys ? '' : ', API key and MCP token'} has ended.`,
      keepKeys,
    })
    ctx.emit(userPasswordChanged, { subjectId: user.id, userId: user.id, data: { keysKept: keepKeys ?? false } })
    const { via = 'password', device } = (await sessionOf(ctx)) ?? {}
    return startSession(ctx, user, { via, device: device ?? undefined })
  },
)

/** This browser's session ends with the others; the one that follows is of the same kind. */
const sessionOf = async (ctx: Ctx) =>
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
    const user = await own(ctx)
    if (keepKeys || !user.passwordHash)
      authorize(ctx.actor, recent(RECENT_MINUTES), 'accounts.changePassword', ctx.app.clock)
    if (user.passwordHash && currentPassword === undefined)
      throw invalid('/currentPassword', 'currentPassword is required: this account has a password.', 'required')
    checkPassword(newPassword, { ...user, admin: user.role === 'admin' }, '/newPassword')
    if (user.passwordHash)
      await proveOwn(
        ctx,
        () => verifyPassword(currentPassword as string, user.passwordHash),
        'The current password is wrong.',
      )
    return changeTo(ctx, { from: user.passwordHash, to: await hashPassword(newPassword), keepKeys })
  },
)

// ---- having forgotten it

/** The same statements whoever the address belongs to, so that the time it takes tells nothing; a secret that nobody is told is of no use. */
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
  async (ctx, { email }: ForgotPassword): Promise<{ sent: true }> => {
    await countSignIn(ctx)
    await countMail(ctx, email)
    await sendReset(ctx, { email })
    return { sent: true }
  },
)

const stale = () =>
  new AppError('gone', 'This link has been used or has expired. Request a new one.', {
    next: [{ route: 'POST /api/auth/forgot-password' }],
  })

const useReset = write(
  'accounts.useReset',
  anyone,
  async (ctx, { token, passwordHash }: { token: string; passwordHash: string }): Promise<void> => {
    const used = await redeemSecret(ctx, 'reset', token)
    const user = used?.userId ? await activeUser(ctx, used.userId) : undefined
    if (!user) throw stale()
    const how =
      'You chose a new password by a link in a mail. Every session, API key and MCP token of your account has ended.'
    await putPassword(ctx, await proveMailbox(ctx, user), passwordHash, { how })
    ctx.emit(userPasswordReset, { subjectId: user.id, userId: user.id })
  },
)

export const resetPassword = flow(
  'accounts.resetPassword',
  anyone,
  async (ctx, { token, password }: ResetPassword): Promise<{ reset: true }> => {
    const known = await peekSecret(ctx, 'reset', token)
    const user = known?.userId ? await activeUser(ctx, known.userId) : undefined
    if (!user) throw stale()
    checkPassword(password, { ...user, admin: user.role === 'admin' })
    await useReset(ctx, { token, passwordHash: await hashPassword(password) })
    await forgetAttempts(ctx.app.driver, loginKey(user.email))
    return { reset: true }
  },
)

// ---- on the machine itself

const putByMachine = write(
  'accounts.putPassword',
  machine,
  async (ctx, { id, passwordHash }: { id: string; passwordHash: string }): Promise<User> => {
    const [user] = await ctx.db.select(visible).from(users).where(eq(users.id, id))
    if (!user) throw new AppError('not_found', 'This account no longer exists.')
    const how =
      'The operator of this instance set a new password for you. Every session, API key and MCP token of your account has ended.'
    const changed = await putPassword(ctx, user, passwordHash, { how })
    if (!user.emailVerifiedAt) await dropOtherLogins(ctx, id)
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
    const changed = await putByMachine(ctx, { id: user.id, passwordHash: await hashPassword(password) })
    await forgetAttempts(ctx.app.driver, loginKey(user.email))
    return changed
  },
)
