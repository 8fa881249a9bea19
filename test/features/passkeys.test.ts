import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import type { PasskeyPage } from '../../src/features/passkeys/schema.ts'
import { passkeys } from '../../src/features/passkeys/table.ts'
import { users } from '../../src/features/users/table.ts'
import { call, logged, PASSWORD, person } from '../support/app.ts'
import { newPasskey, type Wrong } from '../support/authenticator.ts'
import { keptMail, mailRows } from '../support/mail.ts'
import { answerAsked, askByCode, bearer } from './accounts-support.ts'
import {
  add,
  authenticator,
  begin,
  beginLogin,
  finish,
  finishLogin,
  holder,
  notices,
  prove,
  signIn,
  t,
} from './passkeys-support.ts'
import { expectEvents, expectRefusal, statuses, times } from './support.ts'

describe('adding a passkey', () => {
  test('offers options that name this server, require user verification and exclude existing passkeys', async () => {
    const { who, key } = await holder()
    const { options } = await begin(who)
    expect(options).toMatchObject({
      rp: { id: 'localhost', name: 'Tutti' },
      user: { name: who.email, id: Buffer.from(who.userId).toString('base64url') },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: [{ id: key.credentialId, type: 'public-key', transports: ['hybrid', 'internal'] }],
      timeout: 300_000,
    })
    expect(Buffer.from(options.challenge, 'base64url').length).toBeGreaterThanOrEqual(16)
  })

  test('creates a record without key material, with a notice and a mail to a confirmed address', async () => {
    const who = await person(t)
    await prove(who)
    const key = authenticator()
    const { sessionId, options } = await begin(who)
    const made = await finish(who, { sessionId, name: ' this laptop ', response: key.create(options) })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/settings/passkeys/${made.body.id}`)
    expect(Object.keys(made.body).sort()).toEqual([
      'backedUp',
      'createdAt',
      'id',
      'lastUsedAt',
      'name',
      'transports',
      'updatedAt',
      'version',
    ])
    expect(made.body).toMatchObject({
      name: 'this laptop',
      transports: ['hybrid', 'internal'],
      backedUp: false,
      lastUsedAt: null,
      version: 1,
    })
    const [, added] = await expectEvents(t, made, 'passkeys.useChallenge', 'passkey.created', 'notification.created')
    expect(added).toMatchObject({ subjectId: made.body.id, userId: who.userId, data: { name: 'this laptop' } })
    const [notice] = await notices(who)
    expect(notice?.join(': ')).toStartWith(
      'security: A sign-in method was added: You can now sign in with the passkey “this laptop”.',
    )
    expect((await keptMail(t, who.email, 'new_way_in')).text).toContain('sign in with the passkey “this laptop”')
    const page = await who.fetch<PasskeyPage>('GET', '/api/settings/passkeys')
    expect(page.body).toEqual({ items: [made.body], nextCursor: null })
  })

  test('sends no mail to an unconfirmed address, which may belong to a stranger', async () => {
    const { who } = await holder()
    expect((await mailRows(t, who.email)).filter((mail) => mail.kind === 'new_way_in')).toEqual([])
    expect(await notices(who)).toHaveLength(1)
  })

  test('refuses a name without visible characters, and uses a default without a name', async () => {
    const who = await person(t)
    const { sessionId, options } = await begin(who)
    const response = authenticator().create(options)
    await expectRefusal(t, await finish(who, { sessionId, name: ' ', response }), 422, 'invalid')
    expect((await finish(who, { sessionId, response })).body.name).toBe('Passkey')
  })

  test('is refused for a credential id of another account', async () => {
    const { who, key } = await holder()
    const grace = await person(t)
    for (const other of [who, grace]) {
      const again = await add(other, key)
      expect([again.status, again.body]).toMatchObject([409, { code: 'conflict.exists' }])
    }
    expect((await grace.fetch<PasskeyPage>('GET', '/api/settings/passkeys')).body.items).toEqual([])
  })

  test.each<[string, (url: string) => Wrong]>([
    ['another origin', () => ({ origin: 'https://evil.example' })],
    ['a sub-domain', (url) => ({ origin: url.replace('//', '//sub.') })],
    ['the other scheme', (url) => ({ origin: url.replace('http:', 'https:') })],
    ['another port', (url) => ({ origin: url.replace(/\d+$/, '1') })],
    ['another rpId', () => ({ rpId: 'example.com' })],
    ['a person who was not verified', () => ({ verified: false })],
    ['nobody present', () => ({ present: false })],
    ['another challenge', () => ({ challenge: Buffer.alloc(32).toString('base64url') })],
    ['the other ceremony', () => ({ type: 'webauthn.get' })],
  ])('refuses an answer from or with %s', async (_, wrong) => {
    const who = await person(t)
    const key = authenticator()
    const { sessionId, options } = await begin(who)
    const answer = await finish(who, { sessionId, response: key.create(options, wrong(t.app.url)) })
    expect([answer.status, answer.body]).toMatchObject([
      422,
      { code: 'invalid', errors: [{ pointer: '/response', code: 'not_verified' }] },
    ])
    // Used up: the right answer comes too late.
    const late = await finish(who, { sessionId, response: key.create(options) })
    await expectRefusal(t, late, 410, 'gone')
    expect((await who.fetch<PasskeyPage>('GET', '/api/settings/passkeys')).body.items).toEqual([])
  })

  test('does not read certificates of an attestation, whose revocation lists name their own addresses', async () => {
    const who = await person(t)
    const { sessionId, options } = await begin(who)
    expect(
      (await finish(who, { sessionId, response: authenticator().create(options, { format: 'android-key' }) })).status,
    ).toBe(422)
    expect(logged.join('\n')).toContain('attestation of the format android-key')
  })

  test('refuses malformed input of any size', async () => {
    const who = await person(t)
    const { options } = await begin(who)
    const good = authenticator().create(options)
    const inner = good.response as object
    const strange = [
      {},
      { ...good, response: null },
      { ...good, response: 'x' },
      { ...good, id: 7, rawId: 7 },
      { ...good, response: { ...inner, attestationObject: 'AAAA' } },
      { ...good, response: { ...inner, attestationObject: 'v'.repeat(20_000) } },
      { ...good, response: { ...inner, clientDataJSON: 'e30' } },
      { ...good, response: { ...inner, clientDataJSON: 42 } },
    ]
    for (const response of strange) {
      const { sessionId } = await begin(who)
      const answer = await finish(who, { sessionId, response })
      expect([answer.status, answer.body]).toMatchObject([422, { errors: [{ pointer: '/response' }] }])
    }
    const { sessionId } = await begin(who)
    const large = await finish(who, { sessionId, response: { ...good, more: 'x'.repeat(33_000) } })
    expect((await expectRefusal(t, large, 422, 'invalid')).errors).toMatchObject([
      { pointer: '/response', code: 'too_long' },
    ])
  })

  test('accepts a challenge only in the session that requested it', async () => {
    const who = await person(t)
    const { token } = (await call<SignedIn>(t, 'POST', '/api/auth/login', { email: who.email, password: PASSWORD }))
      .body
    const elsewhere = { authorization: `Bearer ${token}` }
    const { sessionId, options } = await begin(who)
    const body = { sessionId, response: authenticator().create(options) }
    await expectRefusal(t, await call(t, 'POST', '/api/auth/passkey/register/finish', body, elsewhere), 410, 'gone')
    await expectRefusal(t, await finish(await person(t), body), 410, 'gone')
    // A challenge for signing in is none for adding, and the other way round.
    const login = await beginLogin()
    await expectRefusal(t, await finish(who, { ...body, sessionId: login.sessionId }), 410, 'gone')
    await expectRefusal(t, await finishLogin(body), 410, 'gone')
    expect((await finish(who, body)).status).toBe(201)
  })

  test('adds one passkey for ten simultaneous answers to one challenge', async () => {
    const who = await person(t)
    const { sessionId, options } = await begin(who)
    const answers = await Promise.all(
      times(10, () => finish(who, { sessionId, response: authenticator().create(options) })),
    )
    expect(statuses(answers)).toEqual([201, ...times(9, () => 410)])
  })

  test('fails if the session ends meanwhile, even at the last moment', async () => {
    const who = await person(t)
    const before = await newPasskey(t.app.url, who)
    // In the order of a proof of the mailbox: the account first, then its sessions.
    const tx = await t.app.driver.begin()
    await tx.query('update users set version = version + 1 where id = $1', [who.userId])
    const adding = finish(who, before)
    // The embedded database lets the other one wait before it begins.
    const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%for no key update%'`
    while (t.app.driver.kind === 'postgres' && (await t.app.driver.query(waits)).rows.length === 0);
    await tx.query('update login_sessions set revoked_at = now() where user_id = $1', [who.userId])
    await tx.commit([])
    expect((await adding).status).toBe(401)
    expect((await t.app.driver.query('select id from passkeys where user_id = $1', [who.userId])).rows).toHaveLength(0)
  })
})

