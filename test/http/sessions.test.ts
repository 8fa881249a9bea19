import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createJwt } from '../../src/auth/jwt.ts'
import { deriveKey, newSecret } from '../../src/auth/secrets.ts'
import { call, PASSWORD, type Person, person, sharedApp, type TestApp, testApp } from '../support/app.ts'
import { allowing } from '../support/timing.ts'
import { serverOver } from './server.ts'
import { sendRaw, wireRequest } from './socket.ts'

/** How a credential begins, is checked and ends. */
const t = await sharedApp()
let ada: Person
beforeAll(async () => {
  ada = await person(t)
})

interface SignedIn {
  token: string
  refreshToken: string
  expiresAt: string
}
const me = (token: string, app: TestApp = t) =>
  call(app, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${token}` })
const login = async ({ email }: Person, app: TestApp = t): Promise<SignedIn> =>
  (await call<SignedIn>(app, 'POST', '/api/auth/login', { email, password: PASSWORD })).body
const refresh = (refreshToken: string, app: TestApp = t) =>
  call<SignedIn>(app, 'POST', '/api/auth/refresh', { refreshToken })
const newKey = async (who: Person, more: object = {}): Promise<{ id: string; token: string }> =>
  (await who.fetch<{ id: string; token: string }>('POST', '/api/settings/api-keys', { name: 'key', ...more })).body

/** A second, and more on a busy machine. */
async function within(ms: number, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + allowing(ms)
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms`)
    await Bun.sleep(10)
  }
}

/** A server that counts its queries. */
let counting: TestApp
let queries = 0
beforeAll(async () => {
  counting = await serverOver(t, {
    query: (text, params, options) => {
      queries++
      return t.app.driver.query(text, params, options)
    },
  })
})
afterAll(() => counting.close())
async function withoutQuery(work: () => Promise<unknown>): Promise<void> {
  // Otherwise the uses of earlier tests might be written just now, as they are every half minute.
  await counting.app.auth.flushUsage()
  const before = queries
  await work()
  expect(queries - before).toBe(0)
}

