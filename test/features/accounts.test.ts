import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { idempotencyKeys } from '../../src/events/table.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import type { OrganizationPage } from '../../src/features/organizations/schema.ts'
import type { User } from '../../src/features/users/schema.ts'
import { users } from '../../src/features/users/table.ts'
import {
  type Answer,
  call,
  logged,
  PASSWORD,
  person,
  sharedApp,
  systemCtx,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'
import { addPasskey, otherLogins, proveAddress } from './accounts-support.ts'
import {
  expectEvent,
  expectEvents,
  expectNoEvents,
  expectRefusal,
  failure,
  ownApp,
  statuses,
  TestClock,
  times,
  watch,
} from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

const someone = (over: Partial<{ email: string; password: string; name: string }> = {}) => ({
  email: `${unique('eve')}@example.com`,
  password: PASSWORD,
  name: 'Eve Example',
  ...over,
})
const register = (at: TestApp, over = {}) => call<SignedIn>(at, 'POST', '/api/auth/register', someone(over))
const login = (at: TestApp, email: string, password = PASSWORD) =>
  call<SignedIn>(at, 'POST', '/api/auth/login', { email, password })
const refresh = (at: TestApp, refreshToken: string) => call<SignedIn>(at, 'POST', '/api/auth/refresh', { refreshToken })
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const me = (at: TestApp, token: string) => call<User>(at, 'GET', '/api/auth/me', undefined, bearer(token))

describe('POST /api/auth/register', () => {
  test('creates an account, a session and a personal organization', async () => {
    const wanted = someone({ name: '  Eve Example ' })
    const made = await call<SignedIn>(t, 'POST', '/api/auth/register', wanted)
    expect(made.status).toBe(201)
    const { user, token, refreshToken, expiresAt } = made.body
    expect(Object.keys(made.body).sort()).toEqual(['expiresAt', 'refreshToken', 'token', 'user'])
    expect(user).toMatchObject({
      email: wanted.email,
      name: 'Eve Example',
      role: 'user',
      status: 'active',
      version: 1,
      preferences: {},
    })
    expect(JSON.stringify(user)).not.toContain('argon2')
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now())
    expect(refreshToken).toStartWith('svc_ref_')

    const event = await expectEvent(t, made, 'user.registered')
    expect(event).toMatchObject({
      subjectId: user.id,
      userId: user.id,
      organizationId: null,
      data: { role: 'user' },
      actor: { kind: 'anonymous' },
    })

    const teams = await call<OrganizationPage>(t, 'GET', '/api/teams', undefined, bearer(token))
    expect(teams.body.items).toHaveLength(1)
    expect(teams.body.items[0]).toMatchObject({
      name: "Eve Example's space",
      personal: true,
      role: 'owner',
      slug: user.handle,
    })
    expect((await me(t, token)).body).toEqual(user)
  })

  test('stores the password only as an argon2id hash, and logs neither the password nor a token', async () => {
    const password = `${unique('violet')} anchor prefers rain`
    const { body } = await register(t, { password })
    const [row] = await t.app.db.select({ hash: users.passwordHash }).from(users).where(eq(users.id, body.user.id))
    expect(row?.hash).toStartWith('$argon2id$')
    const log = logged.join('\n')
    for (const secret of [password, body.token, body.refreshToken]) expect(log).not.toContain(secret)
  })

  test('refuses an e-mail address that has an account, in upper or lower case', async () => {
    const { body } = await register(t)
    for (const email of [body.user.email, body.user.email.toUpperCase()])
      await expectRefusal(t, await register(t, { email }), 409, 'conflict.exists')
  })

  test('accepts one of ten simultaneous registrations of the same address', async () => {
    const email = `${unique('eve')}@example.com`
    const answers = await Promise.all(times(10, () => register(t, { email })))
    expect(statuses(answers)).toEqual([201, ...times(9, () => 409)])
  })

  test('gives ten people with the same name before the @ their own handles and team slugs, even at once', async () => {
    const local = unique('twin')
    const answers = await Promise.all(times(10, (i) => register(t, { email: `${local}@${i}.example.com` })))
    expect(statuses(answers)).toEqual(times(10, () => 201))
    const handles = answers.map((a) => a.body.user.handle)
    expect(new Set(handles).size).toBe(10)
    expect(handles).toContain(local)
    for (const handle of handles) expect(handle).toStartWith(local)
  })

  test.each([
    ['eleven characters', 'abcdefghijk', 'too_short'],
    ['one on the block list', 'password1234', 'too_common'],
    ['few different characters', 'abababababababab', 'too_common'],
  ])('refuses a password with %s', async (_, password, code) => {
    const body = await expectRefusal(t, await register(t, { password }), 422, 'invalid')
    expect(body.errors).toMatchObject([{ pointer: '/password', code }])
  })

  test('refuses the user’s name, their address and more than 128 characters as a password', async () => {
    const email = `${unique('longer-name')}@example.com`
    await expectRefusal(t, await register(t, { email, password: email }), 422, 'invalid')
    const local = `Longer.${unique('Name')}`
    await expectRefusal(t, await register(t, { email: `${local}@example.com`, password: local }), 422, 'invalid')
    await expectRefusal(
      t,
      await register(t, { email, name: 'Eve Adelaide Example', password: 'eve adelaide example' }),
      422,
      'invalid',
    )
    const long = await expectRefusal(
      t,
      await register(t, { email, password: `${PASSWORD}${'x'.repeat(129 - PASSWORD.length)}` }),
      422,
      'invalid',
    )
    expect(long.errors).toMatchObject([{ pointer: '/password', code: 'too_long' }])
    expect((await register(t, { email, password: `${PASSWORD}${'x'.repeat(128 - PASSWORD.length)}` })).status).toBe(201)
  })

  test('accepts twelve characters of any kind', async () => {
    expect((await register(t, { password: 'abc def ghij' })).status).toBe(201)
  })

  test('is refused where the operator closed registration', async () => {
    const closed = watch(await testApp({ REGISTRATION: 'closed', background: 'off' }))
    await expectRefusal(closed, await register(closed), 403, 'forbidden')
    await closed.close()
  })
})

