import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Problem } from '../../src/errors.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import type { ConnectedAccountPage, Provider, SignInWays } from '../../src/features/oauth/schema.ts'
import { connectedAccounts } from '../../src/features/oauth/table.ts'
import { call, logged, sharedApp, testApp, unique } from '../support/app.ts'
import { kept } from '../support/mail.ts'
import { type Fault, realProvider } from '../support/providers.ts'
import { allowing } from '../support/timing.ts'
import { Visitor } from '../support/visitor.ts'
import { asJson, at, page, somebody, t } from './oauth-support.ts'
import { expectEvents, expectNoEvents, statuses, TestClock, times, watch } from './support.ts'

/** Trusts no provider. */
const bare = watch(await sharedApp())

const startAt = (provider: Provider, query = '', app = t) => `${app.app.url}/api/auth/oauth/${provider}${query}`

/** Goes there and is sent back: the address of the callback, not yet visited. */
async function goThere(
  provider: Provider,
  visitor = new Visitor(),
  query = '',
  app = t,
): Promise<{ back: string; visitor: Visitor }> {
  return { back: await visitor.next(await visitor.next(startAt(provider, query, app))), visitor }
}
async function signIn(provider: Provider, headers: Record<string, string> = asJson, query = ''): Promise<Response> {
  const { back, visitor } = await goThere(provider, new Visitor(), query)
  return visitor.get(back, headers)
}
const bodyOf = async (response: Response) => (await response.json()) as SignedIn & Problem
const refusal = async (response: Response, status: number, code: string): Promise<Problem> => {
  const body = await bodyOf(response)
  expect({ status: response.status, code: body.code }).toEqual({ status, code: code as Problem['code'] })
  expect(response.headers.getSetCookie().filter((c) => /tutti_(access|refresh)=/.test(c))).toEqual([])
  return body
}

describe('sign-in providers', () => {
  test('are listed for the login page', async () => {
    const all: SignInWays = {
      password: true,
      code: true,
      magicLink: true,
      passkey: true,
      registration: 'open',
      mail: kept,
      oauth: ['github', 'google', 'oidc'],
    }
    expect((await call<SignInWays>(t, 'GET', '/api/auth/providers')).body).toEqual(all)
    expect((await call<SignInWays>(bare, 'GET', '/api/auth/providers')).body).toEqual({ ...all, oauth: [] })
    const closed = await testApp({ REGISTRATION: 'closed', ...at.google.settings, background: 'off' })
    expect((await call<SignInWays>(closed, 'GET', '/api/auth/providers')).body).toMatchObject({
      registration: 'closed',
      oauth: ['google'],
    })
    await closed.close()
  })

  test.each<Provider>(['github', 'google', 'oidc'])(
    '%s is refused at both ends if it is not configured',
    async (provider) => {
      for (const query of ['', '?link=1'])
        expect((await refusal(await fetch(startAt(provider, query, bare)), 404, 'not_found')).detail).toContain(
          'is not set up',
        )
      // Switched off between going and coming back.
      at[provider].subject = somebody()
      const { back, visitor } = await goThere(provider)
      const there = new URL(back)
      const cookie = [...visitor.cookies(back)].map((c) => c.join('=')).join('; ')
      await refusal(
        await fetch(`${bare.app.url}${there.pathname}${there.search}`, { headers: { cookie } }),
        404,
        'not_found',
      )
      expect((await visitor.get(back)).status).toBe(302)
    },
  )

  test('are only the known ones', async () => {
    await refusal(await fetch(`${t.url}/api/auth/oauth/evil`), 422, 'invalid')
  })
})