describe('forged access tokens', () => {
  const part = (value: unknown): string =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  const seed = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), deriveKey(t.app.secret, 'jwt')])
  const ours = createPrivateKey({ key: seed, format: 'der', type: 'pkcs8' })
  const theirs = generateKeyPairSync('ed25519')
  const signed = (header: unknown, claims: unknown, key: KeyObject = ours): string => {
    const text = `${part(header)}.${part(claims)}`
    return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
  }
  const hmac = (header: unknown, claims: unknown, key: string | Buffer): string => {
    const text = `${part(header)}.${part(claims)}`
    return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
  }
  const real = () => {
    const [header, claims, signature] = ada.token.split('.') as [string, string, string]
    const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>
    return { header: read(header), claims: read(claims), parts: [header, claims, signature] as const }
  }
  const without = (from: Record<string, unknown>, name: string) =>
    Object.fromEntries(Object.entries(from).filter(([key]) => key !== name))
  const now = Math.floor(Date.now() / 1000)
  const publicKey = createPublicKey(ours)

  test('differ from a real one, which names user and expiry but no rights', () => {
    const { header, claims } = real()
    expect(header).toEqual({ alg: 'EdDSA', kid: expect.stringMatching(/^[0-9a-f]{16}$/) })
    expect(claims).toEqual({
      iss: 'tutti',
      aud: 'tutti',
      sub: ada.userId,
      sid: expect.any(String),
      iat: expect.any(Number),
      exp: (claims.iat as number) + 900,
    })
  })

  test('are accepted if key and claims are right, so the other cases prove something', async () => {
    const { header, claims } = real()
    expect((await me(signed(header, claims))).status).toBe(200)
    expect((await me(signed(header, { ...claims, admin: true, role: 'admin' }))).body.role).toBe('user')
  })

  const table: [string, () => string][] = [
    ['no algorithm', () => `${part({ ...real().header, alg: 'none' })}.${real().parts[1]}.`],
    ['no algorithm, in capitals', () => `${part({ ...real().header, alg: 'NONE' })}.${real().parts[1]}.`],
    [
      'no algorithm, with the old signature',
      () => `${part({ ...real().header, alg: 'none' })}.${real().parts[1]}.${real().parts[2]}`,
    ],
    [
      'HS256 with the public key as PEM',
      () =>
        hmac(
          { ...real().header, alg: 'HS256' },
          real().claims,
          publicKey.export({ format: 'pem', type: 'spki' }) as string,
        ),
    ],
    [
      'HS256 with the public key as DER',
      () => hmac({ ...real().header, alg: 'HS256' }, real().claims, publicKey.export({ format: 'der', type: 'spki' })),
    ],
    ['HS256 with an empty key', () => hmac({ ...real().header, alg: 'HS256' }, real().claims, '')],
    ['HS256 with the master secret', () => hmac({ ...real().header, alg: 'HS256' }, real().claims, t.app.secret)],
    ['another algorithm by name only', () => signed({ ...real().header, alg: 'RS256' }, real().claims)],
    ['another key', () => signed(real().header, real().claims, theirs.privateKey)],
    [
      'another key, brought along',
      () =>
        signed({ ...real().header, jwk: theirs.publicKey.export({ format: 'jwk' }) }, real().claims, theirs.privateKey),
    ],
    [
      'another key, to be fetched',
      () =>
        signed(
          { ...real().header, jku: 'http://127.0.0.1:9/keys', x5u: 'http://127.0.0.1:9/x' },
          real().claims,
          theirs.privateKey,
        ),
    ],
    ['another kid', () => signed({ ...real().header, kid: '0000000000000000' }, real().claims)],
    ['a kid that is a path', () => signed({ ...real().header, kid: '../../../../dev/null' }, real().claims)],
    ['no kid', () => signed(without(real().header, 'kid'), real().claims)],
    ['a critical extension', () => signed({ ...real().header, crit: ['exp'] }, real().claims)],
    ['no expiry', () => signed(real().header, without(real().claims, 'exp'))],
    ['an expiry that is not a number', () => signed(real().header, { ...real().claims, exp: 'never' })],
    ['an expiry long ago', () => signed(real().header, { ...real().claims, exp: now - 3600 })],
    ['no issue time', () => signed(real().header, without(real().claims, 'iat'))],
    [
      'an issue time in the future',
      () => signed(real().header, { ...real().claims, iat: now + 3600, exp: now + 7200 }),
    ],
    ['a later start of validity', () => signed(real().header, { ...real().claims, nbf: now + 3600 })],
    ['another audience', () => signed(real().header, { ...real().claims, aud: 'other' })],
    ['no audience', () => signed(real().header, without(real().claims, 'aud'))],
    ['another issuer', () => signed(real().header, { ...real().claims, iss: 'https://evil.example' })],
    ['no issuer', () => signed(real().header, without(real().claims, 'iss'))],
    ['no session', () => signed(real().header, without(real().claims, 'sid'))],
    ['a session that is not a text', () => signed(real().header, { ...real().claims, sid: 7 })],
    ['no user', () => signed(real().header, without(real().claims, 'sub'))],
    [
      'claims that were changed',
      () => `${real().parts[0]}.${part({ ...real().claims, exp: now + 9_999_999 })}.${real().parts[2]}`,
    ],
    ['a cut-off signature', () => ada.token.slice(0, -4)],
    [
      'a signature with one letter changed',
      () => ada.token.replace(/.(.{20})$/, (all, rest: string) => `${all[0] === 'A' ? 'B' : 'A'}${rest}`),
    ],
    ['no signature', () => `${real().parts[0]}.${real().parts[1]}.`],
    ['two parts', () => `${real().parts[0]}.${real().parts[1]}`],
    ['five parts', () => `${ada.token}.a.b`],
    ['claims that are not JSON', () => signed(real().header, 'hello')],
    ['claims that are a list', () => signed(real().header, [real().claims])],
    ['a header that is not JSON', () => `eyJ.${real().parts[1]}.${real().parts[2]}`],
    ['parts that are not base64', () => `eyJ!!!.***.???`],
    ['4,000 letters', () => `eyJ${'a'.repeat(4000)}`],
    ['12,000 letters', () => `eyJ${'a'.repeat(12_000)}.a.a`],
  ]
  test.each(table)('with %s get 401 without a query', async (_name, forge) => {
    const token = forge()
    await withoutQuery(async () => {
      const answer = await me(token, counting)
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="tutti"')
    })
  })

  test("with another user's session get 401", async () => {
    const grace = await person(t)
    const { header, claims } = real()
    expect((await me(signed(header, { ...claims, sub: grace.userId }))).status).toBe(401)
    expect((await me(signed(header, { ...claims, sid: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }))).status).toBe(401)
  })

  test('of 100 KB are refused before they are parsed', async () => {
    const huge = `eyJ${'a'.repeat(100_000)}`
    expect((await sendRaw(t, wireRequest(t, 'GET /api/auth/me', [`Authorization: Bearer ${huge}`])))[0]?.status).toBe(
      431,
    )
    expect(await createJwt(t.app.secret).verify(huge, new Date())).toBeUndefined()
  })
})