describe('POST /api/auth/login', () => {
  test('accepts the address in upper or lower case and starts a new session', async () => {
    const { body } = await register(t)
    const again = await login(t, body.user.email.toUpperCase())
    expect(again.status).toBe(200)
    expect(again.body.user).toEqual(body.user)
    expect(again.body.token).not.toBe(body.token)
    const event = await expectEvent(t, again, 'user.signed_in')
    expect(event).toMatchObject({ subjectId: body.user.id, userId: body.user.id })
    expect(JSON.stringify(event)).not.toContain(again.body.refreshToken)
  })

  test('answers a wrong password and an unknown address alike; only the first is in the audit log', async () => {
    const { body } = await register(t)
    const wrong = await login(t, body.user.email, 'not the password at all')
    const unknown = await login(t, `${unique('nobody')}@example.com`, 'not the password at all')
    const plain = (a: Answer<unknown>) => ({
      status: a.status,
      body: { ...(a.body as object), requestId: '' },
      www: a.headers.get('www-authenticate'),
    })
    expect(plain(wrong)).toEqual(plain(unknown))
    expect(wrong.status).toBe(401)
    expect(await expectEvent(t, wrong, 'auth.sign_in_failed')).toMatchObject({ userId: body.user.id })
    await expectNoEvents(t, unknown)
  })

  test('compares one password hash of equal cost for a wrong password and for an unknown address', async () => {
    const { body } = await register(t)
    const compared = spyOn(Bun.password, 'verify')
    try {
      for (const email of [body.user.email, `${unique('nobody')}@example.com`])
        expect((await login(t, email, 'not the password at all')).status).toBe(401)
      const costs = compared.mock.calls.map(
        ([, hash]) => /^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+/.exec(String(hash))?.[0],
      )
      expect([costs.length, costs[0], new Set(costs).size]).toEqual([2, expect.any(String), 1])
    } finally {
      compared.mockRestore()
    }
  })

  test('locks an account after five failures, even for the right password; unknown accounts behave alike', async () => {
    const clock = new TestClock()
    const own = watch(await testApp({ background: 'off' }, clock.now))
    const { user } = (await register(own)).body
    const ghost = `${unique('ghost')}@example.com`
    for (const email of [user.email, ghost]) {
      expect(statuses(await Promise.all(times(8, () => login(own, email, 'not the password at all'))))).toEqual([
        401, 401, 401, 401, 401, 429, 429, 429,
      ])
      const locked = await login(own, email)
      await expectRefusal(own, locked, 429, 'rate_limited')
      expect(Number(locked.headers.get('retry-after'))).toBeWithin(1, 901)
    }
    expect((await register(own)).status).toBe(201)
    clock.forward({ minutes: 15, seconds: 1 })
    expect((await login(own, user.email)).status).toBe(200)
    expect(statuses(await Promise.all(times(5, () => login(own, user.email, 'not the password at all'))))).toEqual(
      times(5, () => 401),
    )
    await own.close()
  })

  test('stores no token in clear text, even if a signed-in user sends an Idempotency-Key', async () => {
    const ada = await person(t)
    const key = { 'idempotency-key': unique('key') }
    const headers = { ...bearer(ada.token), ...key }
    const made = await call<SignedIn>(t, 'POST', '/api/auth/register', someone(), headers)
    const signedIn = await call<SignedIn>(
      t,
      'POST',
      '/api/auth/login',
      { email: ada.email, password: PASSWORD },
      { ...headers, 'idempotency-key': unique('key') },
    )
    const renewed = await call<SignedIn>(
      t,
      'POST',
      '/api/auth/refresh',
      { refreshToken: ada.refreshToken },
      { ...headers, 'idempotency-key': unique('key') },
    )
    const answers = [made, signedIn, renewed]
    expect(answers.map((a) => a.status)).toEqual([201, 200, 200])
    const stored = JSON.stringify(await t.app.db.select().from(idempotencyKeys))
    for (const { body } of answers)
      for (const secret of [body.token, body.refreshToken]) expect(stored).not.toContain(secret)
  })
})

