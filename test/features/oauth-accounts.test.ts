import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Problem } from '../../src/errors.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import { users } from '../../src/features/accounts/table.ts'
import { invites } from '../../src/features/invites/table.ts'
import type { ConnectedAccountPage, Provider } from '../../src/features/oauth/schema.ts'
import type { Passkey } from '../../src/features/passkeys/schema.ts'
import type { ApiKeyCreated, McpTokenCreated } from '../../src/features/tokens/schema.ts'
import { apiKey, call, PASSWORD, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { Authenticator } from '../support/authenticator.ts'
import { keptMail } from '../support/mail.ts'
import { type FakeProvider, fakeCodeHost, fakeIssuer, type Subject, Visitor } from '../support/providers.ts'
import { expectEvents, expectRefusal, failure, statuses, TestClock, times, watch } from './support.ts'

/** Whose an identity is: accounts found, made, taken over and connected. Three providers that say what they are told. */
let t: TestApp
let at: Record<Provider, FakeProvider>
const settings = () => ({ ...at.github.settings, ...at.google.settings, ...at.oidc.settings, background: 'off' })
beforeAll(async () => {
  at = { github: fakeCodeHost(), google: await fakeIssuer('google'), oidc: await fakeIssuer('oidc') }
  t = watch(await testApp(settings()))
})
afterAll(() => t.close())

const page = { accept: 'text/html,*/*;q=0.8' }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const somebody = (over: Partial<Subject> = {}): Subject & { email: string } =>
  ({
    sub: String(Math.floor(Math.random() * 1e12)),
    email: `${unique('ada')}@example.com`,
    verified: true,
    name: 'Ada Lovelace',
    ...over,
  }) as Subject & { email: string }

interface Came {
  status: number
  body: SignedIn & Problem
  headers: Headers
  location: string | null
}
interface How {
  app?: TestApp
  query?: string
  /** Of the one who starts. */
  headers?: Record<string, string>
  /** Of the one who comes back. */
  accept?: Record<string, string>
  meanwhile?: () => Promise<unknown>
}

/** The whole way, as this person there. */
async function come(
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
const link = (who: Person, provider: Provider, subject: Subject, how: How = {}) =>
  come(provider, subject, { query: '?link=1&returnTo=/account', headers: bearer(who.token), accept: {}, ...how })
const connected = async (token: string) =>
  (await call<ConnectedAccountPage>(t, 'GET', '/api/settings/connected-accounts', undefined, bearer(token))).body.items
const prove = (userId: string) => t.app.db.update(users).set({ emailVerifiedAt: new Date().toISOString() }).where(eq(users.id, userId))
const userRow = async (email: string) => (await t.app.db.select().from(users).where(eq(users.email, email)))[0]
const me = (token: string) => call(t, 'GET', '/api/auth/me', undefined, bearer(token))

describe('a new identity', () => {
  test('with a proved address gets an account whose address is proved; otherwise one whose address is not', async () => {
    const proved = await come('google', somebody())
    expect(proved.body.user.emailVerifiedAt).toBeString()
    for (const verified of [false, undefined]) {
      const { body } = await come('google', somebody({ verified }))
      expect(body.user.emailVerifiedAt).toBeNull()
    }
    const there = await come('github', somebody({ verified: false }))
    expect(there.body.user.emailVerifiedAt).toBeNull()
  })

  test('without an address gets none, and is told what to do', async () => {
    for (const provider of ['github', 'google'] as const) {
      const answer = await come(provider, somebody({ email: undefined }))
      expect([answer.status, answer.body.code]).toEqual([409, 'conflict'])
      expect(answer.body.detail).toContain('e-mail address')
      await expectEvents(t, answer, 'oauth.recall')
    }
  })

  test('is the same person in five tabs at once', async () => {
    const who = somebody()
    const answers = await Promise.all(times(5, () => come('github', who)))
    expect(statuses(answers)).toEqual(times(5, () => 200))
    expect(new Set(answers.map((a) => a.body.user.id)).size).toBe(1)
  })

  test('is the same subject of another provider, and another person', async () => {
    const sub = '4242424242'
    const first = await come('google', somebody({ sub }))
    const second = await come('oidc', somebody({ sub }))
    expect(second.body.user.id).not.toBe(first.body.user.id)
  })

  test('where registration is closed: only with an open invitation for a proved address', async () => {
    const closed = watch(await testApp({ ...settings(), REGISTRATION: 'closed' }))
    const who = somebody()
    const refused = await come('google', who, { app: closed })
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    expect((await come('google', who, { app: closed, accept: page })).location).toBe('/login#error=forbidden')
    expect(await userRow(who.email)).toBeUndefined()

    const owner = await person(t)
    const invite = async (email: string, over: object = {}) => {
      const at = new Date().toISOString()
      const [expiresAt, hash] = [new Date(Date.now() + 86_400_000).toISOString(), unique('hash')]
      const values = {
        organizationId: owner.organizationId,
        email: email.toUpperCase(),
        role: 'member' as const,
        hash,
        expiresAt,
        createdAt: at,
        updatedAt: at,
      }
      await t.app.db.insert(invites).values({ ...values, ...over })
    }
    const past = new Date(Date.now() - 1000).toISOString()
    for (const over of [{ expiresAt: past }, { closedAt: past }, { acceptedAt: past }]) {
      const late = somebody()
      await invite(late.email, over)
      expect((await come('google', late, { app: closed })).status).toBe(403)
    }
    const unproved = somebody({ verified: false })
    await invite(unproved.email)
    expect((await come('google', unproved, { app: closed })).status).toBe(403)
    await invite(who.email)
    expect((await come('google', who, { app: closed })).status).toBe(200)
    // Once in, always in.
    expect((await come('google', who, { app: closed })).status).toBe(200)
    await closed.close()
  })

  test('counts as a registration of its network', async () => {
    const few = await testApp({ ...settings(), RATE_LIMIT_REGISTER: '2' })
    await t.app.driver.query(`delete from counters where key like 'register:%'`)
    const who = somebody()
    expect((await come('google', who, { app: few })).status).toBe(200)
    expect((await come('google', somebody(), { app: few })).status).toBe(200)
    expect((await come('google', somebody(), { app: few })).status).toBe(429)
    expect((await come('google', who, { app: few })).status).toBe(200)
    await few.close()
    await t.app.driver.query(`delete from counters where key like 'register:%'`)
  })
})

describe('an address that has an account', () => {
  test('proved on both sides: the identity is connected, and the owner is told', async () => {
    const ada = await person(t)
    await prove(ada.userId)
    const answer = await come('google', somebody({ email: ada.email.toUpperCase() }))
    expect(answer.body.user.id).toBe(ada.userId)
    await expectEvents(t, answer, 'oauth.recall', 'connected_account.created', 'notification.created', 'user.signed_in')
    expect((await keptMail(t, ada.email, 'new_way_in')).text).toContain('Your account at Google can be used to sign in')
    // What she had stays hers.
    expect((await me(ada.token)).status).toBe(200)
    expect((await call(t, 'POST', '/api/auth/login', { email: ada.email, password: PASSWORD })).status).toBe(200)
  })

  test.each([false, undefined])('not proved by the provider (%p): 409, and nothing is connected', async (verified) => {
    const ada = await person(t)
    for (const local of ['unproved', 'proved']) {
      if (local === 'proved') await prove(ada.userId)
      const answer = await come('google', somebody({ email: ada.email, verified }))
      expect([answer.status, answer.body.code]).toEqual([409, 'conflict.exists'])
      expect(answer.body.detail).toContain('Sign in another way and connect Google in your account')
      expect(answer.headers.getSetCookie().filter((c) => /tutti_(access|refresh)/.test(c))).toEqual([])
      await expectEvents(t, answer, 'oauth.recall')
    }
    expect(await connected(ada.token)).toEqual([])
    const browser = await come('google', somebody({ email: ada.email, verified }), { accept: page })
    expect([browser.status, browser.location]).toEqual([302, '/login#error=conflict.exists'])
  })

  test('never proved here: whoever made the account loses everything he set up', async () => {
    const squatter = await person(t)
    const secret = await apiKey(t, squatter)
    const answer = await come('github', somebody({ email: squatter.email }))
    expect(answer.body.user).toMatchObject({ id: squatter.userId, email: squatter.email })
    expect(answer.body.user.emailVerifiedAt).toBeString()
    expect((await me(squatter.token)).status).toBe(401)
    expect((await call(t, 'POST', '/api/auth/refresh', { refreshToken: squatter.refreshToken })).status).toBe(401)
    expect((await me(secret)).status).toBe(401)
    expect((await call(t, 'POST', '/api/auth/login', { email: squatter.email, password: PASSWORD })).status).toBe(401)
    expect((await me(answer.body.token)).status).toBe(200)
  })

  test('a second identity of the same provider does not get in by the address', async () => {
    const ada = somebody()
    const first = await come('google', ada)
    const other = await come('google', somebody({ email: ada.email }))
    expect([other.status, other.body.code]).toEqual([409, 'conflict.exists'])
    expect(await connected(first.body.token)).toHaveLength(1)
  })

  test('a suspended account stays shut, whichever way', async () => {
    const [ada, grace] = [somebody(), somebody()]
    await come('google', ada)
    const { userId } = await person(t).then(async (p) => {
      await t.app.db.update(users).set({ email: grace.email }).where(eq(users.id, p.userId))
      return p
    })
    await prove(userId)
    for (const { email } of [ada, grace]) await t.app.db.update(users).set({ status: 'suspended' }).where(eq(users.email, email))
    for (const [who, provider] of [
      [ada, 'google'],
      [ada, 'oidc'],
      [grace, 'google'],
    ] as const) {
      const answer = await come(provider, who)
      expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated'])
      await expectEvents(t, answer, 'oauth.recall')
    }
  })

  test('a password that is locked by guessing locks no provider', async () => {
    const ada = await person(t)
    await prove(ada.userId)
    const guess = (password: string) => call(t, 'POST', '/api/auth/login', { email: ada.email, password })
    for (let i = 0; i < 6; i++) await guess('not the password at all')
    expect((await guess(PASSWORD)).status).toBe(429)
    expect((await come('github', somebody({ email: ada.email }))).body.user.id).toBe(ada.userId)
  })
})

test('an address in the request counts for nothing, in whatever field', async () => {
  const victim = await person(t)
  await prove(victim.userId)
  const fields = ['scope', 'session_state', 'hd', 'prompt', 'authuser', 'error_description', 'error_uri', 'error_subcode', 'client_info']
  for (const name of [...fields, 'email', 'login_hint', 'user', 'id_token', 'sub']) {
    const visitor = new Visitor()
    const own = somebody()
    at.google.subject = own
    const back = await visitor.next(await visitor.next(`${t.app.url}/api/auth/oauth/google`))
    const answer = await visitor.get(`${back}&${name}=${encodeURIComponent(victim.email)}`, { accept: 'application/json' })
    if (fields.includes(name)) expect(((await answer.json()) as SignedIn).user.email).toBe(own.email)
    else expect([name, answer.status]).toEqual([name, 422])
  }
  expect(await connected(victim.token)).toEqual([])
})

/** The script of CVE-2026-44166: an account is made with a victim's address before the victim comes. */
test('pre-hijack: whatever an attacker prepared, the one who proves the address has the account alone', async () => {
  const victim = somebody()
  const attacker = somebody({ email: victim.email, verified: false })
  const made = await come('oidc', attacker)
  expect(made.status).toBe(200)
  const { token, refreshToken, user } = made.body
  const as = <T>(method: string, path: string, body?: unknown) => call<T>(t, method, path, body, bearer(token))
  const { organizationId } = (await t.app.auth.authenticate(token)) as { organizationId: string }

  // A passkey, a key, a token, a second identity, and three things begun and not finished.
  const key = new Authenticator(t.app.url)
  const begin = async () =>
    (await as<{ sessionId: string; options: Record<string, unknown> }>('POST', '/api/auth/passkey/register/begin', {})).body
  const first = await begin()
  expect(
    (await as<Passkey>('POST', '/api/auth/passkey/register/finish', { sessionId: first.sessionId, response: key.create(first.options) }))
      .status,
  ).toBe(201)
  const secret = (await as<ApiKeyCreated>('POST', '/api/settings/api-keys', { name: 'k' })).body.token as string
  const mcp = (await as<McpTokenCreated>('POST', '/api/mcp-tokens', { name: 'm', organizationId })).body.token as string
  const second = somebody({ email: `${unique('mallory')}@example.com` })
  expect((await link({ token } as Person, 'github', second)).location).toBe('/account')
  const pending = await begin()
  const late = new Visitor()
  const mallory = somebody()
  const lateStart = await late.get(`${t.app.url}/api/auth/oauth/google?link=1`, bearer(token))
  at.google.subject = mallory
  const lateBack = await late.next(lateStart.headers.get('location') as string)

  const proved = await come('google', victim)
  expect(proved.body.user).toMatchObject({ id: user.id, email: victim.email })
  expect(await connected(proved.body.token)).toMatchObject([{ provider: 'google', email: victim.email }])

  expect((await me(token)).status).toBe(401)
  expect((await call(t, 'POST', '/api/auth/refresh', { refreshToken })).status).toBe(401)
  expect((await me(secret)).status).toBe(401)
  expect(await failure(t.app.auth.authenticate(mcp))).toMatchObject({ code: 'unauthenticated' })
  expect(
    (
      await as('POST', '/api/auth/passkey/register/finish', {
        sessionId: pending.sessionId,
        response: new Authenticator(t.app.url).create(pending.options),
      })
    ).status,
  ).toBe(401)
  expect((await late.get(lateBack, bearer(token))).status).toBe(400)
  const login = (await call<{ sessionId: string; options: Record<string, unknown> }>(t, 'POST', '/api/auth/passkey/authenticate/begin', {}))
    .body
  expect(
    (await call(t, 'POST', '/api/auth/passkey/authenticate/finish', { sessionId: login.sessionId, response: key.get(login.options) }))
      .status,
  ).toBe(401)
  // The identities with which he came are strangers again.
  expect((await come('oidc', attacker)).status).toBe(409)
  expect((await come('github', second)).body.user.id).not.toBe(user.id)
  expect(await connected(proved.body.token)).toHaveLength(1)
  expect((await t.app.driver.query('select count(*)::int from passkeys where user_id = $1', [user.id])).rows[0]?.[0]).toBe(0)
})

describe('connecting an identity to the own account', () => {
  test('is done by whoever is signed in, shown, told, and then a way in', async () => {
    const ada = await person(t)
    await prove(ada.userId)
    const elsewhere = somebody({ verified: false })
    const answer = await link(ada, 'github', elsewhere)
    expect([answer.status, answer.location]).toEqual([302, '/account'])
    expect(answer.headers.getSetCookie().filter((c) => /tutti_(access|refresh)/.test(c))).toEqual([])
    await expectEvents(t, answer, 'oauth.recall', 'connected_account.created', 'notification.created')
    const [account] = await connected(ada.token)
    expect(Object.keys(account as object).sort()).toEqual([
      'avatarUrl',
      'createdAt',
      'email',
      'id',
      'name',
      'provider',
      'updatedAt',
      'version',
    ])
    expect(account).toMatchObject({ provider: 'github', email: elsewhere.email, avatarUrl: 'https://avatars.example/1' })
    expect((await keptMail(t, ada.email, 'new_way_in')).text).toContain('GitHub')
    expect((await come('github', elsewhere)).body.user.id).toBe(ada.userId)
    // Once more is no harm.
    expect((await link(ada, 'github', elsewhere)).location).toBe('/account')
    expect(await connected(ada.token)).toHaveLength(1)
  })

  test('needs a person who is signed in, has just proved it, and started it here', async () => {
    const clock = new TestClock()
    const own = watch(await testApp(settings(), clock.now))
    const ada = await person(own)
    const start = async (headers: Record<string, string>) => {
      const response = await fetch(`${own.url}/api/auth/oauth/github?link=1`, { headers, redirect: 'manual' })
      const body = (response.status === 302 ? {} : await response.json()) as Record<string, unknown>
      return { status: response.status, headers: response.headers, body, location: response.headers.get('location') }
    }
    await expectRefusal(own, await start({}), 401, 'unauthenticated')
    await expectRefusal(own, await start(bearer(await apiKey(own, ada))), 403, 'forbidden')
    for (const site of ['cross-site', 'same-site'])
      await expectRefusal(own, await start({ ...bearer(ada.token), 'sec-fetch-site': site }), 403, 'forbidden.origin')
    for (const site of ['same-origin', 'none']) expect((await start({ ...bearer(ada.token), 'sec-fetch-site': site })).status).toBe(302)
    clock.forward({ minutes: 5, seconds: 1 })
    await expectRefusal(own, await start(bearer(ada.token)), 403, 'forbidden.reauth')
    expect((await start({ ...bearer(ada.token), ...page })).location).toBe('/login?next=%2Faccount#error=forbidden.reauth')
    await own.close()
  })

  test('is for the session that asked: if it ends meanwhile, nothing is connected', async () => {
    const ada = await person(t)
    const ended = await link(ada, 'github', somebody(), { meanwhile: () => ada.fetch('POST', '/api/auth/logout') })
    expect([ended.status, ended.body.code]).toEqual([401, 'unauthenticated'])
    const { token } = (await call<SignedIn>(t, 'POST', '/api/auth/login', { email: ada.email, password: PASSWORD })).body
    expect(await connected(token)).toEqual([])
  })

  test('an identity belongs to one account, and an account has one of each provider', async () => {
    const [ada, grace] = [await person(t), await person(t)]
    const [one, two] = [somebody(), somebody()]
    expect((await link(ada, 'github', one)).location).toBe('/account')
    const taken = await link(grace, 'github', one)
    expect([taken.status, taken.body.code]).toEqual([409, 'conflict.exists'])
    expect((await link(grace, 'github', one, { accept: page })).location).toBe('/account#error=conflict.exists')
    const second = await link(ada, 'github', two)
    expect([second.status, second.body.code]).toEqual([409, 'conflict.exists'])
    expect(await connected(ada.token)).toMatchObject([{ email: one.email }])
    expect(await connected(grace.token)).toEqual([])
    const both = await Promise.all([link(ada, 'google', two), link(grace, 'google', two)])
    expect(statuses(both)).toEqual([302, 409])
  })
})

describe('disconnecting', () => {
  test('is for the owner, who has just proved who he is', async () => {
    const clock = new TestClock()
    const own = watch(await testApp(settings(), clock.now))
    const [ada, grace] = [await person(own), await person(own)]
    const who = somebody()
    await link(ada, 'github', who, { app: own })
    const path = '/api/settings/connected-accounts/github'
    await expectRefusal(own, await grace.fetch('DELETE', path), 404, 'not_found')
    await expectRefusal(own, await ada.fetch('DELETE', '/api/settings/connected-accounts/evil'), 422, 'invalid')
    clock.forward({ minutes: 5, seconds: 1 })
    await expectRefusal(own, await ada.fetch('DELETE', path), 403, 'forbidden.reauth')
    const { token } = (await come('github', who, { app: own })).body
    const gone = await call(own, 'DELETE', path, undefined, bearer(token))
    expect(gone.body).toEqual({ id: expect.any(String), deleted: true })
    await expectEvents(own, gone, 'connected_account.deleted')
    await expectRefusal(own, await call(own, 'DELETE', path, undefined, bearer(token)), 404, 'not_found')
    await own.close()
  })

  test('the last way to sign in stays', async () => {
    const { token } = (await come('google', somebody({ verified: false }))).body
    const who = { token } as Person
    const remove = (provider: Provider, app = t) =>
      call(app, 'DELETE', `/api/settings/connected-accounts/${provider}`, undefined, bearer(token))
    await expectRefusal(t, await remove('google'), 409, 'conflict.last_way')
    await link(who, 'github', somebody())
    // A provider that is not set up any more lets nobody in.
    const without = watch(await testApp({ ...at.google.settings, background: 'off' }))
    await expectRefusal(without, await remove('google', without), 409, 'conflict.last_way')
    await without.close()
    const both = await Promise.all([remove('google'), remove('github')])
    expect(statuses(both)).toEqual([200, 409])
    expect(await connected(token)).toHaveLength(1)
  })
})