describe('forged API keys', () => {
  test('with one changed letter are refused without a query', async () => {
    const { token } = await newKey(ada)
    expect((await me(token, counting)).status).toBe(200)
    const mutants = [...token].map(
      (letter, at) => token.slice(0, at) + (letter === 'x' ? 'y' : 'x') + token.slice(at + 1),
    )
    await withoutQuery(async () => {
      for (const mutant of [
        ...mutants,
        token.slice(0, -1),
        `${token}0`,
        token.toUpperCase(),
        token.replace('svc_', 'svc_live_'),
        ` ${token}x`,
      ])
        expect([mutant === token, (await me(mutant, counting)).status]).toEqual([false, 401])
    })
  })

  test('with a valid checksum that were never issued get 401', async () => {
    for (const kind of ['api_key', 'mcp_live', 'mcp_test', 'refresh', 'setup', 'tunnel'] as const)
      expect([kind, (await me(newSecret(kind))).status]).toEqual([kind, 401])
    await withoutQuery(async () => {
      for (const kind of ['refresh', 'setup'] as const) expect((await me(newSecret(kind), counting)).status).toBe(401)
    })
  })
})

describe('ending a credential', () => {
  test('by signing out ends only that session, at once', async () => {
    const who = await person(t)
    const other = await login(who)
    expect((await me(who.token)).status).toBe(200)
    expect((await who.fetch('POST', '/api/auth/logout')).body).toMatchObject({ revoked: 'session' })
    expect((await me(who.token)).status).toBe(401)
    expect((await refresh(who.refreshToken)).status).toBe(401)
    expect((await me(other.token)).status).toBe(200)
  })

  test('by signing out also works where another instance has it cached', async () => {
    const second = await testApp({ background: 'off' })
    const who = await person(t)
    expect((await me(who.token, second)).status).toBe(200)
    await who.fetch('POST', '/api/auth/logout')
    await within(1500, async () => (await me(who.token, second)).status === 401)
    await second.close()
  })

  test('by revoking a key takes effect at once', async () => {
    const { id, token } = await newKey(ada)
    expect((await me(token)).status).toBe(200)
    await ada.fetch('DELETE', `/api/settings/api-keys/${id}`)
    expect((await me(token)).status).toBe(401)
  })

  test('by suspending a user ends all their credentials within a second', async () => {
    const who = await person(t)
    const { token } = await newKey(who)
    expect([(await me(who.token)).status, (await me(token)).status]).toEqual([200, 200])
    await t.app.driver.query(`update users set status = 'suspended' where id = $1`, [who.userId])
    await within(1500, async () => (await me(who.token)).status === 401 && (await me(token)).status === 401)
    expect((await refresh(who.refreshToken)).status).toBe(401)
    const refused = await call(t, 'POST', '/api/auth/login', { email: who.email, password: PASSWORD })
    const wrong = await call(t, 'POST', '/api/auth/login', { email: who.email, password: 'something else' })
    expect([refused.status, refused.body.detail]).toEqual([401, wrong.body.detail as string])
  })

  test('by removing a role takes effect with the next call', async () => {
    const [owner, colleague] = [await person(t), await person(t)]
    const team = (await owner.fetch<{ id: string }>('POST', '/api/teams', { name: 'Team' })).body.id
    const boss = await person(t, { admin: true })
    await boss.fetch('POST', `/api/admin/teams/${team}/members`, { userId: colleague.userId, role: 'member' })
    const write = () => colleague.fetch('POST', '/api/projects', { name: 'Mine' }, { 'x-organization-id': team })
    expect((await write()).status).toBe(201)
    await owner.fetch('PATCH', `/api/teams/${team}/members/${colleague.userId}`, { role: 'viewer' })
    expect((await write()).status).toBe(403)
    await owner.fetch('DELETE', `/api/teams/${team}/members/${colleague.userId}`)
    expect((await write()).status).toBe(404)
  })
})

