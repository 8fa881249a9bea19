import { expect } from 'bun:test'
import { eq } from 'drizzle-orm'
import { type Ctx, contextOf, write } from '../../src/action.ts'
import { anonymous } from '../../src/auth/actor.ts'
import { issueCode } from '../../src/auth/one-time-secrets.ts'
import { anyone } from '../../src/auth/policy.ts'
import { newId } from '../../src/db/columns.ts'
import type { Problem } from '../../src/errors.ts'
import type { HoldingCounts } from '../../src/features/accounts/hooks.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import { signIn, startImpersonation } from '../../src/features/accounts/sessions.ts'
import { connectedAccounts } from '../../src/features/oauth/table.ts'
import { passkeys } from '../../src/features/passkeys/table.ts'
import type { User } from '../../src/features/users/schema.ts'
import { users } from '../../src/features/users/table.ts'
import {
  type Answer,
  anyoneCtx,
  apiKey,
  call,
  mcpToken,
  PASSWORD,
  type Person,
  person,
  type TestApp,
  unique,
} from '../support/app.ts'
import { codeIn, kept, keptMail, linkSecretIn } from '../support/mail.ts'

export const NEW_PASSWORD = 'seven quiet lamps at dusk'

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
export const me = (t: TestApp, token: string) => call<User>(t, 'GET', '/api/auth/me', undefined, bearer(token))
export const post = <T = Record<string, unknown>>(
  t: TestApp,
  path: string,
  body: unknown,
  token?: string,
): Promise<Answer<T>> => call<T>(t, 'POST', `/api/auth/${path}`, body, token ? bearer(token) : {})
export const login = (t: TestApp, email: string, password = PASSWORD) => post<SignedIn>(t, 'login', { email, password })
export const refresh = (t: TestApp, refreshToken: string) => post<SignedIn>(t, 'refresh', { refreshToken })
export const newAddress = (): string => `${unique('new')}@example.com`

/** The secret of the newest kept mail of this kind. */
export const linkTo = async (t: TestApp, email: string, kind: string): Promise<string> =>
  linkSecretIn(await keptMail(t, email, kind))

export async function resetLink(t: TestApp, email: string): Promise<string> {
  expect((await post(t, 'forgot-password', { email })).body).toEqual(kept)
  return linkTo(t, email, 'reset')
}

/** Requests a change of address, and returns the secret in the mail to the new one. */
export async function changeLink(t: TestApp, who: { token: string }, email: string): Promise<string> {
  expect((await post(t, 'email-change', { email }, who.token)).body).toEqual(kept)
  return linkTo(t, email, 'email_change')
}

/** Confirms the address as the holder of the mailbox would. */
export async function proveAddress(t: TestApp, who: { email: string; token: string }): Promise<void> {
  expect(
    (await post(t, 'verify-email', { token: await linkTo(t, who.email, 'verify_email') }, who.token)).body,
  ).toEqual({ verified: true })
}

export async function provedPerson(t: TestApp): Promise<Person> {
  const who = await person(t)
  await proveAddress(t, who)
  return who
}

export const userRow = async (t: TestApp, id: string) =>
  (await t.app.db.select().from(users).where(eq(users.id, id)))[0]

// ---- ways in

interface Credentials {
  jwt: string
  refreshToken: string
  key: string
  mcp: string
  device: SignedIn
}

export const deviceSession = (t: TestApp, userId: string): Promise<SignedIn> =>
  signIn(anyoneCtx(t), { userId, via: 'device', device: 'tutti on laptop' })

export async function everyCredential(t: TestApp, who: Person): Promise<Credentials> {
  const { body } = await login(t, who.email)
  return {
    jwt: body.token,
    refreshToken: body.refreshToken,
    key: await apiKey(t, who),
    mcp: await mcpToken(t, who),
    device: await deviceSession(t, who.userId),
  }
}

/** The status of each: what the refresh tokens would give is asked last, because asking uses them up. */
export async function statusOf(t: TestApp, { jwt, refreshToken, key, mcp, device }: Credentials) {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  return {
    jwt: (await me(t, jwt)).status,
    key: (await me(t, key)).status,
    mcp: (await call(t, 'POST', '/mcp', ping, { ...bearer(mcp), accept: 'application/json, text/event-stream' }))
      .status,
    device: (await me(t, device.token)).status,
    refresh: (await refresh(t, refreshToken)).status,
    deviceRefresh: (await refresh(t, device.refreshToken)).status,
  }
}

