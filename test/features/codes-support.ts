import { eq } from 'drizzle-orm'
import { createApp } from '../../src/app.ts'
import { hashSecret, newSecret } from '../../src/auth/secrets.ts'
import { newId } from '../../src/db/columns.ts'
import type { Driver, Queryable } from '../../src/db/driver.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import { invites } from '../../src/features/invites/table.ts'
import { loginSessions, users } from '../../src/features/users/table.ts'
import { createLog } from '../../src/log.ts'
import { startHttp } from '../../src/server/server.ts'
import { type Answer, call, type Person, type TestApp, unique } from '../support/app.ts'
import { codeIn, keptMail, linkSecretIn } from '../support/mail.ts'

type Headers = Record<string, string>

export const newAddress = (name = 'eve'): string => `${unique(name)}@example.com`
export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })

export const sendCode = (t: TestApp, email: string, headers: Headers = {}) =>
  call(t, 'POST', '/api/auth/otp/send', { email }, headers)
export const verifyCode = (t: TestApp, email: string, code: string, headers: Headers = {}) =>
  call<SignedIn>(t, 'POST', '/api/auth/otp/verify', { email, code }, headers)

/** Requests a code and reads it, as an administrator of a server without mail would. */
export async function codeFor(t: TestApp, email: string): Promise<string> {
  await sendCode(t, email)
  return codeIn(await keptMail(t, email, 'code'))
}

/** Another code than this one. */
export const wrongCode = (code: string, by = 1): string => String((Number(code) + by) % 1_000_000).padStart(6, '0')

export const sendLink = (t: TestApp, email: string, headers: Headers = {}) =>
  call(t, 'POST', '/api/auth/magic-link/send', { email }, headers)
export const verifyLink = (t: TestApp, token: string, headers: Headers = {}) =>
  call<SignedIn>(t, 'POST', '/api/auth/magic-link/verify', { token }, headers)
export const exchangeLink = (t: TestApp, token: string, headers: Headers = {}) =>
  call<{ email: string; code: string; expiresAt: string }>(t, 'POST', '/api/auth/magic-link/code', { token }, headers)

/** Name and value, as the browser sends it back. */
export const cookieFrom = (answer: Answer<unknown>): Headers => ({
  cookie: answer.headers.getSetCookie()[0]?.split(';')[0] as string,
})

export async function linkFor(t: TestApp, email: string): Promise<{ token: string; browser: Headers }> {
  const browser = cookieFrom(await sendLink(t, email))
  return { token: linkSecretIn(await keptMail(t, email, 'magic_link')), browser }
}

export const prove = (t: TestApp, { userId }: Person): Promise<unknown> =>
  t.app.db.update(users).set({ emailVerifiedAt: new Date().toISOString() }).where(eq(users.id, userId))

export const suspend = (t: TestApp, { userId }: Person): Promise<unknown> =>
  t.app.db.update(users).set({ status: 'suspended' }).where(eq(users.id, userId))

export const sessionsOf = (t: TestApp, userId: string) =>
  t.app.db
    .select({ via: loginSessions.via, revokedAt: loginSessions.revokedAt })
    .from(loginSessions)
    .where(eq(loginSessions.userId, userId))

/** An invite as a row; how one is made is another feature's business. */
export async function invite(
  t: TestApp,
  by: Person,
  email: string,
  over: Partial<typeof invites.$inferInsert> = {},
): Promise<void> {
  const now = t.app.clock()
  await t.app.db.insert(invites).values({
    id: newId(),
    createdAt: now.toISOString(),
    updatedAt: now.toISOString(),
    organizationId: by.organizationId,
    email,
    role: 'member',
    hash: hashSecret(newSecret('invite')),
    invitedById: by.userId,
    expiresAt: new Date(now.getTime() + 86_400_000).toISOString(),
    ...over,
  })
}

/** A server on the same database that records every statement it sends. */
export async function recordingApp(t: TestApp): Promise<TestApp & { statements: string[] }> {
  const statements: string[] = []
  const recorded = <T extends Queryable>(on: T): T =>
    new Proxy(on, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as unknown
        if (typeof value !== 'function') return value
        const method = value.bind(target) as (...args: unknown[]) => unknown
        if (name === 'begin') return async () => recorded((await method()) as Queryable)
        if (name !== 'query') return method
        return (text: string, ...rest: unknown[]) => {
          statements.push(text)
          return method(text, ...rest)
        }
      },
    })
  const log = createLog('error', () => undefined, false)
  const app = await createApp(t.app.config, { driver: recorded<Driver>(t.app.driver), log, background: false })
  const server = startHttp(app, { checkAnswers: true })
  return {
    app,
    server,
    statements,
    url: `http://127.0.0.1:${server.port}`,
    close: async () => {
      await server.stop(100)
      await app.close()
    },
  }
}