describe('a refresh token', () => {
  test('returns a new pair, and the old pair stops working', async () => {
    const who = await person(t)
    const next = await refresh(who.refreshToken)
    expect(next.status).toBe(200)
    expect(next.body.refreshToken).not.toBe(who.refreshToken)
    expect((await me(next.body.token)).body.id).toBe(who.userId)
    expect((await refresh(next.body.refreshToken)).status).toBe(200)
  })

  test('that was just replaced works once more, then ends the whole session as stolen', async () => {
    const who = await person(t)
    const apart = await login(who)
    const second = (await refresh(who.refreshToken)).body
    const alike = await refresh(who.refreshToken)
    expect(alike.status).toBe(200)
    for (const { token } of [second, alike.body]) expect((await me(token)).status).toBe(200)
    expect((await refresh(who.refreshToken)).body).toMatchObject({
      status: 401,
      detail: expect.stringContaining('used before'),
    })
    for (const { token } of [second, alike.body, who]) expect((await me(token)).status).toBe(401)
    expect((await refresh(second.refreshToken)).status).toBe(401)
    expect((await me(apart.token)).status).toBe(200)
  })

  test('that was replaced before the last renewal ends the session', async () => {
    const who = await person(t)
    const second = (await refresh(who.refreshToken)).body
    const third = (await refresh(second.refreshToken)).body
    expect((await refresh(who.refreshToken)).status).toBe(401)
    expect((await me(third.token)).status).toBe(401)
  })

  test('that was replaced more than 30 seconds ago ends the session', async () => {
    let now = Date.parse('2026-05-04T08:00:00Z')
    const later = await testApp({ background: 'off' }, () => new Date(now))
    const who = await person(later)
    const second = (await refresh(who.refreshToken, later)).body
    now += 30_001
    expect((await refresh(who.refreshToken, later)).status).toBe(401)
    expect((await refresh(second.refreshToken, later)).status).toBe(401)
    await later.close()
  })

  test('that was replaced ends the session even on a newly started instance', async () => {
    const who = await person(t)
    await refresh((await refresh(who.refreshToken)).body.refreshToken)
    const restarted = await testApp({ background: 'off' })
    expect((await refresh(who.refreshToken, restarted)).status).toBe(401)
    expect((await me(who.token, restarted)).status).toBe(401)
    await restarted.close()
  })

  test('used ten times concurrently succeeds at most twice, and ends the session', async () => {
    for (let round = 0; round < 3; round++) {
      const { refreshToken } = await login(ada)
      const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(refreshToken)))
      expect(answers.filter((a) => a.status === 200).length).toBeLessThanOrEqual(2)
      expect([...new Set(answers.map((a) => a.status))].filter((status) => status !== 200)).toEqual([401])
      for (const { body } of answers) if (body.token) expect((await me(body.token)).status).toBe(401)
    }
  })

  test('cannot be another kind of token', async () => {
    for (const bad of [(await newKey(ada)).token, newSecret('refresh'), '', 'svc_ref_', 'x'])
      expect([bad.slice(0, 9), (await refresh(bad)).status]).toEqual([bad.slice(0, 9), 401])
    expect((await call(t, 'POST', '/api/auth/refresh', {})).status).toBe(401)
  })
})