describe('the caller’s own account', () => {
  test('is shown with its role, and only with a credential', async () => {
    const ada = await person(t)
    const boss = await person(t, { admin: true })
    expect((await ada.fetch<User>('GET', '/api/auth/me')).body).toMatchObject({
      id: ada.userId,
      email: ada.email,
      role: 'user',
    })
    expect((await ada.fetch('GET', '/api/auth/me/role')).body).toEqual({ role: 'user' })
    expect((await boss.fetch('GET', '/api/auth/me/role')).body).toEqual({ role: 'admin' })
    for (const path of ['/api/auth/me', '/api/auth/me/role'])
      await expectRefusal(t, await call(t, 'GET', path), 401, 'unauthenticated')
    for (const token of ['eyJhbGciOiJub25lIn0.e30.', `${ada.token}x`, 'svc_not_a_real_one'])
      await expectRefusal(t, await me(t, token), 401, 'unauthenticated')
  })

  test('changes only in the given fields; null clears a field', async () => {
    const ada = await person(t)
    const handle = unique('ada-l')
    const first = await ada.fetch<User>('PATCH', '/api/auth/profile', {
      name: ' Ada King ',
      bio: 'Numbers',
      timezone: 'Europe/London',
      locale: 'en-GB',
      handle,
    })
    expect(first.status).toBe(200)
    expect(first.body).toMatchObject({
      name: 'Ada King',
      bio: 'Numbers',
      timezone: 'Europe/London',
      locale: 'en-GB',
      handle,
      version: 2,
    })
    expect(await expectEvent(t, first, 'user.updated')).toMatchObject({
      userId: ada.userId,
      data: { fields: ['name', 'bio', 'timezone', 'locale', 'handle'] },
    })
    const second = await ada.fetch<User>('PATCH', '/api/auth/profile', { bio: null })
    expect(second.body).toEqual({ ...first.body, bio: null, version: 3, updatedAt: second.body.updatedAt })
    expect((await ada.fetch<User>('GET', '/api/auth/me')).body).toEqual(second.body)
  })

  test.each([
    ['an unknown time zone', { timezone: 'Mars/Olympus' }],
    ['a handle with capitals', { handle: 'Ada' }],
    ['an empty name', { name: '  ' }],
  ])('cannot set %s', async (_, patch) => {
    const ada = await person(t)
    await expectRefusal(t, await ada.fetch('PATCH', '/api/auth/profile', patch), 422, 'invalid')
    expect((await ada.fetch<User>('GET', '/api/auth/me')).body.version).toBe(1)
  })

  test('cannot take the handle of another user; of ten who want a free one at once, one gets it', async () => {
    const ada = await person(t)
    const grace = await person(t)
    const { handle } = (await ada.fetch<User>('GET', '/api/auth/me')).body
    await expectRefusal(t, await grace.fetch('PATCH', '/api/auth/profile', { handle }), 409, 'conflict.exists')
    expect((await ada.fetch('PATCH', '/api/auth/profile', { handle })).status).toBe(200)
    const wanted = unique('free')
    const people = await Promise.all(times(10, () => person(t)))
    const answers = await Promise.all(people.map((p) => p.fetch('PATCH', '/api/auth/profile', { handle: wanted })))
    expect(statuses(answers)).toEqual([200, ...times(9, () => 409)])
  })

  test('refuses a change of an old version with the current account; of many at once exactly one wins', async () => {
    const ada = await person(t)
    const wins = await Promise.all(
      times(10, (i) => ada.fetch<User>('PATCH', '/api/auth/profile', { bio: `bio ${i}` }, { 'if-match': '"1"' })),
    )
    expect(statuses(wins)).toEqual([200, ...times(9, () => 412)])
    const now = (await ada.fetch<User>('GET', '/api/auth/me')).body
    expect(now.version).toBe(2)
    expect(now.bio).toBe(wins.find((w) => w.status === 200)?.body.bio as string)
    const late = await ada.fetch('PATCH', '/api/auth/profile', { bio: 'late' }, { 'if-match': '"1"' })
    expect((await expectRefusal(t, late, 412, 'version_mismatch')).current).toEqual(now)
  })
})

