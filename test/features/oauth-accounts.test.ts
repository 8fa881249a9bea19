import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import { invites } from '../../src/features/invites/table.ts'
import type { Provider } from '../../src/features/oauth/schema.ts'
import type { Passkey } from '../../src/features/passkeys/schema.ts'
import type { ApiKeyCreated, McpTokenCreated } from '../../src/features/tokens/schema.ts'
import { users } from '../../src/features/users/table.ts'
import { apiKey, call, PASSWORD, type Person, person, testApp, unique } from '../support/app.ts'
import { Authenticator, newPasskey } from '../support/authenticator.ts'
import { keptMail } from '../support/mail.ts'
import type { Subject } from '../support/providers.ts'
import { Visitor } from '../support/visitor.ts'
import { type Asked, answerAsked } from './accounts-support.ts'
import { at, bearer, come, connected, link, page, prove, settings, somebody, t } from './oauth-support.ts'
import { expectEvents, expectNoEvents, failure, statuses, times, watch } from './support.ts'

const userRow = async (email: string) => (await t.app.db.select().from(users).where(eq(users.email, email)))[0]
const askAt = async (provider: Provider, subject: Subject): Promise<Asked> => {
  const asked = (await come(provider, subject)) as unknown as Asked
  expect([asked.status, asked.body.code]).toEqual([409, 'conflict.confirm_account'])
  return asked
}
const me = (token: string) => call(t, 'GET', '/api/auth/me', undefined, bearer(token))