describe('the lifetime of a credential', () => {
  const MINUTE = 60_000
  const DAY = 86_400_000
  let clock = Date.now()
  let app: TestApp
  beforeAll(async () => {
    app = await testApp({ background: 'off' }, () => new Date(clock))
  })
  afterAll(() => app.close())

  test('is 15 minutes for an access token, plus 30 seconds for clock differences', async () => {
    const begun = clock
    const [first, second, third] = [await login(ada, app), await login(ada, app), await login(ada, app)]
    expect(Date.parse(first.expiresAt) - Math.floor(begun / 1000) * 1000).toBe(15 * MINUTE)
    clock = begun + 14 * MINUTE
    expect((await me(first.token, app)).status).toBe(200)
    clock = begun + 15 * MINUTE + 25_000
    expect((await me(second.token, app)).status).toBe(200)
    clock = begun + 15 * MINUTE + 35_000
    expect((await me(third.token, app)).status).toBe(401)
    // The cache of accepted tokens respects their expiry.
    await within(1500, async () => (await me(second.token, app)).status === 401)
  })

  test('is not extended by a clock that goes back', async () => {
    const later = await login(ada, app)
    clock -= 2 * MINUTE
    expect((await me(later.token, app)).status).toBe(401)
    clock += 2 * MINUTE
  })

  test('is 30 days for an unused session, and 90 days for any session', async () => {
    const idle = await login(ada, app)
    let used = await login(ada, app)
    for (let day = 0; day < 87; day += 29) {
      clock += 29 * DAY
      const next = await refresh(used.refreshToken, app)
      expect([day, next.status]).toEqual([day, 200])
      used = next.body
      if (day === 0) continue
      expect((await refresh(idle.refreshToken, app)).status).toBe(401)
    }
    clock += 4 * DAY
    expect((await refresh(used.refreshToken, app)).status).toBe(401)
  })

  test('ends for a key on its expiry date', async () => {
    const who = await person(app)
    const [day, quarter] = [await newKey(who, { expiresInDays: 1 }), await newKey(who)]
    clock += DAY - MINUTE
    expect((await me(day.token, app)).status).toBe(200)
    clock += 2 * MINUTE
    await within(1500, async () => (await me(day.token, app)).status === 401)
    expect((await me(quarter.token, app)).status).toBe(200)
    clock += 89 * DAY
    await within(1500, async () => (await me(quarter.token, app)).status === 401)
  })
})