describe.each<Provider>(['github', 'google', 'oidc'])('signing in with %s', (provider) => {
  test('sends state, nonce, an S256 challenge and our own address, whatever the request says', async () => {
    const visitor = new Visitor()
    const asked = new URL(await visitor.next(startAt(provider).replace('localhost', '127.0.0.1')))
    expect(asked.origin).toBe(at[provider].url)
    const query = Object.fromEntries(asked.searchParams)
    expect(query).toMatchObject({
      response_type: 'code',
      redirect_uri: `${t.app.url}/api/auth/oauth/${provider}/callback`,
      state: expect.stringMatching(/^svc_one_\w{38}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      ...(provider !== 'github' && { nonce: expect.stringMatching(/^[\w-]{43}$/), scope: 'openid email profile' }),
    })
    const response = await new Visitor().get(startAt(provider))
    expect(response.status).toBe(302)
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^tutti_oauth=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/),
    ])
  })

  test('creates an account and finds it the next time', async () => {
    const who = somebody()
    at[provider].subject = who
    const first = await signIn(provider)
    expect(first.status).toBe(200)
    const { user, token } = await bodyOf(first)
    expect(user).toMatchObject({ email: who.email, name: 'Ada Lovelace', role: 'user' })
    expect(user.emailVerifiedAt).toBeString()
    const fired = await expectEvents(t, first, 'user.registered', 'connected_account.created', 'user.signed_in')
    expect(fired[2]).toMatchObject({ userId: user.id, data: { via: provider } })
    expect((await call(t, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${token}` })).status).toBe(200)

    // Another name and address there: the same person, whose account here stays as it is.
    at[provider].subject = { ...who, email: `${unique('new')}@example.com`, name: 'Countess' }
    const second = await signIn(provider)
    expect((await bodyOf(second)).user).toMatchObject({ id: user.id, email: who.email, name: 'Ada Lovelace' })
    await expectEvents(t, second, 'user.signed_in')
    const headers = { authorization: `Bearer ${token}` }
    const { items } = (
      await call<ConnectedAccountPage>(t, 'GET', '/api/settings/connected-accounts', undefined, headers)
    ).body
    expect(items).toMatchObject([{ provider, email: at[provider].subject.email, name: 'Countess', version: 2 }])
  })

  test('redirects the browser to its page, with session cookies and no secret in the address', async () => {
    at[provider].subject = somebody()
    const response = await signIn(provider, page, '?returnTo=/device%3Fcode%3DABCD-EFGH')
    expect(response.status).toBe(302)
    expect(response.headers.get('location')).toBe('/device?code=ABCD-EFGH')
    const cookies = response.headers.getSetCookie()
    expect(cookies.map((c) => c.split('=')[0])).toEqual(['tutti_access', 'tutti_refresh', 'tutti_here', 'tutti_oauth'])
    expect(cookies[3]).toContain('Max-Age=0')
    const me = await fetch(`${t.url}/api/auth/me`, { headers: { cookie: cookies[0]?.split(';')[0] as string } })
    expect(me.status).toBe(200)
    expect((await signIn(provider, page)).headers.get('location')).toBe('/')
  })

  test('stores the tokens sealed, and shows them nowhere', async () => {
    at[provider].subject = somebody()
    at[provider].issued.length = 0
    const answer = await (await signIn(provider)).text()
    const { user, token } = JSON.parse(answer) as SignedIn
    const listed = await call(t, 'GET', '/api/settings/connected-accounts', undefined, {
      authorization: `Bearer ${token}`,
    })
    const [row] = await t.app.db.select().from(connectedAccounts).where(eq(connectedAccounts.userId, user.id))
    expect(JSON.parse(t.app.seal.open(row?.sealed as string) as string)).toMatchObject({
      accessToken: at[provider].issued[0],
    })
    const { rows } = await t.app.driver.query(
      'select row_to_json(c)::text from connected_accounts c where user_id = $1',
      [user.id],
    )
    const shown = [answer, JSON.stringify(listed.body), String(rows), logged.join('\n')].join('\n')
    expect(at[provider].issued).toHaveLength(2)
    for (const secret of at[provider].issued) expect(shown).not.toContain(secret)
    expect(JSON.stringify(listed.body)).not.toMatch(/sealed|token|subject/i)
  })

  test.each<[string, Fault, string]>([
    ['the person says no', { error: 'access_denied' }, 'access_denied'],
    ['something fails there', { error: 'server_error<script>' }, 'provider_error'],
  ])('returns the browser to the sign-in page when %s', async (_, fault, reason) => {
    at[provider].fault = fault
    try {
      const response = await signIn(provider, {})
      expect([response.status, response.headers.get('location')]).toEqual([302, `/login#error=${reason}`])
      expect(response.headers.getSetCookie().filter((c) => c.startsWith('tutti_access'))).toEqual([])
      await refusal(await signIn(provider), 403, 'forbidden')
    } finally {
      at[provider].fault = {}
    }
  })
})

