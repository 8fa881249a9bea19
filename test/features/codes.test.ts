import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { and, eq, isNull } from 'drizzle-orm'
import { newCode } from '../../src/auth/one-time-secrets.ts'
import { hashSecret } from '../../src/auth/secrets.ts'
import { oneTimeSecrets } from '../../src/auth/table.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import type { OrganizationPage } from '../../src/features/organizations/schema.ts'
import type { User } from '../../src/features/users/schema.ts'
import { users } from '../../src/features/users/table.ts'
import { type Answer, call, PASSWORD, person, type TestApp, testApp } from '../support/app.ts'
import { codeIn, kept, keptMail, mailRows } from '../support/mail.ts'
import {
  bearer,
  codeFor,
  invite,
  newAddress,
  prove,
  recordingApp,
  sendCode,
  sendLink,
  sessionsOf,
  suspend,
  verifyCode,
  wrongCode,
} from './codes-support.ts'
import {
  expectEvent,
  expectEvents,
  expectNoEvents,
  expectRefusal,
  statuses,
  TestClock,
  times,
  watch,
} from './support.ts'

const opened: TestApp[] = []
const open = async (settings: Record<string, string> = {}, clock?: () => Date): Promise<TestApp> => {
  const app = watch(await testApp({ background: 'off', ...settings }, clock))
  opened.push(app)
  return app
}
let t: TestApp
let closed: TestApp
beforeAll(async () => {
  t = await open()
  closed = await open({ REGISTRATION: 'closed' })
})
afterAll(() => Promise.all(opened.map((app) => app.close())))

const me = (token: string) => call<User>(t, 'GET', '/api/auth/me', undefined, bearer(token))
const openCodes = (email: string) =>
  t.app.db
    .select()
    .from(oneTimeSecrets)
    .where(
      and(
        eq(oneTimeSecrets.purpose, 'code'),
        eq(oneTimeSecrets.subject, email.toLowerCase()),
        isNull(oneTimeSecrets.usedAt),
      ),
    )
/** What a caller can see of an answer, but for what differs with every request. */
const seen = ({ status, body, headers }: Answer<unknown>) => ({
  status,
  body: { ...(body as object), requestId: '' },
  headers: [...headers.keys()].sort(),
})