describe('POST /api/auth/refresh', () => {
  test('returns a new pair of tokens and keeps the session', async () => {
    const { body } = await register(t)
    const next = await refresh(t, body.refreshToken)
    expect(next.status).toBe(200)
    expect(next.body.user).toEqual(body.user)
    expect(next.body.refreshToken).not.toBe(body.refreshToken)
    await expectEvent(t, next, 'user.refreshed')
    expect((await me(t, next.body.token)).status).toBe(200)
    expect((await me(t, body.token)).status).toBe(200)
  })

  test('ends the whole session when a refresh token is used again, because it was stolen', async () => {
    const { body } = await register(t)
    const next = await refresh(t, body.refreshToken)
    expect((await me(t, next.body.token)).status).toBe(200)
    expect((await refresh(t, body.refreshToken)).status).toBe(200)
    const stolen = await refresh(t, body.refreshToken)
    expect(stolen.status).toBe(401)
    expect(await expectEvent(t, stolen, 'session.revoked')).toMatchObject({
      userId: body.user.id,
      data: { reason: 'refresh token used twice' },
    })
    expect((await refresh(t, next.body.refreshToken)).status).toBe(401)
    expect((await me(t, next.body.token)).status).toBe(401)
    expect((await me(t, body.token)).status).toBe(401)
    expect((await login(t, body.user.email)).status).toBe(200)
  })
})

describe('POST /api/auth/logout', () => {
  test('ends only this session, at once', async () => {
    const { body } = await register(t)
    const other = (await login(t, body.user.email)).body
    expect((await me(t, body.token)).status).toBe(200)
    const out = await call(t, 'POST', '/api/auth/logout', undefined, bearer(body.token))
    expect(out.status).toBe(200)
    expect(out.body).toMatchObject({ revoked: 'session' })
    expect(await expectEvent(t, out, 'session.revoked')).toMatchObject({
      userId: body.user.id,
      subjectId: out.body.id,
      data: { reason: 'signed out' },
    })
    expect((await me(t, body.token)).status).toBe(401)
    expect((await refresh(t, body.refreshToken)).status).toBe(401)
    expect((await me(t, other.token)).status).toBe(200)
  })
})