describe('the OAuth state', () => {
  test('is refused with 400 if missing, invented, used, or of another browser or provider', async () => {
    at.github.subject = somebody()
    const { back, visitor } = await goThere('github')
    const url = new URL(back)
    const without = new URL(back)
    without.searchParams.delete('state')
    const madeUp = new URL(back)
    madeUp.searchParams.set('state', (await goThere('github')).back.match(/state=(\w+)/)?.[1] as string)
    const tries: [string, Visitor][] = [
      [without.href, visitor],
      [back.replace(/state=\w+/, 'state=x'), visitor],
      [madeUp.href, visitor],
      [back, new Visitor()],
      [back, (await goThere('github')).visitor],
      [back.replace('/github/', '/google/'), visitor],
      [`${url.origin}${url.pathname}`, visitor],
      [`${url.origin}${url.pathname}?error=access_denied`, visitor],
    ]
    for (const [address, browser] of tries) {
      // A visitor of a page gets the same error: there is nothing to go back to.
      for (const headers of [asJson, page]) {
        const response = await browser.get(address, headers)
        await expectNoEvents(t, response)
        await refusal(response, 400, 'invalid.malformed')
      }
    }
    // None of it has used up the right one, which works once.
    expect((await visitor.get(back)).status).toBe(302)
    await refusal(await visitor.get(back, asJson), 400, 'invalid.malformed')
  })

  test('prevents login CSRF: an attacker’s answer does not sign a victim in as the attacker', async () => {
    at.google.subject = somebody()
    const attacker = await goThere('google')
    const victim = new Visitor()
    // The victim may even be signing in at the same moment.
    await victim.next(startAt('google'))
    await refusal(await victim.get(attacker.back, page), 400, 'invalid.malformed')
    expect(victim.cookies(t.app.url).has('tutti_access')).toBe(false)
  })

  test.each<Provider>(['github', 'google', 'oidc'])(
    'makes a code of %s stolen from another browser useless, because the verifier differs',
    async (provider) => {
      at[provider].subject = somebody()
      const victim = await goThere(provider)
      const thief = await goThere(provider)
      const stolen = new URL(thief.back)
      stolen.searchParams.set('code', new URL(victim.back).searchParams.get('code') as string)
      await refusal(await thief.visitor.get(stolen.href, asJson), 400, 'invalid.malformed')
    },
  )

  test('works for one of twenty simultaneous callbacks', async () => {
    at.github.subject = somebody()
    const { back, visitor } = await goThere('github')
    const answers = await Promise.all(times(20, () => visitor.get(back, asJson)))
    expect(statuses(answers)).toEqual([200, ...times(19, () => 400)])
  })

  test('expires after ten minutes', async () => {
    const clock = new TestClock()
    const own = await testApp({ ...at.github.settings, background: 'off' }, clock.now)
    at.github.subject = somebody()
    const [early, late] = [await goThere('github', undefined, '', own), await goThere('github', undefined, '', own)]
    clock.forward({ minutes: 9, seconds: 59 })
    expect((await early.visitor.get(early.back, asJson)).status).toBe(200)
    clock.forward({ seconds: 1 })
    await refusal(await late.visitor.get(late.back, asJson), 400, 'invalid.malformed')
    await own.close()
  })

  test('and the verifier are not stored in clear text', async () => {
    const { back, visitor } = await goThere('github')
    const { rows } = await t.app.driver.query(
      `select row_to_json(s)::text from one_time_secrets s where purpose = 'oauth'`,
    )
    const [state, mark] = [
      new URL(back).searchParams.get('state') as string,
      visitor.cookies(back).get('tutti_oauth') as string,
    ]
    for (const secret of [state, mark]) expect(rows.join()).not.toContain(secret)
    expect(rows.join()).not.toMatch(/"verifier":\s*"[\w-]{43}"/)
  })
})

