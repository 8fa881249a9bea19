import { eq } from 'drizzle-orm'
import type { Problem } from '../../src/errors.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import type { ConnectedAccountPage, Provider } from '../../src/features/oauth/schema.ts'
import { users } from '../../src/features/users/table.ts'
import { call, type Person, type TestApp, testApp, unique } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { type FakeProvider, fakeCodeHost, fakeIssuer, type Subject } from '../support/providers.ts'
import { Visitor } from '../support/visitor.ts'
import { watch } from './support.ts'

/** Three fake providers, and an app that trusts them. */
export const at: Record<Provider, FakeProvider> = {
  github: fakeCodeHost(),
  google: await fakeIssuer('google'),
  oidc: await fakeIssuer('oidc'),
}
export const settings = { ...at.github.settings, ...at.google.settings, ...at.oidc.settings, background: 'off' }
export const t = watch(await testApp(settings))
atEnd(() => t.close())

export const page = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
export const asJson = { accept: 'application/json' }
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
export const somebody = (over: Partial<Subject> = {}): Subject & { email: string } =>
  ({
    sub: String(Math.floor(Math.random() * 1e12)),
    email: `${unique('ada')}@example.com`,
    verified: true,
    name: 'Ada Lovelace',
    ...over,
  }) as Subject & { email: string }

export interface Came {
  status: number
  body: SignedIn & Problem
  headers: Headers
  location: string | null
}
export interface How {
  app?: TestApp
  query?: string
  /** Headers of the request that starts. */
  headers?: Record<string, string>
  /** Headers of the callback. */
  accept?: Record<string, string>
  meanwhile?: () => Promise<unknown>
}

/** Signs in with the provider as this subject, from start to callback. */
export async function come(
  provider: Provider,
  subject: Subject,
  { app = t, query = '', headers = {}, accept, meanwhile }: How = {},
): Promise<Came> {
  const visitor = new Visitor()
  const start = await visitor.get(`${app.app.url}/api/auth/oauth/${provider}${query}`, headers)
  if (start.status !== 302) throw new Error(`${start.status} ${await start.text()}`)
  at[provider].subject = subject
  const back = await visitor.next(start.headers.get('location') as string)
  await meanwhile?.()
  const response = await visitor.get(back, accept ?? { accept: 'application/json' })
  const text = await response.text()
  const body = (text ? JSON.parse(text) : {}) as SignedIn & Problem
  return { status: response.status, body, headers: response.headers, location: response.headers.get('location') }
}
export const link = (who: Person, provider: Provider, subject: Subject, how: How = {}) =>
  come(provider, subject, {
    query: '?link=1&returnTo=/settings/accounts',
    headers: bearer(who.token),
    accept: {},
    ...how,
  })
export const connected = async (token: string) =>
  (await call<ConnectedAccountPage>(t, 'GET', '/api/settings/connected-accounts', undefined, bearer(token))).body.items
export const prove = (userId: string) =>
  t.app.db.update(users).set({ emailVerifiedAt: new Date().toISOString() }).where(eq(users.id, userId))