describe('the first administrator', () => {
  let own: TestApp
  beforeAll(async () => {
    own = watch(await ownApp())
  })
  afterAll(() => own.close())

  const setup = (token: string, over = {}) => call<SignedIn>(own, 'POST', '/api/setup', { token, ...someone(over) })
  const issue = () => accounts.issueSetupToken(systemCtx(own), {})

  test('is not created by a registration, not even by the first one', async () => {
    const first = await register(own)
    expect(first.body.user.role).toBe('user')
    expect(await accounts.firstAdmin(systemCtx(own), {})).toBeNull()
  })

  test('is created with the set-up link, which works once', async () => {
    const token = await issue()
    await expectRefusal(own, await setup('nonsense'), 410, 'gone')
    await expectRefusal(own, await setup(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`), 410, 'gone')
    // Fourteen characters: enough for anybody else.
    const weak = await expectRefusal(own, await setup(token, { password: 'abcd efgh ijkl' }), 422, 'invalid')
    expect(weak.errors).toMatchObject([{ pointer: '/password', code: 'too_short' }])
    const taken = (await register(own)).body.user.email
    await expectRefusal(own, await setup(token, { email: taken }), 409, 'conflict.exists')

    const made = await setup(token)
    expect(made.status).toBe(201)
    expect(made.body.user.role).toBe('admin')
    expect(await expectEvent(own, made, 'user.registered')).toMatchObject({ data: { role: 'admin' } })
    expect((await call(own, 'GET', '/api/auth/me/role', undefined, bearer(made.body.token))).body).toEqual({
      role: 'admin',
    })
    expect(await accounts.firstAdmin(systemCtx(own), {})).toBeString()
    await expectRefusal(own, await setup(token), 410, 'gone')
  })

  test('is created by only one of two people at once, and not with a link that was replaced', async () => {
    const other = watch(await ownApp())
    const use = (token: string) => call<SignedIn>(other, 'POST', '/api/setup', { token, ...someone() })
    const old = await accounts.issueSetupToken(systemCtx(other), {})
    const token = await accounts.issueSetupToken(systemCtx(other), {})
    await expectRefusal(other, await use(old), 410, 'gone')
    expect(statuses(await Promise.all(times(3, () => use(token))))).toEqual([201, 410, 410])
    await other.close()
  })

  test('leaves every set-up link without effect, however the administrator was created', async () => {
    await expectRefusal(own, await setup(await issue()), 410, 'gone')
    const other = watch(await ownApp())
    const token = await accounts.issueSetupToken(systemCtx(other), {})
    await accounts.createAdmin(systemCtx(other), someone())
    await expectRefusal(other, await call(other, 'POST', '/api/setup', { token, ...someone() }), 410, 'gone')
    await other.close()
  })

  test('has a set-up token that is stored as a hash', async () => {
    const token = await issue()
    const { rows } = await own.app.driver.query('select value from meta')
    expect(rows.flat().join()).not.toContain(token)
  })
})

describe('tutti admin create', () => {
  const createAdmin = (email: string, password: string) =>
    accounts.createAdmin(systemCtx(t), { email, password, name: 'Operator' })

  test('creates an administrator if the password is long enough', async () => {
    const email = `${unique('boss')}@example.com`
    expect(await failure(createAdmin(email, 'abcd efgh ijkl'))).toMatchObject({ code: 'invalid' })
    expect(await createAdmin(email, PASSWORD)).toMatchObject({ email, role: 'admin', name: 'Operator' })
    expect((await login(t, email)).status).toBe(200)
  })

  test('promotes an existing account, sets its password and ends its sessions at once', async () => {
    const ada = await person(t)
    expect((await ada.fetch('GET', '/api/auth/me')).status).toBe(200)
    const password = 'another five unrelated words'
    const user = await createAdmin(ada.email.toUpperCase(), password)
    expect(user).toMatchObject({ id: ada.userId, name: 'Ada Lovelace', role: 'admin', version: 2 })
    expect((await ada.fetch('GET', '/api/auth/me')).status).toBe(401)
    expect((await refresh(t, ada.refreshToken)).status).toBe(401)
    expect((await login(t, ada.email)).status).toBe(401)
    const back = await login(t, ada.email, password)
    expect(back.body.user.role).toBe('admin')
    await expectEvents(t, back, 'user.signed_in')
  })

  test('removes the other sign-in methods of an account whose address belongs to someone else', async () => {
    const [thief, ada] = [await person(t), await person(t)]
    await proveAddress(t, ada)
    for (const { userId, email } of [thief, ada]) {
      await addPasskey(t, userId)
      await createAdmin(email, 'another five unrelated words')
    }
    expect([await otherLogins(t, thief.userId), await otherLogins(t, ada.userId)]).toEqual([0, 1])
  })

  test('is not available over HTTP', async () => {
    const boss = await person(t, { admin: true })
    const input = { email: `${unique('x')}@example.com`, password: PASSWORD, name: 'X' }
    expect(await failure(accounts.createAdmin(await boss.ctx(), input))).toMatchObject({ code: 'forbidden' })
    expect(await failure(accounts.issueSetupToken(await boss.ctx(), {}))).toMatchObject({ code: 'forbidden' })
  })
})

test('reads write no events', async () => {
  const ada = await person(t)
  await expectNoEvents(t, await ada.fetch('GET', '/api/auth/me'))
})