export const allOpen = { jwt: 200, key: 200, mcp: 200, device: 200, refresh: 200, deviceRefresh: 200 }
export const allClosed = { jwt: 401, key: 401, mcp: 401, device: 401, refresh: 401, deviceRefresh: 401 }

export const addPasskey = async (t: TestApp, userId: string): Promise<void> => {
  const now = t.app.clock().toISOString()
  await t.app.db.insert(passkeys).values({
    userId,
    name: 'phone',
    credentialId: unique('credential'),
    publicKey: 'AAAA',
    counter: 0,
    transports: [],
    backedUp: false,
    createdAt: now,
    updatedAt: now,
  })
}
export const addIdentity = async (t: TestApp, userId: string): Promise<void> => {
  const now = t.app.clock().toISOString()
  await t.app.db
    .insert(connectedAccounts)
    .values({ userId, provider: 'github', subject: unique('subject'), createdAt: now, updatedAt: now })
}
export const otherLogins = async (t: TestApp, userId: string): Promise<number> =>
  (await t.app.db.$count(passkeys, eq(passkeys.userId, userId))) +
  (await t.app.db.$count(connectedAccounts, eq(connectedAccounts.userId, userId)))

// ---- what other features do

const inWrite = <I, O>(work: (ctx: Ctx, input: I) => Promise<O>) => write('test.step', anyone, work)

const code = inWrite((ctx, { email, userId }: { email: string; userId: string }) => issueCode(ctx, email, userId))
export const mailedCode = (t: TestApp, who: Person): Promise<string> =>
  code(anyoneCtx(t), { email: who.email, userId: who.userId })

const impersonate = inWrite(async (ctx, { userId, by }: { userId: string; by: string }) => {
  const [row] = await ctx.db.select().from(users).where(eq(users.id, userId))
  return startImpersonation(ctx, row as User, by)
})
/** The token of an administrator who acts as this person. */
export const impersonation = async (t: TestApp, userId: string, by: string = newId()): Promise<string> =>
  (await impersonate(contextOf(t.app, anonymous), { userId, by })).token

/** A device, a key and an impersonator: they act for a person without being that person at a browser. */
export async function substitutesOf(
  t: TestApp,
  who: Person,
): Promise<Record<'device' | 'key' | 'impersonator', Person['fetch']>> {
  const admin = await person(t, { admin: true })
  const acting = await admin.fetch<{ token: string }>('POST', `/api/admin/users/${who.userId}/impersonate`, {
    reason: 'ticket 42',
  })
  const as =
    (token: string): Person['fetch'] =>
    (method, path, body, headers = {}) =>
      call(t, method, path, body, { ...bearer(token), ...headers })
  return {
    device: as((await deviceSession(t, who.userId)).token),
    key: as(await apiKey(t, who)),
    impersonator: as(acting.body.token),
  }
}

// ---- an account whose address was not confirmed

/** The answer of a sign-in that asks who created the account. */
export type Asked = Answer<Problem & { ticket: string; holds: HoldingCounts }>

/** The cookies that an answer sets, as the same browser sends them back. */
export const browserOf = ({ headers }: Pick<Answer<unknown>, 'headers'>): Record<string, string> => ({
  cookie: headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; '),
})

/** Signs in by a code, and gets the question who created the account. */
export async function askByCode(t: TestApp, who: { email: string }): Promise<Asked> {
  expect((await post(t, 'otp/send', { email: who.email })).status).toBe(200)
  const code = codeIn(await keptMail(t, who.email, 'code'))
  return (await post(t, 'otp/verify', { email: who.email, code })) as unknown as Asked
}

type Choice = { password: string } | { keep: true } | { remove: true } | Record<never, never>

/** Answers that question in the same browser. */
export const answerAsked = (t: TestApp, asked: Asked, choice: Choice, headers: Record<string, string> = {}) =>
  call<SignedIn & Problem>(
    t,
    'POST',
    '/api/auth/confirm-account',
    { ticket: asked.body.ticket, ...choice },
    { ...browserOf(asked), ...headers },
  )
