import { eq, sql } from 'drizzle-orm'
import { checkVersion, flow, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt, networkOf } from '../../auth/limits.ts'
import { checkPassword, hashPassword } from '../../auth/passwords.ts'
import { account, anyone, machine } from '../../auth/policy.ts'
import { hashSecret, isSameSecret, newSecret, secretKind } from '../../auth/secrets.ts'
import { meta } from '../../db/table.ts'
import { AppError, invalid } from '../../errors.ts'
import { updateVersioned } from '../../records/rows.ts'
import * as members from '../organizations/members.ts'
import { userRoleChanged, userUpdated } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { byEmail, userColumns } from '../users/service.ts'
import { users } from '../users/table.ts'
import { sendVerification } from './emails.ts'
import { mayRegister, onRegistered } from './hooks.ts'
import { provePassword } from './password-proof.ts'
import {
  countRegistration,
  endCredentials,
  insertUser,
  type NewUser,
  removeOtherMethods,
  requireOpenRegistration,
} from './people.ts'
import type { Login, ProfilePatch, Register, Setup, SignedIn } from './schema.ts'
import { signIn, startSession } from './sessions.ts'

// ---- signing up

/** Creates an account and signs in. The caller has checked the right to register. */
export const addUser = write(
  'accounts.add',
  anyone,
  async (ctx, { inviteToken, ...input }: NewUser & { inviteToken?: string }): Promise<SignedIn> => {
    const user = await insertUser(ctx, input)
    if (inviteToken !== undefined) await onRegistered.call(ctx, { user, inviteToken })
    if (!user.emailVerifiedAt) await sendVerification(ctx, user)
    return startSession(ctx, user, { via: 'password' })
  },
)

export const register = flow(
  'accounts.register',
  anyone,
  async (ctx, { email, password, name, inviteToken }: Register): Promise<SignedIn> => {
    const [invited] = inviteToken === undefined ? [] : await mayRegister.call(ctx, { email, inviteToken })
    if (!invited) await requireOpenRegistration(ctx)
    checkPassword(password, { email, name })
    if (!invited) await countRegistration(ctx)
    return addUser(ctx, {
      email,
      name,
      passwordHash: await hashPassword(password),
      role: 'user',
      emailVerified: invited?.provesMailbox ?? false,
      inviteToken,
    })
  },
)

/** Creates an administrator, or makes an existing user one with a new password, so that operators regain access. */
const storeAdmin = write('accounts.putAdmin', machine, async (ctx, input: NewUser): Promise<User> => {
  // There is an administrator now, so the printed set-up link must stop working.
  await ctx.db.delete(meta).where(eq(meta.key, 'setup'))
  const known = await byEmail(ctx, input.email)
  if (!known) return insertUser(ctx, input)
  const [user] = await ctx.db
    .update(users)
    .set({
      role: 'admin',
      status: 'active',
      passwordHash: input.passwordHash,
      // The operator vouches for the address.
      emailVerifiedAt: known.emailVerifiedAt ?? ctx.now,
      updatedAt: ctx.now,
      version: sql`${users.version} + 1`,
    })
    .where(eq(users.id, known.id))
    .returning(userColumns)
  await endCredentials(ctx, known.id)
  // A stranger who created the account with this address must not become administrator with it.
  if (!known.emailVerifiedAt) {
    await removeOtherMethods(ctx, known.id)
    await members.reclaimPersonal(ctx, known.id)
  }
  ctx.emit(userRoleChanged, { subjectId: known.id, userId: known.id, data: { role: 'admin' } })
  return user as User
})

/** Marks the address as confirmed: the operator vouches for it. */
export const createAdmin = flow(
  'accounts.createAdmin',
  machine,
  async (ctx, { email, password, name }: Register): Promise<User> => {
    checkPassword(password, { email, name, admin: true })
    return storeAdmin(ctx, {
      email,
      name,
      passwordHash: await hashPassword(password),
      role: 'admin',
      emailVerified: true,
    })
  },
)

// ---- the first administrator

export const firstAdmin = read(
  'accounts.firstAdmin',
  machine,
  async (ctx, _: Record<string, never>): Promise<string | null> => {
    const [admin] = await ctx.db
      .select({ id: users.id })
      .from(users)
      .where(eq(users.role, 'admin'))
      .orderBy(users.createdAt)
      .limit(1)
    return admin?.id ?? null
  },
)