describe('a sign-in code', () => {
  test('signs in the person who can read the mail, once', async () => {
    const ada = await person(t)
    await prove(t, ada)
    const asked = await sendCode(t, ada.email)
    expect([asked.status, asked.body]).toEqual([200, kept])
    expect(await expectEvent(t, asked, 'auth.code_requested')).toMatchObject({
      userId: ada.userId,
      subjectId: ada.userId,
    })
    const mail = await keptMail(t, ada.email, 'code')
    const code = codeIn(mail)
    expect(mail.text).toContain('10 minutes')

    const answer = await verifyCode(t, ada.email, code)
    expect(answer.status).toBe(200)
    expect(answer.body.user).toMatchObject({ id: ada.userId, email: ada.email })
    expect((await me(answer.body.token)).body.id).toBe(ada.userId)
    const cookies = answer.headers.getSetCookie()
    expect(cookies[0]).toBe(`tutti_access=${answer.body.token}; Path=/; Max-Age=900; HttpOnly; SameSite=Lax`)
    expect(cookies[1]).toStartWith(`tutti_refresh=${answer.body.refreshToken}; Path=/api/auth/refresh; `)
    const event = await expectEvent(t, answer, 'user.signed_in')
    expect(event).toMatchObject({ userId: ada.userId, data: { via: 'code' } })
    expect((await sessionsOf(t, ada.userId)).map((s) => s.via).sort()).toEqual(['code', 'password'])
    // The password stays as it was, and the mail says nothing any more.
    expect((await call(t, 'POST', '/api/auth/login', { email: ada.email, password: PASSWORD })).status).toBe(200)
    expect((await mailRows(t, ada.email, 'code')).map((m) => m.sealed)).toEqual([null])
    await expectWrong(await verifyCode(t, ada.email, code), null)
  })

  test('works for administrators and in upper or lower case; the mail goes to the account’s address', async () => {
    const ada = await person(t, { admin: true, confirmed: true })
    await sendCode(t, ada.email.toUpperCase())
    const code = codeIn(await keptMail(t, ada.email, 'code'))
    expect((await mailRows(t, ada.email, 'code')).map((m) => m.recipient)).toEqual([ada.email])
    expect((await verifyCode(t, ada.email.toUpperCase(), code)).body.user).toMatchObject({
      id: ada.userId,
      role: 'admin',
    })
  })

  test('is never mailed to an address that only looks like the account’s address', async () => {
    const kate = await person(t)
    // Both are a small letter of ours to toLowerCase or to a database, and another mailbox to a mail server.
    for (const email of [`\u212A${kate.email}`, `\u0130${kate.email}`]) {
      for (const path of ['otp/send', 'magic-link/send', 'forgot-password'])
        await expectRefusal(t, await call(t, 'POST', `/api/auth/${path}`, { email }), 422, 'invalid')
      const register = { email, password: PASSWORD, name: 'Kate' }
      await expectRefusal(t, await call(t, 'POST', '/api/auth/register', register), 422, 'invalid')
    }
  })

  test('is refused in the same words if it is wrong, expired, used or was never sent', async () => {
    const clock = new TestClock()
    const own = await open({}, clock.now)
    const ada = await person(own, { confirmed: true })
    const code = await codeFor(own, ada.email)
    const wrong = await verifyCode(own, ada.email, wrongCode(code))
    const never = await verifyCode(own, newAddress(), code)
    clock.forward({ minutes: 10 })
    const expired = await verifyCode(own, ada.email, code)
    const fresh = await codeFor(own, ada.email)
    clock.forward({ minutes: 9, seconds: 59 })
    expect((await verifyCode(own, ada.email, fresh)).status).toBe(200)
    const used = await verifyCode(own, ada.email, fresh)
    for (const answer of [wrong, never, expired, used]) expect(seen(answer)).toEqual(seen(wrong))
    expect(wrong).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
    await expectWrong(wrong, ada.userId, own)
    for (const answer of [expired, used, never]) await expectWrong(answer, null, own)
  })

  test('is invalid after five wrong attempts; a new code works', async () => {
    const ada = await person(t, { confirmed: true })
    const code = await codeFor(t, ada.email)
    for (let i = 1; i <= 5; i++) expect((await verifyCode(t, ada.email, wrongCode(code, i))).status).toBe(401)
    expect((await verifyCode(t, ada.email, code)).status).toBe(401)
    expect(await openCodes(ada.email)).toMatchObject([{ attempts: 5, sealed: null }])
    const next = await codeFor(t, ada.email)
    expect((await verifyCode(t, ada.email, next)).status).toBe(200)
  })

  test('is checked for at most five of a hundred simultaneous guesses', async () => {
    const ada = await person(t)
    const code = await codeFor(t, ada.email)
    const answers = await Promise.all(times(100, (i) => verifyCode(t, ada.email, wrongCode(code, i + 1))))
    expect(statuses(answers)).toEqual(times(100, () => 401))
    expect(await openCodes(ada.email)).toMatchObject([{ attempts: 5 }])
    expect((await verifyCode(t, ada.email, code)).status).toBe(401)
  })

  test('gives exactly one session to twenty simultaneous correct attempts', async () => {
    for (const email of [(await person(t, { confirmed: true })).email, newAddress()]) {
      const code = await codeFor(t, email)
      const answers = await Promise.all(times(20, () => verifyCode(t, email, code)))
      expect(statuses(answers)).toEqual([200, ...times(19, () => 401)])
      const { id } = (answers.find((a) => a.status === 200) as Answer<SignedIn>).body.user
      expect((await sessionsOf(t, id)).filter((s) => s.via === 'code' && !s.revokedAt)).toHaveLength(1)
    }
  })

  test('replaces the earlier one, even when ten are requested at once', async () => {
    const ada = await person(t, { confirmed: true })
    const first = await codeFor(t, ada.email)
    let second = await codeFor(t, ada.email)
    while (second === first) second = await codeFor(t, ada.email)
    expect((await verifyCode(t, ada.email, first)).status).toBe(401)
    expect((await verifyCode(t, ada.email, second)).status).toBe(200)

    await Promise.all(times(10, () => sendCode(t, ada.email)))
    expect(await openCodes(ada.email)).toHaveLength(1)
    expect((await mailRows(t, ada.email)).filter((m) => m.sealed !== null)).toHaveLength(1)
    expect((await verifyCode(t, ada.email, codeIn(await keptMail(t, ada.email, 'code')))).status).toBe(200)
  })

  test('counts attempts in the database, so another process continues the count', async () => {
    const ada = await person(t)
    const code = await codeFor(t, ada.email)
    const before = await open()
    for (let i = 1; i <= 3; i++) expect((await verifyCode(before, ada.email, wrongCode(code, i))).status).toBe(401)
    await before.close()
    const after = await open()
    for (let i = 4; i <= 5; i++) expect((await verifyCode(after, ada.email, wrongCode(code, i))).status).toBe(401)
    expect((await verifyCode(after, ada.email, code)).status).toBe(401)
  })

  test('still works while the password is locked after wrong guesses', async () => {
    const ada = await person(t, { confirmed: true })
    for (let i = 0; i < 5; i++)
      await call(t, 'POST', '/api/auth/login', { email: ada.email, password: 'not the password at all' })
    const locked = await call(t, 'POST', '/api/auth/login', { email: ada.email, password: PASSWORD })
    expect(locked.status).toBe(429)
    expect((await verifyCode(t, ada.email, await codeFor(t, ada.email))).status).toBe(200)
  })

  test('does not sign in a user who was suspended meanwhile', async () => {
    const ada = await person(t)
    const code = await codeFor(t, ada.email)
    await suspend(t, ada)
    await expectWrong(await verifyCode(t, ada.email, code), ada.userId)
  })

  test('is stored as a keyed hash, and sealed only until it is used', async () => {
    const ada = await person(t)
    const code = await codeFor(t, ada.email)
    const [row] = await openCodes(ada.email)
    expect(t.app.seal.open(row?.sealed as string)).toBe(code)
    // A plain hash of six digits is as good as the digits.
    for (const text of [code, `${ada.email}:${code}`]) expect(row?.hash).not.toBe(hashSecret(text))
    await verifyCode(t, ada.email, code)
    expect(
      await t.app.db
        .select()
        .from(oneTimeSecrets)
        .where(eq(oneTimeSecrets.id, row?.id as string)),
    ).toMatchObject([{ sealed: null }])
  })

  test.each([
    ['five digits', '12345'],
    ['seven digits', '1234567'],
    ['other digits', '１２３４５６'],
    ['letters', 'abcdef'],
  ])('has six digits: %s are refused', async (_, code) => {
    const answer = await verifyCode(t, newAddress(), code)
    expect((await expectRefusal(t, answer, 422, 'invalid')).errors?.[0]?.pointer).toBe('/code')
  })

  test('is any of a million numbers with equal probability', () => {
    const codes = times(100_000, newCode)
    expect(codes.every((code) => /^\d{6}$/.test(code))).toBe(true)
    for (const part of [(code: string) => code.slice(0, 3), (code: string) => code.slice(3)]) {
      const counts = new Map<string, number>()
      for (const code of codes) counts.set(part(code), (counts.get(part(code)) ?? 0) + 1)
      expect(counts.size).toBe(1000)
      const chi = [...counts.values()].reduce((sum, n) => sum + (n - 100) ** 2 / 100, 0)
      // 999 degrees of freedom: five standard deviations either side.
      expect(chi).toBeWithin(999 - 5 * Math.sqrt(2 * 999), 999 + 5 * Math.sqrt(2 * 999))
    }
  })
})

