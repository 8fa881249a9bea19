import { and, eq, gt, isNull, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { userIdOf, type Via } from '../../auth/actor.ts'
import { countAttempt, countGuess, forgetAttempts, networkOf } from '../../auth/limits.ts'
import { checkPassword, hashPassword, verifyPassword } from '../../auth/passwords.ts'
import { account, anyone, machine, signedIn } from '../../auth/policy.ts'
import { hashSecret, kindOf, newSecret, randomTail, sameText } from '../../auth/secrets.ts'
import { changeVersioned } from '../../db/records.ts'
import { meta } from '../../db/table.ts'
import { AppError, invalid } from '../../errors.ts'
import { slugify } from '../../text.ts'
import * as organizations from '../organizations/service.ts'
import { apiKeys, mcpTokens } from '../tokens/table.ts'
import type { Login, ProfilePatch, Refresh, Register, Setup, SignedIn, User } from './schema.ts'
import { loginSessions, refreshTokens, users } from './table.ts'

const IDLE_DAYS = 30
const TOTAL_DAYS = 90

const visible = {
  id: users.id,
  createdAt: users.createdAt,
  updatedAt: users.updatedAt,
  version: users.version,
  email: users.email,
  name: users.name,
  handle: users.handle,
  avatarUrl: users.avatarUrl,
  coverUrl: users.coverUrl,
  bio: users.bio,
  timezone: users.timezone,
  locale: users.locale,
  role: users.role,
  status: users.status,
  emailVerifiedAt: users.emailVerifiedAt,
  onboardedAt: users.onboardedAt,
  preferences: users.preferences,
}

const later = (now: string, days: number): string => new Date(Date.parse(now) + days * 86_400_000).toISOString()
const sameEmail = (email: string) => eq(sql`lower(${users.email})`, email.toLowerCase())

// ---- signing up

interface NewUser {
  email: string
  name: string
  passwordHash: string
  role: 'user' | 'admin'
}

/** The account and its personal organization, in one transaction. */
async function insertUser(ctx: Ctx, { email, name, passwordHash, role }: NewUser): Promise<User> {
  const base = slugify(email.split('@')[0]?.slice(0, 40) ?? name) || 'user'
  const values = { email, name: name.trim(), passwordHash, role, preferences: {}, createdAt: ctx.now, updatedAt: ctx.now }
  // The unique indexes decide, so that people who register at the same moment do not trip over a handle they did not choose.
  const insert = (handle: string) =>
    ctx.db
      .insert(users)
      .values({ ...values, handle })
      .onConflictDoNothing()
      .returning(visible)
  let [user] = await insert(base)
  if (!user) {
    const [taken] = await ctx.db.select({ id: users.id }).from(users).where(sameEmail(email))
    if (!taken) [user] = await insert(`${base}-${randomTail()}`)
  }
  if (!user) throw new AppError('conflict.exists', 'This e-mail address has an account already. Sign in, or reset the password.')
  await organizations.createFor(ctx, { userId: user.id, name: `${user.name.slice(0, 90)}'s space`, slug: user.handle, personal: true })
  ctx.emit('user.registered', { subjectId: user.id, userId: user.id, data: { role } })
  return user
}

const addUser = write('accounts.add', anyone, async (ctx, input: NewUser): Promise<SignedIn> => {
  const user = await insertUser(ctx, input)
  return startSession(ctx, user, { via: 'password' })
})

export const register = flow('accounts.register', anyone, async (ctx, { email, password, name }: Register): Promise<SignedIn> => {
  const { app } = ctx
  if (app.config.REGISTRATION === 'closed')
    throw new AppError('forbidden', 'This instance takes no new registrations. Ask its administrator for an account.')
  checkPassword(password, { email, name })
  await countAttempt(app.driver, `register:${networkOf(ctx.ip)}`, app.config.RATE_LIMIT_REGISTER, 3600, app.clock(), 'registrations')
  return addUser(ctx, { email, name, passwordHash: await hashPassword(password), role: 'user' })
})

/** Also turns an existing user into an administrator with a new password: the way back in for whoever owns the machine. */
const putAdmin = write('accounts.putAdmin', machine, async (ctx, input: NewUser): Promise<User> => {
  // The printed set-up link has done its work, or never will.
  await ctx.db.delete(meta).where(eq(meta.key, 'setup'))
  const [known] = await ctx.db.select({ id: users.id }).from(users).where(sameEmail(input.email))
  if (!known) return insertUser(ctx, input)
  const [user] = await ctx.db
    .update(users)
    .set({ role: 'admin', status: 'active', passwordHash: input.passwordHash, updatedAt: ctx.now, version: sql`${users.version} + 1` })
    .where(eq(users.id, known.id))
    .returning(visible)
  await endCredentials(ctx, known.id)
  ctx.emit('user.role_changed', { subjectId: known.id, userId: known.id, data: { role: 'admin' } })
  return user as User
})

export const createAdmin = flow('accounts.createAdmin', machine, async (ctx, { email, password, name }: Register): Promise<User> => {
  checkPassword(password, { email, name, admin: true })
  return putAdmin(ctx, { email, name, passwordHash: await hashPassword(password), role: 'admin' })
})

// ---- the first administrator

export const firstAdmin = read('accounts.firstAdmin', machine, async (ctx, _: Record<string, never>): Promise<string | null> => {
  const [admin] = await ctx.db.select({ id: users.id }).from(users).where(eq(users.role, 'admin')).orderBy(users.createdAt).limit(1)
  return admin?.id ?? null
})

/** A fresh one-time token for the set-up link; an earlier one stops working. */
export const issueSetupToken = write('accounts.issueSetupToken', machine, async (ctx, _: Record<string, never>): Promise<string> => {
  const token = newSecret('setup')
  const value = hashSecret(token)
  await ctx.db.insert(meta).values({ key: 'setup', value }).onConflictDoUpdate({ target: meta.key, set: { value } })
  return token
})

const useSetupToken = write(
  'accounts.useSetupToken',
  anyone,
  async (ctx, { token, ...user }: NewUser & { token: string }): Promise<SignedIn> => {
    const [row] = await ctx.db.delete(meta).where(eq(meta.key, 'setup')).returning({ hash: meta.value })
    const [admin] = await ctx.db.select({ id: users.id }).from(users).where(eq(users.role, 'admin')).limit(1)
    if (!row || admin || !sameText(row.hash, hashSecret(token))) throw usedUp()
    return startSession(ctx, await insertUser(ctx, user), { via: 'setup' })
  },
)

const usedUp = () =>
  new AppError('gone', 'This set-up link has been used or replaced. Start the server again for a new one, or run: tutti admin create')

export const setup = flow('accounts.setup', anyone, async (ctx, { token, email, password, name }: Setup): Promise<SignedIn> => {
  if (kindOf(token) !== 'setup') throw usedUp()
  checkPassword(password, { email, name, admin: true })
  await countAttempt(ctx.app.driver, `setup:${networkOf(ctx.ip)}`, 10, 3600, ctx.app.clock(), 'set-up attempts')
  return useSetupToken(ctx, { token, email, name, passwordHash: await hashPassword(password), role: 'admin' })
})

// ---- signing in and out

interface SessionStart {
  via: Via
  device?: string
  /** The administrator who acts as the user; such a session is short and cannot be refreshed. */
  impersonatorId?: string
  /** Instead of the usual 90 days. */
  minutes?: number
}

/** In the running transaction; every way in ends here. */
export async function startSession(ctx: Ctx, user: User, { via, device, impersonatorId, minutes }: SessionStart): Promise<SignedIn> {
  const [session] = await ctx.db
    .insert(loginSessions)
    .values({
      userId: user.id,
      via,
      device: device?.slice(0, 100),
      impersonatorId,
      authenticatedAt: via === 'device' || impersonatorId ? null : ctx.now,
      userAgent: ctx.userAgent?.slice(0, 300),
      ip: ctx.ip,
      createdAt: ctx.now,
      lastSeenAt: ctx.now,
      expiresAt: minutes ? new Date(Date.parse(ctx.now) + minutes * 60_000).toISOString() : later(ctx.now, TOTAL_DAYS),
    })
    .returning({ id: loginSessions.id })
  if (!session) throw new Error('insert returned nothing')
  return { ...(await newTokens(ctx, user.id, session.id)), user }
}

async function newTokens(ctx: Ctx, userId: string, sessionId: string): Promise<Omit<SignedIn, 'user'>> {
  const refreshToken = newSecret('refresh')
  await ctx.db.insert(refreshTokens).values({ hash: hashSecret(refreshToken), sessionId, expiresAt: later(ctx.now, IDLE_DAYS) })
  const { token, expiresAt } = await ctx.app.jwt.sign({ userId, sessionId }, ctx.app.clock())
  return { token, refreshToken, expiresAt }
}

/** Whoever calls this has checked who it is; a suspended user gets in by no way. */
export const signIn = write(
  'accounts.signIn',
  anyone,
  async (ctx, { userId, ...how }: SessionStart & { userId: string }): Promise<SignedIn> => {
    const [user] = await ctx.db
      .select(visible)
      .from(users)
      .where(and(eq(users.id, userId), eq(users.status, 'active')))
    if (!user) throw wrong()
    const answer = await startSession(ctx, user, how)
    ctx.emit('user.signed_in', { subjectId: user.id, userId: user.id, data: { via: how.via, userAgent: ctx.userAgent } })
    return answer
  },
)

const noteFailure = write('accounts.noteFailure', anyone, async (ctx, { userId }: { userId: string | null }): Promise<void> => {
  ctx.emit('auth.sign_in_failed', { subjectId: userId ?? undefined, userId })
})

const wrong = () => new AppError('unauthenticated', 'E-mail address or password is wrong.')
const FAILURES = 5
const FAILURE_WINDOW = 15 * 60

export const login = flow('accounts.login', anyone, async (ctx, { email, password }: Login): Promise<SignedIn> => {
  const { app } = ctx
  const account = `login:${hashSecret(email.toLowerCase())}`
  await countAttempt(app.driver, `login-from:${networkOf(ctx.ip)}`, app.config.RATE_LIMIT_LOGIN, 60, app.clock(), 'sign-in attempts')
  await countGuess(app.driver, account, FAILURES, FAILURE_WINDOW, app.clock(), 'failed sign-ins for this account')
  const [user] = await ctx.db.select({ id: users.id, hash: users.passwordHash, status: users.status }).from(users).where(sameEmail(email))
  const right = await verifyPassword(password, user?.hash)
  if (!right || !user || user.status !== 'active') {
    await noteFailure(ctx, { userId: user?.id ?? null })
    throw wrong()
  }
  await forgetAttempts(app.driver, account)
  return signIn(ctx, { userId: user.id, via: 'password' })
})

const rotate = write('accounts.rotate', anyone, async (ctx, { hash }: { hash: string }): Promise<SignedIn | 'unknown' | 'reused'> => {
  // One statement decides who may use it: of two refreshes at once, one wins and the other counts as reuse.
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
  if (!fresh) {
    if (!found.usedAt) return 'unknown'
    await revoke(ctx, found.sessionId, found.userId, 'refresh token used twice')
    return 'reused'
  }
  const [user] = await ctx.db
    .select(visible)
    .from(users)
    .where(and(eq(users.id, found.userId), eq(users.status, 'active')))
  if (!user) return 'unknown'
  ctx.emit('user.refreshed', { subjectId: user.id, userId: user.id })
  return { ...(await newTokens(ctx, user.id, found.sessionId)), user }
})

export const refresh = flow('accounts.refresh', anyone, async (ctx, { refreshToken }: Refresh): Promise<SignedIn> => {
  const answer = refreshToken && kindOf(refreshToken) === 'refresh' ? await rotate(ctx, { hash: hashSecret(refreshToken) }) : 'unknown'
  if (answer === 'reused')
    throw new AppError('unauthenticated', 'This refresh token was used before, so the session has been ended. Sign in again.')
  if (answer === 'unknown') throw new AppError('unauthenticated', 'The refresh token is not valid. Sign in again.')
  return answer
})

async function revoke(ctx: Ctx, sessionId: string, userId: string, reason: string): Promise<void> {
  await ctx.db.update(loginSessions).set({ revokedAt: ctx.now }).where(eq(loginSessions.id, sessionId))
  ctx.emit('session.revoked', { subjectId: sessionId, userId, data: { reason } })
}

/** Whoever had a way in loses it: sessions, API keys, MCP tokens. */
async function endCredentials(ctx: Ctx, userId: string): Promise<void> {
  for (const table of [loginSessions, apiKeys, mcpTokens] as const)
    await ctx.db
      .update(table)
      .set({ revokedAt: ctx.now })
      .where(and(eq(table.userId, userId), isNull(table.revokedAt)))
}

export const logout = write(
  'accounts.logout',
  signedIn,
  async (ctx, _: Record<string, never>): Promise<{ id: string; revoked: 'session' }> => {
    const id = ctx.actor.credentialId as string
    await revoke(ctx, id, userIdOf(ctx.actor), 'signed out')
    return { id, revoked: 'session' }
  },
)

// ---- the caller

export const me = read('accounts.me', account('account:read'), async (ctx, _: Record<string, never>): Promise<User> => {
  const [user] = await ctx.db
    .select(visible)
    .from(users)
    .where(eq(users.id, userIdOf(ctx.actor)))
  if (!user) throw new AppError('unauthenticated', 'This account no longer exists.')
  return user
})

export const role = read(
  'accounts.role',
  account('account:read'),
  async (ctx, _: Record<string, never>): Promise<{ role: 'user' | 'admin' }> => ({
    role: ctx.actor.admin ? 'admin' : 'user',
  }),
)

export const updateProfile = write(
  'accounts.updateProfile',
  account('account:write'),
  async (ctx, patch: ProfilePatch): Promise<User> => {
    const before = await me(ctx, {})
    checkVersion(ctx, before)
    if (patch.timezone && !knownTimeZone(patch.timezone))
      throw invalid('/timezone', `${patch.timezone} is not a time zone; use one like Europe/Berlin.`)
    if (patch.handle !== undefined && patch.handle !== before.handle) {
      const [taken] = await ctx.db
        .select({ id: users.id })
        .from(users)
        .where(eq(sql`lower(${users.handle})`, patch.handle))
      if (taken) throw new AppError('conflict.exists', `The handle ${patch.handle} is taken.`)
    }
    const user = await changeVersioned(ctx, users, {
      columns: visible,
      before,
      set: patch.name === undefined ? patch : { ...patch, name: patch.name.trim() },
      what: 'your profile',
      again: () => me(ctx, {}),
    })
    ctx.emit('user.updated', { subjectId: before.id, userId: before.id, data: { fields: Object.keys(patch) } })
    return user
  },
  { versioned: true },
)

const knownTimeZone = (zone: string): boolean => {
  try {
    return !!new Intl.DateTimeFormat('en', { timeZone: zone })
  } catch {
    return false
  }
}