describe('signing in with a passkey', () => {
  test('is refused if the passkey and all access are removed at the last moment', async () => {
    const { who, key, passkey } = await holder()
    const { sessionId, options } = await beginLogin()
    // In the order of a proof of the mailbox: the account first, then its passkeys and sessions.
    const tx = await t.app.driver.begin()
    await tx.query('update users set version = version + 1 where id = $1', [who.userId])
    await tx.query('delete from passkeys where id = $1', [passkey.id])
    const entering = finishLogin({ sessionId, response: key.get(options) })
    const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'update "passkeys"%'`
    while (t.app.driver.kind === 'postgres' && (await t.app.driver.query(waits)).rows.length === 0);
    await tx.query('update login_sessions set revoked_at = now() where user_id = $1', [who.userId])
    await tx.commit([])
    expect((await entering).status).toBe(401)
    const live = 'select 1 from login_sessions where user_id = $1 and revoked_at is null'
    expect((await t.app.driver.query(live, [who.userId])).rows).toEqual([])
  })

  test('gives no session that outlives a removal of all access at the same moment', async () => {
    for (const _ of times(4, () => 0)) {
      const { who, key } = await holder()
      const asked = await askByCode(t, who)
      const { sessionId, options } = await beginLogin()
      const [removed, entered] = await Promise.all([
        answerAsked(t, asked, { remove: true }),
        finishLogin({ sessionId, response: key.get(options) }),
      ])
      expect(removed.status).toBe(200)
      if (entered.status === 200)
        expect((await call(t, 'GET', '/api/auth/me', undefined, bearer(entered.body.token))).status).toBe(401)
      expect((await signIn(key)).status).toBe(401)
    }
  })

  test('returns a session and cookies, and updates counter and time of use', async () => {
    const { who, key, passkey } = await holder()
    const answer = await signIn(key)
    expect(answer.status).toBe(200)
    expect(answer.body.user.id).toBe(who.userId)
    const [signedIn] = await expectEvents(t, answer, 'user.signed_in')
    expect(signedIn).toMatchObject({ userId: who.userId, data: { via: 'passkey' } })
    const cookies = answer.headers.getSetCookie()
    expect(cookies).toHaveLength(3)
    expect(cookies[0]).toMatch(/^tutti_access=eyJ.*HttpOnly; SameSite=Lax/)
    expect(
      (await call(t, 'GET', '/api/auth/me', undefined, { cookie: cookies[0]?.split(';')[0] as string })).status,
    ).toBe(200)
    const [row] = await t.app.db.select().from(passkeys).where(eq(passkeys.id, passkey.id))
    expect(row).toMatchObject({ counter: key.counter, version: 1 })
    expect(row?.lastUsedAt).toBeString()
    // The way in counts as having proved who it is.
    const again = { authorization: `Bearer ${answer.body.token}` }
    expect((await call(t, 'POST', '/api/auth/passkey/register/begin', {}, again)).status).toBe(200)
  })

  test('reveals nothing about the named user, and names no credentials', async () => {
    const { who } = await holder()
    const answers = [
      await beginLogin(),
      await beginLogin(t, { email: who.email }),
      await beginLogin(t, { email: 'nobody@example.com' }),
    ]
    for (const { options } of answers)
      expect({ ...options, challenge: '' }).toEqual({
        challenge: '',
        rpId: 'localhost',
        allowCredentials: [],
        userVerification: 'required',
        timeout: 300_000,
      } as never)
    expect(new Set(answers.map((a) => a.options.challenge)).size).toBe(3)
  })

  test.each<[string, (url: string) => Wrong]>([
    ['another origin', () => ({ origin: 'https://evil.example' })],
    ['a sub-domain', (url) => ({ origin: url.replace('//', '//sub.') })],
    ['the other scheme', (url) => ({ origin: url.replace('http:', 'https:') })],
    ['another rpId', () => ({ rpId: 'example.com' })],
    ['a person who was not verified', () => ({ verified: false })],
    ['nobody present', () => ({ present: false })],
    ['another challenge', () => ({ challenge: Buffer.alloc(32).toString('base64url') })],
    ['the other ceremony', () => ({ type: 'webauthn.create' })],
    ['another key', () => ({ forged: true })],
    ['no user', () => ({ userHandle: '' })],
    ['another user', () => ({ userHandle: Buffer.from(Bun.randomUUIDv7()).toString('base64url') })],
    ['a credential nobody has', () => ({ credentialId: Buffer.alloc(32, 9).toString('base64url') })],
  ])('refuses an answer from or with %s, and logs it if it names a passkey', async (what, wrong) => {
    const { key } = await holder()
    const answer = await signIn(key, wrong(t.app.url))
    expect([answer.status, answer.body]).toMatchObject([401, { code: 'unauthenticated' }])
    expect(answer.headers.getSetCookie()).toEqual([])
    await expectEvents(t, answer, ...(what === 'a credential nobody has' ? [] : ['auth.sign_in_failed']))
    expect((await signIn(key)).status).toBe(200)
  })

  test('accepts an answer once', async () => {
    const { key } = await holder()
    const { sessionId, options } = await beginLogin()
    const body = { sessionId, response: key.get(options) }
    expect((await finishLogin(body)).status).toBe(200)
    await expectRefusal(t, await finishLogin(body), 410, 'gone')
    // Nor with a challenge that was asked for anew.
    const other = await beginLogin()
    expect((await finishLogin({ ...body, sessionId: other.sessionId })).status).toBe(401)
  })

  test('succeeds for one of ten simultaneous answers to one challenge', async () => {
    const { key } = await holder()
    const { sessionId, options } = await beginLogin()
    const answers = await Promise.all(times(10, () => finishLogin({ sessionId, response: key.get(options) })))
    expect(statuses(answers)).toEqual([200, ...times(9, () => 410)])
  })

  test('refuses a counter that goes back, logs it and notifies the owner', async () => {
    const { who, key, passkey } = await holder()
    expect((await signIn(key)).status).toBe(200)
    const { counter } = key
    for (const wrong of [{ counter }, { counter: counter - 1 }, { counter: 0 }]) {
      const answer = await signIn(key, wrong)
      expect([answer.status, answer.body]).toMatchObject([401, { code: 'unauthenticated' }])
      const [refused] = await expectEvents(t, answer, 'passkey.refused', 'notification.created')
      expect(refused).toMatchObject({
        subjectId: passkey.id,
        userId: who.userId,
        data: { reason: 'counter', counter: wrong.counter, known: counter },
      })
    }
    const [row] = await t.app.db.select().from(passkeys).where(eq(passkeys.id, passkey.id))
    expect(row?.counter).toBe(counter)
    expect((await signIn(key, { counter: counter + 1 })).status).toBe(200)
  })

  test('does not let a stranger who knows the credential id cause a counter warning', async () => {
    const { who, key } = await holder()
    await signIn(key)
    const before = (await notices(who)).length
    const answer = await signIn(key, { counter: 0, forged: true })
    await expectEvents(t, answer, 'auth.sign_in_failed')
    expect(await notices(who)).toHaveLength(before)
  })

  test('succeeds for one of two copies at the same moment', async () => {
    const { key } = await holder()
    const challenges = await Promise.all(times(5, () => beginLogin()))
    const answers = await Promise.all(
      challenges.map(({ sessionId, options }) =>
        finishLogin({ sessionId, response: key.get(options, { counter: 100 }) }),
      ),
    )
    expect(statuses(answers)).toEqual([200, 401, 401, 401, 401])
  })

  test('accepts an authenticator without a counter', async () => {
    const who = await person(t)
    const key = authenticator(t, 0)
    await add(who, key)
    expect([(await signIn(key)).status, (await signIn(key)).status]).toEqual([200, 200])
  })

  test('is refused for a suspended account, and stores nothing of the attempt', async () => {
    const { who, key, passkey } = await holder()
    await t.app.db.update(users).set({ status: 'suspended' }).where(eq(users.id, who.userId))
    expect((await signIn(key)).status).toBe(401)
    const [row] = await t.app.db.select().from(passkeys).where(eq(passkeys.id, passkey.id))
    expect(row?.lastUsedAt).toBeNull()
  })

  test('works while the password is locked after wrong guesses', async () => {
    const { who, key } = await holder()
    const guess = (password: string) => call(t, 'POST', '/api/auth/login', { email: who.email, password })
    for (let i = 0; i < 6; i++) await guess('not the password at all')
    expect((await guess(PASSWORD)).status).toBe(429)
    expect((await signIn(key)).status).toBe(200)
  })

  test('refuses malformed input', async () => {
    const { key } = await holder()
    for (const strange of [
      {},
      { id: key.credentialId },
      { id: { a: 1 } },
      { ...key.get({ challenge: 'x' }), response: null },
    ]) {
      const { sessionId } = await beginLogin()
      expect((await finishLogin({ sessionId, response: strange })).status).toBe(401)
    }
    await expectRefusal(t, await finishLogin({ sessionId: 'svc_one_made_up', response: {} }), 410, 'gone')
    await expectRefusal(t, await finishLogin({ sessionId: 'x', response: {}, userId: 'me' }), 422, 'invalid')
  })
})