describe('the page after sign-in', () => {
  test.each(['/settings/accounts', '/projects/tutti/board', '/device?code=ABCD-EFGH', '/a.b/c_d~e?x=1&y=%20z'])(
    'can be %p, a path of this server',
    async (path) => {
      at.github.subject = somebody()
      expect((await signIn('github', page, `?returnTo=${encodeURIComponent(path)}`)).headers.get('location')).toBe(path)
    },
  )

  test.each(['github', 'google', 'oidc'] as const)(
    'is /welcome for a new account from %s, and the dashboard later',
    async (provider) => {
      at[provider].subject = somebody()
      for (const path of ['/welcome', '/'])
        expect((await signIn(provider, page, '?returnTo=/')).headers.get('location')).toBe(path)
    },
  )

  test.each([
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https://evil.example',
    'evil.example',
    'javascript:alert(1)',
    '/%2f%2fevil.example',
    '%2f%2fevil.example',
    '/%5cevil.example',
    '/../..//evil.example',
    '/./evil',
    '/a//evil.example',
    '/\tevil',
    '/\r\nset-cookie: a=b',
    '/a\u0000b',
    '/@evil.example',
    '/;//evil.example',
    '/api/auth/oauth/github?link=1',
    '/api',
    '',
    ' /account',
    '/account#error=x',
    `/${'a'.repeat(500)}`,
  ])('cannot be %p', async (path) => {
    const answer = await refusal(
      await fetch(startAt('github', `?returnTo=${encodeURIComponent(path)}`)),
      422,
      'invalid',
    )
    expect(answer.errors).toMatchObject([{ pointer: '/returnTo' }])
    const encodedTwice = encodeURIComponent(encodeURIComponent(path))
    if (path && !/^[a-z.]+$/.test(path))
      await refusal(await fetch(startAt('github', `?returnTo=${encodedTwice}`)), 422, 'invalid')
  })

  test('is checked quickly even for a malicious path', async () => {
    const started = performance.now()
    for (const path of [`/${'a/'.repeat(240)}!`, `/${'a.'.repeat(240)}!`, `/${'-'.repeat(480)}\\`])
      expect((await fetch(startAt('github', `?returnTo=${encodeURIComponent(path)}`))).status).toBe(422)
    expect(performance.now() - started).toBeLessThan(allowing(1000))
  })
})

