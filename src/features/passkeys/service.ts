import { and, eq, lt } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, anyone, person, recent } from '../../auth/policy.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { countSignIn } from '../accounts/people.ts'
import type { SignedIn } from '../accounts/schema.ts'
import * as accounts from '../accounts/service.ts'
import { signIn } from '../accounts/sessions.ts'
import { lockSession, notifyNewMethod, requireSignInMethod } from '../accounts/sign-in-methods.ts'
import { oneLine } from '../mail/message.ts'
import { notify } from '../notifications/service.ts'
import { signInFailed } from '../users/events.ts'
import {
  authenticationOptions,
  checkSize,
  type NewCredential,
  registrationOptions,
  verifyAuthentication,
  verifyRegistration,
} from './ceremony.ts'
import { issueChallenge, useChallenge } from './challenges.ts'
import { passkeyCreated, passkeyDeleted, passkeyRefused, passkeyUpdated } from './events.ts'
import type {
  AuthenticationBegin,
  AuthenticationBegun,
  AuthenticationFinish,
  Passkey,
  PasskeyPage,
  PasskeyPatch,
  PasskeyQuery,
  RegistrationBegun,
  RegistrationFinish,
} from './schema.ts'
import { passkeys } from './table.ts'

const MOST = 50

const visible = {
  id: passkeys.id,
  createdAt: passkeys.createdAt,
  updatedAt: passkeys.updatedAt,
  version: passkeys.version,
  name: passkeys.name,
  transports: passkeys.transports,
  backedUp: passkeys.backedUp,
  lastUsedAt: passkeys.lastUsedAt,
}

// ---- adding a passkey

const isOwnPasskey = (ctx: Ctx) => eq(passkeys.userId, userIdOf(ctx.actor))

export const beginRegistration = flow(
  'passkeys.beginRegistration',
  recent(5),
  async (ctx, _: Record<string, never>): Promise<RegistrationBegun> => {
    const user = await accounts.me(ctx, {})
    const known = await ctx.db
      .select({ credentialId: passkeys.credentialId, transports: passkeys.transports })
      .from(passkeys)
      .where(isOwnPasskey(ctx))
    const options = await registrationOptions(ctx.app, user, known)
    return {
      sessionId: await issueChallenge(ctx, { ceremony: 'passkey_register', challenge: options.challenge }),
      options,
    }
  },
)

const storePasskey = write(
  'passkeys.add',
  person,
  async (ctx, { name, ...credential }: NewCredential & { name: string }): Promise<Passkey> => {
    const user = await lockSession(ctx, ctx.actor.credentialId as string)
    if ((await ctx.db.$count(passkeys, isOwnPasskey(ctx))) >= MOST)
      throw new AppError('conflict', `You already have ${MOST} passkeys. Remove some first.`)
    const [made] = await ctx.db
      .insert(passkeys)
      .values({ ...credential, name, userId: user.id, createdAt: ctx.now, updatedAt: ctx.now })
      .onConflictDoNothing()
      .returning(visible)
    if (!made) throw new AppError('conflict.exists', 'This passkey is already registered.')
    ctx.emit(passkeyCreated, { subjectId: made.id, userId: user.id, data: { name } })
    await notifyNewMethod(ctx, user, `You can now sign in with the passkey “${oneLine(name)}”.`)
    return made
  },
)

export const finishRegistration = flow(
  'passkeys.finishRegistration',
  person,
  async (ctx, { sessionId, name = 'Passkey', response }: RegistrationFinish): Promise<Passkey> => {
    checkSize(response)
    const challenge = await useChallenge(ctx, { ceremony: 'passkey_register', sessionId })
    const credential = await verifyRegistration(ctx.app, challenge, response)
    if (!credential)
      throw invalid(
        '/response',
        `The passkey could not be verified. Start again in a browser, at ${ctx.app.url}`,
        'not_verified',
      )
    return storePasskey(ctx, { ...credential, name: name.trim() })
  },
)

// ---- signing in

/** Ignores the address: a response that depends on it would reveal who has an account. */
export const beginAuthentication = flow(
  'passkeys.beginAuthentication',
  anyone,
  async (ctx, _: AuthenticationBegin): Promise<AuthenticationBegun> => {
    const options = await authenticationOptions(ctx.app)
    return {
      sessionId: await issueChallenge(ctx, { ceremony: 'passkey_login', challenge: options.challenge }),
      options,
    }
  },
)

const noteFailure = write(
  'passkeys.noteFailure',
  anyone,
  async (ctx, { userId }: { userId: string | null }): Promise<void> => {
    ctx.emit(signInFailed, { subjectId: userId ?? undefined, userId, data: { via: 'passkey' } })
  },
)

interface PasskeyUse {
  id: string
  userId: string
  counter: number
  backedUp: boolean
}

