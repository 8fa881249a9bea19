import { and, eq, ne, sql } from 'drizzle-orm'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import { type Ctx, flow, write } from '../../action.ts'
import { isInPerson, userIdOf, type Via } from '../../auth/actor.ts'
import { forgetAttempts } from '../../auth/limits.ts'
import { issueSecret, peekSecret, redeemSecret } from '../../auth/one-time-secrets.ts'
import { anyone } from '../../auth/policy.ts'
import { AppError, invalid } from '../../errors.ts'
import { integrations } from '../integrations/table.ts'
import { mailNotice, wipeMail } from '../mail/service.ts'
import { notify } from '../notifications/service.ts'
import * as members from '../organizations/members.ts'
import { userAccountConfirmed, userEmailVerified } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { userColumns } from '../users/service.ts'
import { loginSessions, users } from '../users/table.ts'
import { connectIdentity, countHoldings, type HoldingCounts, holdings } from './hooks.ts'
import { accountKeptMail, accountReclaimedMail } from './messages.ts'
import { loginKey, provePassword } from './password-proof.ts'
import { countSignIn, endCredentials, removeOtherMethods } from './people.ts'
import type { ConfirmAccount, SignedIn } from './schema.ts'
import { liveSessionsOf, revokeSession, signIn } from './sessions.ts'
import { lockSession } from './sign-in-methods.ts'

/**
 * An account whose address was never confirmed may have been created by a stranger. Before someone who proves access to
 * the mailbox is signed in, they answer whether they created the account. Only then is earlier access kept or removed.
 */
const TICKET_MINUTES = 10

/** How the caller proved access to the mailbox, and what to store in the account once they have answered. */
interface MailboxProof {
  via: Via
  /** Value of the cookie that marks the browser. */
  browser: string
  /** Hash of the new password, if they followed a mailed reset link. */
  passwordHash?: string
  /** The identity that they signed in with, as JSON, to be connected to the account. */
  identity?: string
}

export interface AccountQuestion {
  ticket: string
  holds: HoldingCounts
}

export const isAccountQuestion = (answer: object | undefined): answer is AccountQuestion =>
  answer !== undefined && 'ticket' in answer

/** What a ticket stores. `sealed` contains the proof as JSON. */
type TicketData = { email: string; askedAt: string; sealed: string }
type ProofData = Pick<MailboxProof, 'via' | 'passwordHash' | 'identity'>

/**
 * Call it in a write when the caller has proved access to the mailbox of an active account. Returns the user if they
 * may be signed in: their address is confirmed now. Otherwise returns the question to answer first.
 */
export async function confirmMailbox(ctx: Ctx, user: User, proof: MailboxProof): Promise<User | AccountQuestion> {
  if (user.emailVerifiedAt) return user
  // Locks the row: a concurrent request that adds a credential comes before, and is counted, or waits.
  const [current] = await ctx.db
    .select(userColumns)
    .from(users)
    // Requires the proved address: the creator of the account may be changing it concurrently.
    .where(and(eq(users.id, user.id), eq(users.email, user.email)))
    .for('no key update')
  if (!current) throw new AppError('conflict', 'Another request just changed the address of this account. Try again.')
  if (current.emailVerifiedAt) return current
  const holds = await countAllHoldings(ctx, user.id)
  if (holdings.every((name) => holds[name] === 0)) return markConfirmed(ctx, current)
  const { browser, ...brought } = proof
  const sealed = ctx.app.seal.close(JSON.stringify(brought satisfies ProofData))
  const ticket = await issueSecret(ctx, {
    purpose: 'confirm_account',
    minutes: TICKET_MINUTES,
    subject: user.id,
    userId: user.id,
    boundTo: browser,
    data: { email: user.email, askedAt: ctx.now, sealed } satisfies TicketData,
  })
  return { ticket, holds }
}