describe('a faulty provider', () => {
  const faulty = async (provider: Provider, fault: Fault, headers = asJson) => {
    const { back, visitor } = await goThere(provider)
    at[provider].fault = fault
    try {
      return await visitor.get(back, headers)
    } finally {
      at[provider].fault = {}
    }
  }

  test.each<[string, Fault]>([
    ['a nonce that was not asked for', { nonce: 'another' }],
    ['an identity token for somebody else', { audience: 'another-client' }],
    ['an identity token of another issuer', { issuer: 'https://evil.example' }],
    ['a signature of another key', { forged: true }],
    ['an identity token that has expired', { expires: -60 }],
    ['an error at every request', { all: 'error' }],
  ])('with %s is refused with 502', async (_, fault) => {
    const who = somebody()
    for (const provider of ['google', 'oidc'] as const) {
      at[provider].subject = who
      const problem = await refusal(await faulty(provider, fault), 502, 'upstream_failed')
      expect(problem.detail).not.toMatch(/nonce|audience|access-|127\.0\.0\.1/)
      const response = await faulty(provider, fault, page as never)
      expect([response.status, response.headers.get('location')]).toEqual([302, '/login#error=upstream_failed'])
    }
    expect(
      (
        await call(t, 'POST', '/api/auth/register', {
          email: who.email,
          password: 'violet anchor prefers rain',
          name: 'A',
        })
      ).status,
    ).toBe(201)
  })

  test.each<[string, unknown]>([
    ['no list', { message: 'rate limited' }],
    ['what is no address', [{ email: 'not an address', primary: true, verified: true }]],
  ])('that is a code host and answers %s signs no one in', async (_, emails) => {
    at.github.subject = somebody()
    expect((await faulty('github', { emails })).status).toBeGreaterThanOrEqual(409)
  })

  test('that cannot be found causes 502, a message on the page, and a new attempt the next time', async () => {
    const own = await testApp({ ...at.oidc.settings, background: 'off' })
    at.oidc.fault = { all: 'error' }
    const start = startAt('oidc', '', own)
    await refusal(await fetch(start, { headers: asJson }), 502, 'upstream_failed')
    const response = await fetch(start, { headers: page, redirect: 'manual' })
    expect(response.headers.get('location')).toBe('/login?next=%2F#error=upstream_failed')
    at.oidc.fault = {}
    expect((await fetch(start, { redirect: 'manual' })).status).toBe(302)
    // Found once, it is not asked again.
    at.oidc.asked.length = 0
    await fetch(start, { redirect: 'manual' })
    expect(at.oidc.asked).toEqual([])
    await own.close()
  })

  test('that does not answer causes 504 after ten seconds', async () => {
    at.google.subject = somebody()
    await refusal(await faulty('google', { all: 'silence' }), 504, 'upstream_timeout')
  })

  test('that calls itself by another issuer is refused', async () => {
    const other = at.oidc.url.replace('127.0.0.1', 'localhost')
    const own = await testApp({ ...at.oidc.settings, AUTH_BACKEND_URL: other, background: 'off' })
    await refusal(await fetch(startAt('oidc', '', own), { headers: asJson }), 502, 'upstream_failed')
    await own.close()
  })

  test('is not asked for a code that another issuer’s answer contains', async () => {
    at.google.subject = somebody()
    const { back, visitor } = await goThere('google')
    at.google.asked.length = 0
    await refusal(
      await visitor.get(`${back}&iss=${encodeURIComponent('https://evil.example')}`, asJson),
      502,
      'upstream_failed',
    )
    expect(at.google.asked).toEqual([])
  })
})

test('a real OpenID provider signs a user in after consent, and does not after a refusal', async () => {
  const real = await realProvider()
  const own = watch(await testApp({ ...real.settings, background: 'off' }))
  real.serve(own.app.url)
  const name = unique('real')
  const visitor = new Visitor()
  const login = await visitor.next(await visitor.next(startAt('oidc', '', own)))
  const consent = await visitor.next(await visitor.next(login, { prompt: 'login', login: name, password: 'x' }))
  const back = await visitor.next(await visitor.next(consent, { prompt: 'consent' }))
  expect(back).toStartWith(`${own.app.url}/api/auth/oauth/oidc/callback?code=`)
  const answer = await visitor.get(back, asJson)
  expect(answer.status).toBe(200)
  expect((await bodyOf(answer)).user).toMatchObject({ email: `${name}@example.com`, name: 'Real Person' })

  const other = new Visitor()
  const asked = await other.next(await other.next(startAt('oidc', '', own)))
  const refused = await other.next(await other.next(`${asked}/abort`))
  expect((await other.get(refused, page)).headers.get('location')).toBe('/login#error=access_denied')
  await own.close()
})