describe('requesting a code', () => {
  test('gets the same answer and runs the same statements for every address', async () => {
    const ada = await person(t)
    const gone = await person(t)
    await suspend(t, gone)
    const sending = await open({
      REGISTRATION: 'closed',
      SMTP_URL: 'smtp://127.0.0.1:9',
      MAIL_FROM: 'tutti@example.com',
    })
    for (const at of [t, closed, sending]) {
      const recording = await recordingApp(at)
      for (const send of [sendCode, sendLink]) {
        const ways: { answer: unknown; statements: string[] }[] = []
        for (const email of [ada.email, gone.email, newAddress()]) {
          // A second time, since caches and prepared statements are filled by the first.
          await send(recording, email)
          recording.statements.length = 0
          ways.push({ answer: seen(await send(recording, email)), statements: [...recording.statements] })
        }
        expect(ways[0]?.statements.length).toBeGreaterThan(5)
        expect(ways[1]).toEqual(ways[0]!)
        expect(ways[2]).toEqual(ways[0]!)
      }
      await recording.close()
    }
  })

  test('for a suspended account sends no mail, and the outbox says why', async () => {
    const gone = await person(t)
    await suspend(t, gone)
    expect((await sendCode(t, gone.email)).body).toEqual(kept)
    expect(await mailRows(t, gone.email, 'code')).toMatchObject([
      { sealed: null, status: 'failed', error: 'This account is suspended.' },
    ])
  })

  test('sends one mail a minute, three in a quarter of an hour and ten a day to an address', async () => {
    const clock = new TestClock()
    const own = await open({ RATE_LIMIT_MAIL: '3' }, clock.now)
    for (const email of [(await person(own)).email, newAddress()]) {
      const ask = async (send = sendCode) => {
        const { status, headers } = await send(own, email)
        return status === 429 ? Number(headers.get('retry-after')) : status
      }
      expect(await ask()).toBe(200)
      expect(await ask(sendLink)).toBe(60)
      clock.forward({ seconds: 59 })
      expect(await ask()).toBe(1)
      clock.forward({ seconds: 1 })
      expect(await ask()).toBe(200)
      clock.forward({ minutes: 1 })
      expect(await ask(sendLink)).toBe(200)
      clock.forward({ minutes: 1 })
      expect(await ask()).toBe(12 * 60)
      // Those that were refused do not count for the day: seven of ten are left.
      for (let i = 0; i < 7; i++) {
        clock.forward({ minutes: 15 })
        expect(await ask()).toBe(200)
      }
      clock.forward({ minutes: 15 })
      expect(await ask()).toBeWithin(3600, 86_400)
      expect((await mailRows(own, email)).filter((m) => m.kind !== 'verify_email')).toHaveLength(10)
      clock.forward({ days: 1 })
      expect(await ask()).toBe(200)
    }
    const email = newAddress()
    const answers = await Promise.all(times(20, () => sendCode(own, email)))
    expect(statuses(answers)).toEqual([200, ...times(19, () => 429)])
  })

  test('counts towards the login limit of the network, as entering the code does', async () => {
    const own = await open({ RATE_LIMIT_LOGIN: '4', TRUSTED_PROXIES: '127.0.0.1' })
    const network = `2001:db8:${(process.pid & 0xffff).toString(16)}:${Math.floor(Math.random() * 0xffff).toString(16)}`
    const from = (address: string) => ({ 'x-forwarded-for': address })
    const email = newAddress()
    expect((await sendCode(own, email, from(`${network}::1`))).status).toBe(200)
    expect((await sendLink(own, newAddress(), from(`${network}::2`))).status).toBe(200)
    expect((await verifyCode(own, email, '000000', from(`${network}::3`))).status).toBe(401)
    expect(
      (await call(own, 'POST', '/api/auth/login', { email, password: PASSWORD }, from(`${network}::4`))).status,
    ).toBe(401)
    const code = codeIn(await keptMail(own, email, 'code'))
    expect((await verifyCode(own, email, code, from(`${network}:a:b:c:d`))).status).toBe(429)
    expect((await sendCode(own, newAddress(), from(`${network}::5`))).status).toBe(429)
    expect((await verifyCode(own, email, code, from('2001:db8:ffff:ffff::1'))).status).toBe(200)
  })
})