/** Returns the error that asks the question. Throw it after the commit, so that the ticket exists. */
export const confirmAccountError = ({ ticket, holds }: AccountQuestion): AppError =>
  new AppError(
    'conflict.confirm_account',
    'This account was created before its address was confirmed. Did you create it? If so, prove it with its ' +
      'password, a passkey or a connected identity. If not, remove all earlier access. You are not signed in yet.',
    { ticket, holds, next: [{ route: 'POST /api/auth/confirm-account', page: '/login' }] },
  )

async function countAllHoldings(ctx: Ctx, userId: string): Promise<HoldingCounts> {
  const live = and(liveSessionsOf(ctx, userId), ne(loginSessions.via, 'impersonation'))
  const counts: Partial<HoldingCounts>[] = [
    {
      password: await ctx.db.$count(users, and(eq(users.id, userId), sql`${users.passwordHash} is not null`)),
      sessions: await ctx.db.$count(loginSessions, and(live, ne(loginSessions.via, 'device'))),
      devices: await ctx.db.$count(loginSessions, and(live, eq(loginSessions.via, 'device'))),
      integrations: await ctx.db.$count(integrations, eq(integrations.userId, userId)),
      guests: await members.countGuests(ctx, userId),
    },
    ...(await countHoldings.call(ctx, { userId })),
  ]
  const sum = (name: keyof HoldingCounts) => counts.reduce((total, part) => total + (part[name] ?? 0), 0)
  return Object.fromEntries(holdings.map((name) => [name, sum(name)])) as HoldingCounts
}

async function markConfirmed(ctx: Ctx, user: User, set: PgUpdateSetSource<typeof users> = {}): Promise<User> {
  const [confirmed] = await ctx.db
    .update(users)
    .set({ ...set, emailVerifiedAt: ctx.now, updatedAt: ctx.now, version: sql`${users.version} + 1` })
    .where(eq(users.id, user.id))
    .returning(userColumns)
  await wipeMail(ctx, user.email, 'verify_email')
  ctx.emit(userEmailVerified, { subjectId: user.id, userId: user.id })
  return confirmed as User
}

// ---- the answer

const staleTicketError = () =>
  new AppError(
    'gone',
    'This question was already answered, was asked in another browser, or is older than 10 minutes. Sign in again.',
  )

interface Answer {
  ticket: string
  browser: string
  userId: string
  /** Hash of the password that proves who created the account. */
  passwordHash?: string
  remove?: boolean
}

/** Locks the account before its ticket, as `confirmMailbox` does, and uses the ticket. Only the first answer counts. */
async function redeemTicketOf(
  ctx: Ctx,
  { ticket, browser, userId, passwordHash }: Answer,
): Promise<TicketData & { user: User }> {
  const [row] = await ctx.db
    .select({ user: userColumns, passwordHash: users.passwordHash })
    .from(users)
    .where(eq(users.id, userId))
    .for('no key update')
  const used = await redeemSecret(ctx, 'confirm_account', ticket, browser)
  const stored = used?.data as TicketData | undefined
  if (!row || !stored || used?.userId !== userId || row.user.email !== stored.email || row.user.emailVerifiedAt)
    throw staleTicketError()
  if (passwordHash !== undefined && passwordHash !== row.passwordHash)
    throw new AppError('conflict', 'Another request just changed the password. Try again.')
  return { ...stored, user: row.user }
}

const proofs: ReadonlySet<Via> = new Set(['password', 'passkey', 'github', 'google', 'oidc'])

/**
 * Requires that the caller has signed in to the account since the question, without a mailed code or link. Ends that
 * session, because a new one replaces it.
 */