describe('session cookies', () => {
  const signIn = async (headers: Record<string, string> = {}) => {
    const answer = await call<SignedIn>(t, 'POST', '/api/auth/login', { email: ada.email, password: PASSWORD }, headers)
    return { ...answer, cookies: answer.headers.getSetCookie() }
  }
  const own = `http://127.0.0.1:${t.server.port}`

  test('are inaccessible to scripts and other sites', async () => {
    const { body, cookies } = await signIn()
    expect(cookies).toEqual([
      `tutti_access=${body.token}; Path=/; Max-Age=900; HttpOnly; SameSite=Lax`,
      `tutti_refresh=${body.refreshToken}; Path=/api/auth/refresh; Max-Age=2592000; HttpOnly; SameSite=Lax`,
      'tutti_here=1; Path=/; Max-Age=2592000; SameSite=Lax',
    ])
    // Headers of a request cannot change this.
    expect((await signIn({ 'x-forwarded-proto': 'https' })).cookies.join()).not.toContain('Secure')
  })

  test('need the __Host- name if APP_URL is https', async () => {
    const https = await testApp({ APP_URL: 'https://tutti.example.com', background: 'off' })
    const answer = await call<SignedIn>(https, 'POST', '/api/auth/login', { email: ada.email, password: PASSWORD })
    const secure = answer.headers.getSetCookie()
    expect(secure[0]).toMatch(/^__Host-tutti_access=[^;]+; Path=\/; .*; Secure$/)
    expect(secure[1]).toMatch(/^__Host-tutti_refresh=[^;]+; Path=\/; .*; Secure$/)
    const me = (cookie: string) => call(https, 'GET', '/api/auth/me', undefined, { cookie })
    expect((await me(`a=b; __Host-tutti_access=${answer.body.token}; c=d`)).status).toBe(200)
    expect((await me(`tutti_access=${answer.body.token}`)).status).toBe(401)
    const headers = { host: 'tutti.example.com', origin: 'https://tutti.example.com' }
    const refresh = (cookie: string) => call(https, 'POST', '/api/auth/refresh', {}, { ...headers, cookie })
    const tossed = (await signIn()).body.refreshToken
    expect((await refresh(`tutti_refresh=${tossed}`)).status).toBe(401)
    const renewed = await refresh(`tutti_refresh=${tossed}; __Host-tutti_refresh=${answer.body.refreshToken}`)
    expect([renewed.status, (renewed.body.user as { id: string }).id]).toEqual([200, ada.userId])
    // An attacker who tampers with plain HTTP has that origin.
    const from = (origin: string) =>
      call(https, 'GET', '/api/auth/providers', undefined, { host: 'tutti.example.com', origin })
    expect([(await from('https://tutti.example.com')).status, (await from('http://tutti.example.com')).status]).toEqual(
      [200, 403],
    )
    await https.close()
  })

  test('are ignored if there are two of the same name', async () => {
    const { body } = await signIn()
    const mallory = await person(t)
    const theirs = { access: mallory.token, refresh: mallory.refreshToken }
    const ours = { access: body.token, refresh: body.refreshToken }
    for (const [first, second] of [
      [theirs, ours],
      [ours, theirs],
    ] as const) {
      const two = (kind: 'access' | 'refresh') => `tutti_${kind}=${first[kind]}; tutti_${kind}=${second[kind]}`
      const renewed = await call(t, 'POST', '/api/auth/refresh', {}, { cookie: two('refresh'), origin: own })
      expect([renewed.status, renewed.headers.getSetCookie()]).toEqual([
        401,
        ['tutti_here=; Path=/; Max-Age=0; SameSite=Lax'],
      ])
      expect((await call(t, 'GET', '/api/auth/me', undefined, { cookie: two('access') })).status).toBe(401)
      // It prevents no sign-in.
      expect((await signIn({ cookie: two('access'), origin: own })).status).toBe(200)
    }
    // Neither session was ended, as it would be by a token that is used twice.
    expect((await me(body.token)).status).toBe(200)
  })

  test('authorize reads', async () => {
    const { body } = await signIn()
    for (const cookie of [`tutti_access=${body.token}`, `a=b; tutti_access=${body.token}; c=d`])
      expect((await call(t, 'GET', '/api/auth/me', undefined, { cookie })).body.id).toBe(ada.userId)
  })

  test('authorize changes only for our own pages', async () => {
    const { body } = await signIn()
    const cookie = `tutti_access=${body.token}`
    const count = async () => (await ada.fetch<{ total: number }>('GET', '/api/notes?total=true')).body.total
    const post = async (headers: Record<string, string>) =>
      (await call(t, 'POST', '/api/notes', { title: 'by cookie' }, { cookie, ...headers })).status
    const before = await count()
    expect(await post({})).toBe(401)
    for (const site of ['cross-site', 'same-site', 'none', ''])
      expect([site, await post({ 'sec-fetch-site': site })]).toEqual([site, 401])
    for (const origin of ['https://evil.example', 'null'])
      expect([origin, await post({ origin })]).toEqual([origin, 403])
    for (const method of ['PUT', 'PATCH', 'DELETE'])
      expect([
        method,
        (
          await call(
            t,
            method,
            method === 'PATCH' ? '/api/auth/profile' : '/api/notes/019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10',
            {},
            { cookie },
          )
        ).status,
      ]).toEqual([method, 401])
    expect(await count()).toBe(before)
    expect(await post({ origin: own })).toBe(201)
    expect(await post({ 'sec-fetch-site': 'same-origin' })).toBe(201)
    expect(await count()).toBe(before + 2)
  })

  test('are ignored if another credential is sent', async () => {
    const { body } = await signIn()
    const answer = await call(t, 'GET', '/api/auth/me', undefined, {
      cookie: `tutti_access=${body.token}`,
      authorization: 'Bearer svc_wrong',
    })
    expect(answer.status).toBe(401)
  })

  test('are renewed by the refresh cookie, and removed by signing out', async () => {
    const { body } = await signIn()
    const renewed = await call<SignedIn>(
      t,
      'POST',
      '/api/auth/refresh',
      {},
      { cookie: `tutti_refresh=${body.refreshToken}`, origin: own },
    )
    expect(renewed.status).toBe(200)
    const out = await call(t, 'POST', '/api/auth/logout', undefined, {
      cookie: `tutti_access=${renewed.body.token}`,
      origin: own,
    })
    expect(out.status).toBe(200)
    expect(out.headers.getSetCookie()).toEqual([
      'tutti_access=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
      'tutti_refresh=; Path=/api/auth/refresh; Max-Age=0; HttpOnly; SameSite=Lax',
      'tutti_here=; Path=/; Max-Age=0; SameSite=Lax',
    ])
    expect((await me(renewed.body.token)).status).toBe(401)
    const failed = await call(t, 'POST', '/api/auth/refresh', {}, { cookie: 'tutti_refresh=svc_ref_x', origin: own })
    expect([failed.status, failed.headers.getSetCookie()]).toEqual([
      401,
      ['tutti_here=; Path=/; Max-Age=0; SameSite=Lax'],
    ])
  })
})