describe('signing up with a code', () => {
  test('creates a confirmed account without a password', async () => {
    const email = newAddress('Ada.lovelace+work')
    const answer = await verifyCode(t, email, await codeFor(t, email))
    expect(answer.status).toBe(200)
    const { user, token } = answer.body
    expect(user).toMatchObject({ email: email.toLowerCase(), name: 'Ada Lovelace', role: 'user', status: 'active' })
    expect(user.emailVerifiedAt).toBeString()
    expect((await expectEvents(t, answer, 'user.registered', 'user.signed_in')).map((e) => e.userId)).toEqual([
      user.id,
      user.id,
    ])
    const [row] = await t.app.db.select({ hash: users.passwordHash }).from(users).where(eq(users.id, user.id))
    expect(row?.hash).toBeNull()
    const teams = await call<OrganizationPage>(t, 'GET', '/api/teams', undefined, bearer(token))
    expect(teams.body.items).toMatchObject([{ personal: true, role: 'owner' }])
    // From now on it is an account like any other.
    expect((await verifyCode(t, email, await codeFor(t, email))).body.user).toEqual(user)
  })

  test('is refused where the operator closed registration: no mail is sent and no code works', async () => {
    const email = newAddress()
    expect((await sendCode(closed, email)).body).toEqual(kept)
    expect(await mailRows(closed, email)).toMatchObject([{ sealed: null, status: 'failed' }])
    // One that was sent while it was open.
    const code = await codeFor(t, email)
    await expectWrong(await verifyCode(closed, email, code), null, closed)
    expect(await t.app.db.select().from(users).where(eq(users.email, email))).toEqual([])
  })

  test('where registration is closed still works for existing accounts and for invited addresses', async () => {
    const ada = await person(t, { confirmed: true })
    expect((await verifyCode(closed, ada.email, await codeFor(closed, ada.email))).status).toBe(200)
    const email = newAddress()
    await invite(closed, ada, email.toUpperCase())
    const answer = await verifyCode(closed, email, await codeFor(closed, email))
    expect(answer.body.user).toMatchObject({ email })
    // Joining the team needs their consent.
    const teams = await call<OrganizationPage>(t, 'GET', '/api/teams', undefined, bearer(answer.body.token))
    expect(teams.body.items).toHaveLength(1)
  })

  test.each([
    ['expired', { expiresAt: '2020-01-01T00:00:00.000Z' }],
    ['accepted', { acceptedAt: '2026-01-01T00:00:00.000Z' }],
    ['withdrawn', { closedAt: '2026-01-01T00:00:00.000Z' }],
    ['from a deleted inviter', { invitedById: null }],
  ])('where registration is closed is refused with an invite that is %s', async (_, over) => {
    const ada = await person(t)
    const email = newAddress()
    await invite(closed, ada, email, over)
    await sendCode(closed, email)
    expect(await mailRows(closed, email)).toMatchObject([{ sealed: null, status: 'failed' }])
  })

  test('is limited for each network; a refusal does not use up the code, and invited people do not count', async () => {
    const own = await open({ RATE_LIMIT_REGISTER: '1', TRUSTED_PROXIES: '127.0.0.1' })
    const here = { 'x-forwarded-for': `198.51.100.${Math.floor(Math.random() * 256)}` }
    const ada = await person(t, { confirmed: true })
    const [first, second, invited] = [newAddress(), newAddress(), newAddress()]
    await invite(own, ada, invited)
    expect((await verifyCode(own, first, await codeFor(own, first), here)).status).toBe(200)
    const code = await codeFor(own, second)
    expect((await verifyCode(own, second, code, here)).status).toBe(429)
    expect((await verifyCode(own, second, code, here)).status).toBe(429)
    expect((await verifyCode(own, invited, await codeFor(own, invited), here)).status).toBe(200)
    expect((await verifyCode(own, ada.email, await codeFor(own, ada.email), here)).status).toBe(200)
    expect((await verifyCode(own, second, code, { 'x-forwarded-for': '2001:db8::1' })).status).toBe(200)
  })
})

/** `userId`: of the account whose pending code was tried; without one, nothing is recorded. */
async function expectWrong(answer: Answer<unknown>, userId: string | null, at = t): Promise<void> {
  expect({ status: answer.status, code: (answer.body as { code: string }).code }).toEqual({
    status: 401,
    code: 'unauthenticated',
  })
  if (!userId) return void (await expectNoEvents(at, answer))
  expect(await expectEvent(at, answer, 'auth.sign_in_failed')).toMatchObject({ userId, data: { via: 'code' } })
}