async function requireOwnSession(ctx: Ctx, user: User, askedAt: string): Promise<void> {
  const sessionId = isInPerson(ctx.actor) ? (ctx.actor.credentialId as string) : undefined
  const owner = sessionId && userIdOf(ctx.actor) === user.id ? await lockSession(ctx, sessionId) : undefined
  const [session] = owner
    ? await ctx.db
        .select({ via: loginSessions.via, createdAt: loginSessions.createdAt })
        .from(loginSessions)
        .where(eq(loginSessions.id, sessionId as string))
    : []
  if (!session || !proofs.has(session.via) || Date.parse(session.createdAt) < Date.parse(askedAt))
    throw new AppError('unauthenticated', 'Sign in to this account with a passkey or a connected identity first.')
  await revokeSession(ctx, sessionId as string, user.id, 'replaced')
}

const settleTicket = write('accounts.settleTicket', anyone, async (ctx, answer: Answer): Promise<SignedIn> => {
  const { user, askedAt, sealed } = await redeemTicketOf(ctx, answer)
  const { passwordHash, remove } = answer
  if (!remove && passwordHash === undefined) await requireOwnSession(ctx, user, askedAt)
  const brought = JSON.parse(ctx.app.seal.open(sealed) ?? '{}') as ProofData
  const confirmed = await (remove ? removeEarlierAccess : keepAccess)(ctx, user, brought)
  if (brought.identity) await connectIdentity.call(ctx, { user: confirmed, identity: brought.identity })
  ctx.emit(userAccountConfirmed, { subjectId: user.id, userId: user.id, data: { kept: !remove } })
  return signIn(ctx, { userId: user.id, via: brought.via })
})

/** Keeps all earlier access. A password that was chosen with a mailed link replaces the old one. */
async function keepAccess(ctx: Ctx, user: User, { passwordHash }: ProofData): Promise<User> {
  const confirmed = await markConfirmed(ctx, user, passwordHash === undefined ? {} : { passwordHash })
  await notify(ctx, {
    userId: user.id,
    type: 'info',
    reason: 'security',
    title: 'You confirmed your account',
    message: 'Your address is confirmed. All sign-in methods, sessions and keys of your account still work.',
  })
  await mailNotice(ctx, confirmed, accountKeptMail(ctx, confirmed))
  return confirmed
}

/** Ends everything that a stranger may have set up. Records stay. */
async function removeEarlierAccess(ctx: Ctx, user: User, { passwordHash }: ProofData): Promise<User> {
  const confirmed = await markConfirmed(ctx, user, {
    passwordHash: passwordHash ?? null,
    preferences: sql`${users.preferences} - 'currentOrganizationId'`,
  })
  await members.reclaimPersonal(ctx, user.id)
  await removeOtherMethods(ctx, user.id)
  await endCredentials(ctx, user.id)
  await notify(ctx, {
    userId: user.id,
    type: 'warning',
    reason: 'security',
    title: 'Earlier access to your account was removed',
    message: 'All access from before you confirmed your address was removed. Your records were kept.',
  })
  await mailNotice(ctx, confirmed, accountReclaimedMail(ctx, confirmed))
  return confirmed
}

/** Answers the question of `conflict.confirm_account` and signs in. Without an answer, it throws the question again. */
export const confirmAccount = flow(
  'accounts.confirmAccount',
  anyone,
  async (ctx, { ticket, browser, password, keep, remove }: ConfirmAccount & { browser: string }): Promise<SignedIn> => {
    if ([password, keep, remove].filter((given) => given !== undefined).length > 1)
      throw invalid('/remove', 'Send only one of password, keep and remove.', 'exclusive')
    if (password === undefined) await countSignIn(ctx)
    const asked = await peekSecret(ctx, 'confirm_account', ticket, browser)
    if (!asked?.userId) throw staleTicketError()
    const { email } = asked.data as TicketData
    if (password === undefined && !keep && !remove)
      throw confirmAccountError({ ticket, holds: await countAllHoldings(ctx, asked.userId) })
    const proof = password === undefined ? undefined : await provePassword(ctx, { email, password })
    const { userId } = asked
    const answer = await settleTicket(ctx, { ticket, browser, userId, passwordHash: proof?.passwordHash, remove })
    await forgetAttempts(ctx.app.driver, loginKey(email))
    return answer
  },
)