describe('signing in with a new identity', () => {
  test('creates an account, whose address is confirmed if the provider confirmed it', async () => {
    const proved = await come('google', somebody())
    expect(proved.body.user.emailVerifiedAt).toBeString()
    for (const verified of [false, undefined]) {
      const { body } = await come('google', somebody({ verified }))
      expect(body.user.emailVerifiedAt).toBeNull()
    }
    const there = await come('github', somebody({ verified: false }))
    expect(there.body.user.emailVerifiedAt).toBeNull()
  })

  test('without an address is refused, with what to do', async () => {
    for (const provider of ['github', 'google'] as const) {
      const answer = await come(provider, somebody({ email: undefined }))
      expect([answer.status, answer.body.code]).toEqual([409, 'conflict'])
      expect(answer.body.detail).toContain('e-mail address')
      await expectNoEvents(t, answer)
    }
  })

  test('in five tabs at once creates one account', async () => {
    const who = somebody()
    const answers = await Promise.all(times(5, () => come('github', who)))
    expect(statuses(answers)).toEqual(times(5, () => 200))
    expect(new Set(answers.map((a) => a.body.user.id)).size).toBe(1)
  })

  test('with the same subject at another provider creates another account', async () => {
    const sub = '4242424242'
    const first = await come('google', somebody({ sub }))
    const second = await come('oidc', somebody({ sub }))
    expect(second.body.user.id).not.toBe(first.body.user.id)
  })

  test('where registration is closed needs an open invitation for a confirmed address', async () => {
    const closed = watch(await testApp({ ...settings, REGISTRATION: 'closed' }))
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
        invitedById: owner.userId,
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
    // The last one is by somebody who could not invite today.
    const outsider = { invitedById: (await person(t)).userId }
    for (const over of [{ expiresAt: past }, { closedAt: past }, { acceptedAt: past }, outsider]) {
      const late = somebody()
      await invite(late.email, over)
      expect((await come('google', late, { app: closed })).status).toBe(403)
    }
    const unproved = somebody({ verified: false })
    await invite(unproved.email)
    expect((await come('google', unproved, { app: closed })).status).toBe(403)
    await invite(who.email)
    expect((await come('google', who, { app: closed })).status).toBe(200)
    expect((await come('google', who, { app: closed })).status).toBe(200)
    await closed.close()
  })

  test('counts as a registration of its network', async () => {
    const few = await testApp({ ...settings, RATE_LIMIT_REGISTER: '2' })
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

describe('signing in with an identity whose address has an account', () => {
  test('connects the identity if both sides confirmed the address, and notifies the owner', async () => {
    const ada = await person(t)
    await prove(ada.userId)
    const answer = await come('google', somebody({ email: ada.email.toUpperCase() }))
    expect(answer.body.user.id).toBe(ada.userId)
    await expectEvents(t, answer, 'connected_account.created', 'notification.created', 'user.signed_in')
    expect((await keptMail(t, ada.email, 'new_way_in')).text).toContain(
      'You can now sign in with your account at Google',
    )
    // What she had stays hers.
    expect((await me(ada.token)).status).toBe(200)
    expect((await call(t, 'POST', '/api/auth/login', { email: ada.email, password: PASSWORD })).status).toBe(200)
  })

  test.each([false, undefined])(
    'returns 409 and connects nothing if the provider did not confirm it (%p)',
    async (verified) => {
      const ada = await person(t)
      for (const local of ['unproved', 'proved']) {
        if (local === 'proved') await prove(ada.userId)
        const answer = await come('google', somebody({ email: ada.email, verified }))
        expect([answer.status, answer.body.code]).toEqual([409, 'conflict.exists'])
        expect(answer.body.detail).toContain('Sign in another way and connect Google in your account')
        expect(answer.headers.getSetCookie().filter((c) => /tutti_(access|refresh)/.test(c))).toEqual([])
        await expectNoEvents(t, answer)
      }
      expect(await connected(ada.token)).toEqual([])
      const browser = await come('google', somebody({ email: ada.email, verified }), { accept: page })
      expect([browser.status, browser.location]).toEqual([302, '/login#error=conflict.exists'])
    },
  )

  test.each(['github', 'google', 'oidc'] as const)(
    'asks who created the account if it is not confirmed here (%s)',
    async (provider) => {
      const ada = await person(t)
      const secret = await apiKey(t, ada)
      const identity = somebody({ email: ada.email })
      const asked = await askAt(provider, identity)
      expect(asked.body.holds).toMatchObject({ password: 1, keys: 1, sessions: 1, identities: 0 })
      expect(asked.headers.getSetCookie().filter((c) => /tutti_(access|refresh)/.test(c))).toEqual([])
      expect(await connected(ada.token)).toEqual([])
      const kept = await answerAsked(t, asked, { password: PASSWORD })
      expect(kept.body.user).toMatchObject({ id: ada.userId, emailVerifiedAt: expect.any(String) })
      for (const token of [ada.token, secret]) expect((await me(token)).status).toBe(200)
      expect(await connected(ada.token)).toMatchObject([{ provider, email: ada.email }])
      expect((await come(provider, identity)).body.user.id).toBe(ada.userId)
    },
  )

  test('redirects a browser to the page that asks, where its ticket works', async () => {
    const ada = await person(t)
    const start = { query: '?returnTo=/inbox', accept: page }
    const { location, headers } = await come('google', somebody({ email: ada.email }), start)
    const [, ticket = ''] = /^\/confirm-account\?next=%2Finbox#(svc_one_\w+)$/.exec(location ?? '') ?? []
    const asked = { status: 409, body: { ticket }, headers } as unknown as Asked
    expect((await answerAsked(t, asked, {})).body.holds).toMatchObject({ password: 1 })
    expect((await answerAsked(t, asked, { remove: true })).body.user.id).toBe(ada.userId)
  })

  test('accepts an identity that the account had before as proof', async () => {
    const ada = await person(t)
    const before = somebody()
    await link(ada, 'github', before)
    const asked = await askAt('google', somebody({ email: ada.email }))
    const { body } = await come('github', before)
    const kept = await answerAsked(t, asked, { keep: true }, bearer(body.token))
    expect([kept.status, kept.body.user?.id]).toEqual([200, ada.userId])
    expect((await connected(ada.token)).map(({ provider }) => provider).sort()).toEqual(['github', 'google'])
  })

  test('does not accept the identity that asks as proof', async () => {
    const ada = await person(t)
    const identity = somebody({ email: ada.email })
    const asked = await askAt('google', identity)
    const again = await askAt('google', identity)
    for (const one of [asked, again]) expect((await answerAsked(t, one, { keep: true })).status).not.toBe(200)
    expect((await me(ada.token)).status).toBe(200)
  })

  test('ends everything that a stranger set up, if the person says that a stranger created it', async () => {
    const squatter = await person(t)
    const secret = await apiKey(t, squatter)
    const answer = await answerAsked(t, await askAt('github', somebody({ email: squatter.email })), { remove: true })
    expect(answer.body.user).toMatchObject({ id: squatter.userId, email: squatter.email })
    expect((await me(squatter.token)).status).toBe(401)
    expect((await call(t, 'POST', '/api/auth/refresh', { refreshToken: squatter.refreshToken })).status).toBe(401)
    expect((await me(secret)).status).toBe(401)
    expect((await call(t, 'POST', '/api/auth/login', { email: squatter.email, password: PASSWORD })).status).toBe(401)
    expect((await me(answer.body.token)).status).toBe(200)
  })

  test('refuses a second identity of the same provider', async () => {
    const ada = somebody()
    const first = await come('google', ada)
    const other = await come('google', somebody({ email: ada.email }))
    expect([other.status, other.body.code]).toEqual([409, 'conflict.exists'])
    expect(await connected(first.body.token)).toHaveLength(1)
  })

  test('is refused for a suspended account in every way', async () => {
    const [ada, grace] = [somebody(), somebody()]
    await come('google', ada)
    const { userId } = await person(t).then(async (p) => {
      await t.app.db.update(users).set({ email: grace.email }).where(eq(users.id, p.userId))
      return p
    })
    await prove(userId)
    for (const { email } of [ada, grace])
      await t.app.db.update(users).set({ status: 'suspended' }).where(eq(users.email, email))
    for (const [who, provider] of [
      [ada, 'google'],
      [ada, 'oidc'],
      [grace, 'google'],
    ] as const) {
      const answer = await come(provider, who)
      expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated'])
      await expectNoEvents(t, answer)
    }
  })

  test('works while the password is locked after wrong guesses', async () => {
    const ada = await person(t)
    await prove(ada.userId)
    const guess = (password: string) => call(t, 'POST', '/api/auth/login', { email: ada.email, password })
    for (let i = 0; i < 6; i++) await guess('not the password at all')
    expect((await guess(PASSWORD)).status).toBe(429)
    expect((await come('github', somebody({ email: ada.email }))).body.user.id).toBe(ada.userId)
  })
})

test('an address in the request is ignored, in whatever field', async () => {
  const victim = await person(t)
  await prove(victim.userId)
  const fields = [
    'scope',
    'session_state',
    'hd',
    'prompt',
    'authuser',
    'error_description',
    'error_uri',
    'error_subcode',
    'client_info',
  ]
  for (const name of [...fields, 'email', 'login_hint', 'user', 'id_token', 'sub']) {
    const visitor = new Visitor()
    const own = somebody()
    at.google.subject = own
    const back = await visitor.next(await visitor.next(`${t.app.url}/api/auth/oauth/google`))
    const answer = await visitor.get(`${back}&${name}=${encodeURIComponent(victim.email)}`, {
      accept: 'application/json',
    })
    if (fields.includes(name)) expect(((await answer.json()) as SignedIn).user.email).toBe(own.email)
    else expect([name, answer.status]).toEqual([name, 422])
  }
  expect(await connected(victim.token)).toEqual([])
})

/** The script of CVE-2026-44166: an account is made with a victim's address before the victim comes. */
test('pre-hijack: an attacker keeps nothing they prepared once the owner of the address says so', async () => {
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
    (await as<{ sessionId: string; options: Record<string, unknown> }>('POST', '/api/auth/passkey/register/begin', {}))
      .body
  const first = await begin()
  expect(
    (
      await as<Passkey>('POST', '/api/auth/passkey/register/finish', {
        sessionId: first.sessionId,
        response: key.create(first.options),
      })
    ).status,
  ).toBe(201)
  const secret = (await as<ApiKeyCreated>('POST', '/api/settings/api-keys', { name: 'k' })).body.token as string
  const mcp = (await as<McpTokenCreated>('POST', '/api/mcp-tokens', { name: 'm', organizationId })).body.token as string
  const second = somebody({ email: `${unique('mallory')}@example.com` })
  expect((await link({ token } as Person, 'github', second)).location).toBe('/settings/accounts')
  const pending = await begin()
  const late = new Visitor()
  const mallory = somebody()
  const lateStart = await late.get(`${t.app.url}/api/auth/oauth/google?link=1`, bearer(token))
  at.google.subject = mallory
  const lateBack = await late.next(lateStart.headers.get('location') as string)

  const asked = await askAt('google', victim)
  // Nothing ends before the victim has answered, and nothing of theirs reaches the attacker.
  expect((await me(token)).status).toBe(200)
  expect(await connected(token)).toHaveLength(2)
  expect(asked.body.holds).toMatchObject({ password: 0, passkeys: 1, keys: 1, tokens: 1, sessions: 1, identities: 2 })
  const proved = await answerAsked(t, asked, { remove: true })
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
  const login = (
    await call<{ sessionId: string; options: Record<string, unknown> }>(
      t,
      'POST',
      '/api/auth/passkey/authenticate/begin',
      {},
    )
  ).body
  expect(
    (
      await call(t, 'POST', '/api/auth/passkey/authenticate/finish', {
        sessionId: login.sessionId,
        response: key.get(login.options),
      })
    ).status,
  ).toBe(401)
  // The identities they used are unknown again.
  expect((await come('oidc', attacker)).status).toBe(409)
  expect((await come('github', second)).body.user.id).not.toBe(user.id)
  expect(await connected(proved.body.token)).toHaveLength(1)
  expect(
    (await t.app.driver.query('select count(*)::int from passkeys where user_id = $1', [user.id])).rows[0]?.[0],
  ).toBe(0)
})

test('an attacker cannot add a passkey at the moment their access is removed', async () => {
  const rounds = await Promise.all(
    times(8, async () => {
      const squatter = await person(t)
      return { squatter, passkey: await newPasskey(t.app.url, squatter), owner: somebody({ email: squatter.email }) }
    }),
  )
  for (const { squatter, passkey, owner } of rounds) {
    const asked = await askAt('google', owner)
    const [, proved] = await Promise.all([
      squatter.fetch('POST', '/api/auth/passkey/register/finish', passkey),
      answerAsked(t, asked, { remove: true }),
    ])
    expect(proved.body.user.id).toBe(squatter.userId)
    expect(
      (await t.app.driver.query('select count(*)::int from passkeys where user_id = $1', [squatter.userId]))
        .rows[0]?.[0],
    ).toBe(0)
  }
})