export const firstUser = read(
  'accounts.firstUser',
  machine,
  async (ctx, _: Record<string, never>): Promise<string | null> => {
    const [user] = await ctx.db.select({ email: users.email }).from(users).orderBy(users.createdAt).limit(1)
    return user?.email ?? null
  },
)

/** Returns whether there is an administrator: every set-up link is used up then. */
export const isSetUp = read('accounts.isSetUp', anyone, async (ctx, _: Record<string, never>): Promise<boolean> => {
  const found = await ctx.db.select({ id: users.id }).from(users).where(eq(users.role, 'admin')).limit(1)
  return found.length > 0
})

/** Creates a one-time token for the set-up link; an earlier one stops working. */
export const issueSetupToken = write(
  'accounts.issueSetupToken',
  machine,
  async (ctx, _: Record<string, never>): Promise<string> => {
    const token = newSecret('setup')
    const value = hashSecret(token)
    await ctx.db.insert(meta).values({ key: 'setup', value }).onConflictDoUpdate({ target: meta.key, set: { value } })
    return token
  },
)

const useSetupToken = write(
  'accounts.useSetupToken',
  anyone,
  async (ctx, { token, ...user }: NewUser & { token: string }): Promise<SignedIn> => {
    const [row] = await ctx.db.delete(meta).where(eq(meta.key, 'setup')).returning({ hash: meta.value })
    const [admin] = await ctx.db.select({ id: users.id }).from(users).where(eq(users.role, 'admin')).limit(1)
    if (!row || admin || !isSameSecret(row.hash, hashSecret(token))) throw usedSetupLinkError()
    return startSession(ctx, await insertUser(ctx, user), { via: 'setup' })
  },
)

const usedSetupLinkError = () =>
  new AppError(
    'gone',
    'This set-up link was already used or replaced. Restart the server to get a new one, or create the administrator ' +
      'on the command line.',
    { next: [{ command: 'tutti admin create' }] },
  )

export const setup = flow(
  'accounts.setup',
  anyone,
  async (ctx, { token, email, password, name }: Setup): Promise<SignedIn> => {
    if (secretKind(token) !== 'setup') throw usedSetupLinkError()
    checkPassword(password, { email, name, admin: true })
    await countAttempt(ctx.app.driver, `setup:${networkOf(ctx.ip)}`, 10, 3600, ctx.app.clock(), 'set-up attempts')
    return useSetupToken(ctx, {
      token,
      email,
      name,
      passwordHash: await hashPassword(password),
      role: 'admin',
      emailVerified: true,
    })
  },
)

// ---- signing in

export const login = flow('accounts.login', anyone, async (ctx, input: Login): Promise<SignedIn> => {
  return signIn(ctx, { ...(await provePassword(ctx, input)), via: 'password' })
})

// ---- the caller

export const me = read('accounts.me', account('account:read'), async (ctx, _: Record<string, never>): Promise<User> => {
  const [user] = await ctx.db
    .select(userColumns)
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
    if (patch.timezone && !isTimeZone(patch.timezone))
      throw invalid('/timezone', `${patch.timezone} is not a time zone. Use a name such as Europe/Berlin.`)
    if (patch.handle !== undefined && patch.handle !== before.handle) {
      const [taken] = await ctx.db
        .select({ id: users.id })
        .from(users)
        .where(eq(sql`lower(${users.handle})`, patch.handle))
      if (taken) throw new AppError('conflict.exists', `The handle ${patch.handle} is taken. Choose another one.`)
    }
    const user = await updateVersioned(ctx, users, {
      columns: userColumns,
      before,
      set: patch.name === undefined ? patch : { ...patch, name: patch.name.trim() },
      what: 'your profile',
      again: () => me(ctx, {}),
    })
    ctx.emit(userUpdated, { subjectId: before.id, userId: before.id, data: { fields: Object.keys(patch) } })
    return user
  },
  { versioned: true },
)

/** `updateProfile` under a second route: operation ids must be unique. */
export const updateSettingsProfile = write(
  'accounts.updateSettingsProfile',
  account('account:write'),
  (ctx, patch: ProfilePatch): Promise<User> => updateProfile(ctx, patch),
  { versioned: true },
)

const isTimeZone = (zone: string): boolean => {
  try {
    return !!new Intl.DateTimeFormat('en', { timeZone: zone })
  } catch {
    return false
  }
}
