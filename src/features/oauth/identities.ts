import { and, eq, isNull, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, anyone, recent } from '../../auth/policy.ts'
import { AppError, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { capitalizeFirst } from '../../text/text.ts'
import { type AccountQuestion, confirmMailbox, isAccountQuestion } from '../accounts/confirm-account.ts'
import { countRegistration, insertUser, requireOpenRegistration } from '../accounts/people.ts'
import type { SignedIn } from '../accounts/schema.ts'
import { signIn } from '../accounts/sessions.ts'
import { lockSession, notifyNewMethod, requireSignInMethod } from '../accounts/sign-in-methods.ts'
import { isInvited } from '../invites/received.ts'
import type { User } from '../users/schema.ts'
import { byEmail } from '../users/service.ts'
import { connectedAccountCreated, connectedAccountDeleted } from './events.ts'
import { type Identity, providerNames } from './providers.ts'
import type { ConnectedAccount, ConnectedAccountPage, ConnectedAccountQuery, Provider } from './schema.ts'
import { connectedAccounts } from './table.ts'

/** (issuer, subject) identifies an account. An e-mail address does only if the provider and we have confirmed it. */
const visible = {
  id: connectedAccounts.id,
  createdAt: connectedAccounts.createdAt,
  updatedAt: connectedAccounts.updatedAt,
  version: connectedAccounts.version,
  provider: connectedAccounts.provider,
  email: connectedAccounts.email,
  name: connectedAccounts.name,
  avatarUrl: connectedAccounts.avatarUrl,
}

const isSameIdentity = ({ issuer, subject }: Identity) =>
  and(eq(connectedAccounts.issuer, issuer), eq(connectedAccounts.subject, subject))

/**
 * Throws if an account has this subject without an issuer (see `stampIssuers`). It may belong to the person who signs
 * in, who must not get a second account, or to someone at an earlier provider, whose account they must not get.
 */
async function requireNoUncertainOwner(ctx: Ctx, { provider, subject }: Identity): Promise<void> {
  const { issuer, provider: name, subject: id } = connectedAccounts
  const uncertain = and(isNull(issuer), eq(name, provider), eq(id, subject))
  if ((await ctx.db.$count(connectedAccounts, uncertain)) === 0) return
  throw new AppError(
    'conflict.exists',
    `An older account is connected to ${providerNames[provider]} with the same id. It may belong to someone else. ` +
      `If it is yours, sign in another way and connect ${providerNames[provider]} again in your account. ` +
      'An administrator can reset the password.',
  )
}

/** Locks an identity, so that the second of two concurrent sign-ins (two tabs) sees the account that the first made. */
const lockIdentity = (ctx: Ctx, { issuer, subject }: Identity) =>
  ctx.db.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`${issuer} ${subject}`}, 0))`)

const identityColumns = (ctx: Ctx, { email, name, avatarUrl, tokens }: Identity) => ({
  email,
  name,
  avatarUrl,
  sealed: ctx.app.seal.close(JSON.stringify(tokens)),
  updatedAt: ctx.now,
})

/**
 * Updates a known identity with the current data of the provider. Returns undefined if there is none. Waits for a
 * concurrent request that removes the identity.
 */
async function refreshIdentity(
  ctx: Ctx,
  identity: Identity,
): Promise<(ConnectedAccount & { userId: string }) | undefined> {
  const [account] = await ctx.db
    .update(connectedAccounts)
    .set({ ...identityColumns(ctx, identity), version: sql`${connectedAccounts.version} + 1` })
    .where(isSameIdentity(identity))
    .returning({ ...visible, userId: connectedAccounts.userId })
  return account
}

/** Adds an identity. It replaces one of a former issuer of this provider, which can no longer sign in. */
async function attachIdentity(ctx: Ctx, user: User, identity: Identity): Promise<ConnectedAccount> {
  const { provider, issuer, subject } = identity
  const current = { ...identityColumns(ctx, identity), issuer, subject }
  const [made] = await ctx.db
    .insert(connectedAccounts)
    .values({ ...current, provider, userId: user.id, createdAt: ctx.now })
    .onConflictDoUpdate({
      target: [connectedAccounts.userId, connectedAccounts.provider],
      set: { ...current, version: sql`${connectedAccounts.version} + 1` },
      setWhere: sql`${connectedAccounts.issuer} is distinct from ${issuer}`,
    })
    .returning(visible)
  if (!made)
    throw new AppError(
      'conflict.exists',
      `Your account has another identity at ${providerNames[provider]}. Sign in with that one, or disconnect it first.`,
    )
  ctx.emit(connectedAccountCreated, { subjectId: made.id, userId: user.id, data: { provider } })
  return made
}

interface EntryResult {
  signedIn: SignedIn
  /** The identity got a new account. */
  registered: boolean
}

interface Entry {
  identity: Identity
  /** Value of the cookie that marks the browser. */
  browser: string
}

export const enterWithIdentity = write(
  'oauth.enter',
  anyone,
  async (ctx, { identity, browser }: Entry): Promise<EntryResult | AccountQuestion> => {
    await lockIdentity(ctx, identity)
    const via = identity.provider
    const owned = await refreshIdentity(ctx, identity)
    if (owned) return { signedIn: await signIn(ctx, { userId: owned.userId, via }), registered: false }
    const known = identity.email ? await byEmail(ctx, identity.email) : undefined
    const user = known
      ? await attachToKnownAccount(ctx, known, { identity, browser })
      : await registerWithIdentity(ctx, identity)
    return isAccountQuestion(user)
      ? user
      : { signedIn: await signIn(ctx, { userId: user.id, via }), registered: !known }
  },
)

/** Creates an account for a new identity. */
async function registerWithIdentity(ctx: Ctx, identity: Identity): Promise<User> {
  const { email, emailVerified, provider, avatarUrl } = identity
  const name = providerNames[provider]
  if (!email)
    throw new AppError(
      'conflict',
      `${capitalizeFirst(name)} sent no e-mail address. Allow access to it there, or sign in another way and connect ` +
        `${name} in your account.`,
    )
  await requireNoUncertainOwner(ctx, identity)
  await requireMayRegister(ctx, identity)
  const user = await insertUser(ctx, {
    email,
    emailVerified,
    name: identity.name ?? (email.split('@')[0] as string),
    avatarUrl,
    passwordHash: null,
    role: 'user',
  })
  await attachIdentity(ctx, user, identity)
  return user
}

/** Connects a new identity to the account with its address, or returns the question who created that account. */
async function attachToKnownAccount(
  ctx: Ctx,
  known: User,
  { identity, browser }: Entry,
): Promise<User | AccountQuestion> {
  const { emailVerified, provider } = identity
  const name = providerNames[provider]
  if (!emailVerified)
    throw new AppError(
      'conflict.exists',
      `This e-mail address has an account, and ${name} has not confirmed that the address is yours. ` +
        `Sign in another way and connect ${name} in your account.`,
    )
  if (known.status !== 'active') return known
  const user = await confirmMailbox(ctx, known, { via: provider, browser, identity: JSON.stringify(identity) })
  if (isAccountQuestion(user)) return user
  await attachAndNotify(ctx, user, identity)
  return user
}

async function attachAndNotify(ctx: Ctx, user: User, identity: Identity): Promise<ConnectedAccount> {
  const made = await attachIdentity(ctx, user, identity)
  await notifyNewMethod(ctx, user, `You can now sign in with your account at ${providerNames[identity.provider]}.`)
  return made
}

/** Throws unless registration is open, or the confirmed address has an invitation. */
async function requireMayRegister(ctx: Ctx, { email, emailVerified }: Identity): Promise<void> {
  if (emailVerified && (await isInvited(ctx, email as string))) return
  await requireOpenRegistration(ctx)
  await countRegistration(ctx)
}

/** Connects the identity to the account of the session that requested it, if the session is still valid. */
export const linkIdentity = write(
  'oauth.link',
  anyone,
  async (ctx, { identity, sessionId }: { identity: Identity; sessionId: string }): Promise<ConnectedAccount> => {
    await lockIdentity(ctx, identity)
    return connectIdentityTo(ctx, await lockSession(ctx, sessionId), identity)
  },
)

/** Connects an identity in the caller's transaction. Throws if it belongs to another account. */
export async function connectIdentityTo(ctx: Ctx, user: User, identity: Identity): Promise<ConnectedAccount> {
  await lockIdentity(ctx, identity)
  const owned = await refreshIdentity(ctx, identity)
  if (owned && owned.userId !== user.id)
    throw new AppError(
      'conflict.exists',
      `This identity at ${providerNames[identity.provider]} is connected to another account. Sign in with it to open it.`,
    )
  return owned ?? attachAndNotify(ctx, user, identity)
}

// ---- managing identities

const isOwnIdentity = (ctx: Ctx) => eq(connectedAccounts.userId, userIdOf(ctx.actor))

export const listConnected = read(
  'oauth.listConnected',
  account('account:read'),
  async (ctx, query: ConnectedAccountQuery): Promise<ConnectedAccountPage> => {
    const { createdAt, provider, id } = connectedAccounts
    const page = keyset({ createdAt, provider }, id, query, { sort: 'createdAt' })
    const rows = await ctx.db
      .select(visible)
      .from(connectedAccounts)
      .where(page.where(isOwnIdentity(ctx)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(connectedAccounts, isOwnIdentity(ctx)) : undefined)
  },
)

export const disconnect = write(
  'oauth.disconnect',
  recent(5),
  async (ctx, { provider }: { provider: Provider }): Promise<{ id: string; deleted: true }> => {
    const userId = userIdOf(ctx.actor)
    const [removed] = await ctx.db
      .delete(connectedAccounts)
      .where(and(eq(connectedAccounts.provider, provider), isOwnIdentity(ctx)))
      .returning({ id: connectedAccounts.id })
    if (!removed) throw notFound('connected_account', provider)
    await requireSignInMethod(ctx, userId)
    ctx.emit(connectedAccountDeleted, { subjectId: removed.id, userId, data: { provider } })
    return { id: removed.id, deleted: true }
  },
  { destructive: true },
)