/**
 * Signs in, or returns undefined if the counter decreased: an error would roll back the event and the notification.
 */
const usePasskey = write(
  'passkeys.use',
  anyone,
  async (ctx, { id, userId, counter, backedUp }: PasskeyUse): Promise<SignedIn | undefined> => {
    // Many authenticators do not count and always send 0.
    const onward = counter === 0 ? eq(passkeys.counter, 0) : lt(passkeys.counter, counter)
    const [used] = await ctx.db
      .update(passkeys)
      .set({ counter, backedUp, lastUsedAt: ctx.now })
      .where(and(eq(passkeys.id, id), onward))
      .returning({ id: passkeys.id })
    if (used) return signIn(ctx, { userId, via: 'passkey' })
    const [before] = await ctx.db
      .select({ name: passkeys.name, counter: passkeys.counter })
      .from(passkeys)
      .where(eq(passkeys.id, id))
    if (!before) throw refusedError()
    ctx.emit(passkeyRefused, { subjectId: id, userId, data: { reason: 'counter', counter, known: before.counter } })
    await notify(ctx, {
      userId,
      type: 'error',
      reason: 'security',
      title: 'A passkey was refused',
      message:
        `Someone used “${oneLine(before.name)}” or a copy of it: its counter decreased. ` +
        'If this was not you, remove the passkey.',
      link: '/settings/passkeys',
    })
    return undefined
  },
)

const refusedError = () =>
  new AppError(
    'unauthenticated',
    'This passkey does not belong to an account on this server. Start again, or sign in another way.',
  )

export const finishAuthentication = flow(
  'passkeys.finishAuthentication',
  anyone,
  async (ctx, { sessionId, response }: AuthenticationFinish): Promise<SignedIn> => {
    checkSize(response)
    await countSignIn(ctx)
    const challenge = await useChallenge(ctx, { ceremony: 'passkey_login', sessionId })
    const [passkey] = await ctx.db
      .select({
        id: passkeys.id,
        userId: passkeys.userId,
        credentialId: passkeys.credentialId,
        publicKey: passkeys.publicKey,
      })
      .from(passkeys)
      .where(eq(passkeys.credentialId, String(response.id)))
    const proof = passkey && (await verifyAuthentication(ctx.app, challenge, response, passkey))
    if (!proof) {
      await noteFailure(ctx, { userId: passkey?.userId ?? null })
      throw refusedError()
    }
    const signedIn = await usePasskey(ctx, { id: passkey.id, userId: passkey.userId, ...proof })
    if (!signedIn)
      throw new AppError('unauthenticated', 'This passkey may be a copy: its counter decreased. Sign in another way.')
    return signedIn
  },
)

// ---- managing passkeys

export const list = read(
  'passkeys.list',
  account('account:read'),
  async (ctx, query: PasskeyQuery): Promise<PasskeyPage> => {
    const page = keyset({ createdAt: passkeys.createdAt, name: passkeys.name }, passkeys.id, query, {
      sort: 'createdAt',
    })
    const rows = await ctx.db
      .select(visible)
      .from(passkeys)
      .where(page.where(isOwnPasskey(ctx)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(passkeys, isOwnPasskey(ctx)) : undefined)
  },
)

async function findPasskey(ctx: Ctx, id: string): Promise<Passkey> {
  const [found] = await ctx.db
    .select(visible)
    .from(passkeys)
    .where(and(eq(passkeys.id, id), isOwnPasskey(ctx)))
  if (!found) throw notFound('passkey', id)
  return found
}

export const rename = write(
  'passkeys.rename',
  recent(5),
  async (ctx, { id, name }: PasskeyPatch & { id: string }): Promise<Passkey> => {
    const before = await findPasskey(ctx, id)
    checkVersion(ctx, before)
    const set = { name: name.trim() }
    const after = await updateVersioned(ctx, passkeys, {
      columns: visible,
      before,
      set,
      what: 'this passkey',
      again: () => findPasskey(ctx, id),
    })
    ctx.emit(passkeyUpdated, { subjectId: id, userId: userIdOf(ctx.actor), data: { name: after.name } })
    return after
  },
  { versioned: true },
)

export const remove = write(
  'passkeys.remove',
  recent(5),
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const userId = userIdOf(ctx.actor)
    const [removed] = await ctx.db
      .delete(passkeys)
      .where(and(eq(passkeys.id, id), isOwnPasskey(ctx)))
      .returning({ name: passkeys.name })
    if (!removed) throw notFound('passkey', id)
    await requireSignInMethod(ctx, userId)
    ctx.emit(passkeyDeleted, { subjectId: id, userId, data: { name: removed.name } })
    return { id, deleted: true }
  },
  { destructive: true },
)
