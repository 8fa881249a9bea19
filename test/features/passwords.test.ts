import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { needsRehash } from '../../src/auth/passwords.ts'
import { oneTimeSecrets } from '../../src/auth/table.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import { signIn } from '../../src/features/accounts/sessions.ts'
import { notifications } from '../../src/features/notifications/table.ts'
import * as keys from '../../src/features/tokens/keys.ts'
import * as tokens from '../../src/features/tokens/service.ts'
import { users } from '../../src/features/users/table.ts'
import { dump } from '../contract/tables.ts'
import { serverOver } from '../http/server.ts'
import {
  anyoneCtx,
  apiKey,
  call,
  logged,
  PASSWORD,
  person,
  sharedApp,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'
import { kept, keptMail, mailRows } from '../support/mail.ts'
import {
  type Asked,
  addIdentity,
  addPasskey,
  allClosed,
  allOpen,
  answerAsked,
  changeLink,
  deviceSession,
  everyCredential,
  impersonation,
  linkTo,
  login,
  mailedCode,
  me,
  NEW_PASSWORD,
  newAddress,
  otherLogins,
  post,
  proveAddress,
  provedPerson,
  refresh,
  resetLink,
  statusOf,
  userRow,
} from './accounts-support.ts'
import { expectEvent, expectEvents, expectRefusal, failure, statuses, TestClock, times, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})
const clock = new TestClock()
let timed: TestApp
beforeAll(async () => {
  timed = watch(await testApp({ background: 'off' }, clock.now))
})
afterAll(() => timed.close())

const reset = (at: TestApp, token: string, password = NEW_PASSWORD) => post(at, 'reset-password', { token, password })
const change = (at: TestApp, token: string, body: object = {}) =>
  post<SignedIn>(at, 'change-password', { currentPassword: PASSWORD, newPassword: NEW_PASSWORD, ...body }, token)

describe('resetting a forgotten password', () => {
  test('sends a mail with a link of this server, for the address in upper or lower case', async () => {
    const ada = await person(t)
    const asked = await post(t, 'forgot-password', { email: ada.email.toUpperCase() })
    expect([asked.status, asked.body]).toEqual([200, kept])
    expect(await expectEvent(t, asked, 'auth.reset_requested')).toMatchObject({ userId: ada.userId, data: {} })
    const mail = await keptMail(t, ada.email, 'reset')
    expect(mail.text).toContain(`${t.app.url}/reset#svc_one_`)
    expect(mail.text).toContain('30 minutes')
  })

  test('answers alike for an unknown and a suspended address, and sends no mail', async () => {
    const [ada, gone] = [await person(t), await person(t)]
    await t.app.db.update(users).set({ status: 'suspended' }).where(eq(users.id, gone.userId))
    const stranger = newAddress()
    const asked = await Promise.all(
      [ada.email, gone.email, stranger].map((email) => post(t, 'forgot-password', { email })),
    )
    const headers = (i: number) => [...(asked[i]?.headers.keys() ?? [])]
    for (const [i, { status, body }] of asked.entries())
      expect([status, body, headers(i)]).toEqual([200, kept, headers(0)])
    expect((await keptMail(t, ada.email, 'reset')).status).toBe('kept')
    for (const email of [gone.email, stranger])
      for (const mail of (await mailRows(t, email)).filter((m) => m.kind === 'reset'))
        expect([mail.status, mail.sealed]).toEqual(['failed', null])
    // Whatever was written down for them is about no account.
    const [row] = await t.app.db.select().from(oneTimeSecrets).where(eq(oneTimeSecrets.subject, stranger))
    expect(row?.userId).toBeNull()
  })

  test('takes the same number of statements whether the address is known or not', async () => {
    let statements = 0
    const counting = await serverOver(t, {
      query: (text, params, options) => {
        statements++
        return t.app.driver.query(text, params, options)
      },
      begin: async () => {
        const tx = await t.app.driver.begin()
        return {
          query: (text, params, options) => {
            statements++
            return tx.query(text, params, options)
          },
          defer: (statement) => {
            statements++
            tx.defer(statement)
          },
          commit: (last) => tx.commit(last),
          rollback: () => tx.rollback(),
        }
      },
    })
    const cost = async (email: string) => {
      const before = statements
      expect((await post(counting, 'forgot-password', { email })).status).toBe(200)
      return statements - before
    }
    const known = await cost((await person(t)).email)
    expect(known).toBeGreaterThan(4)
    expect(await cost(newAddress())).toBe(known)
    await counting.close()
  })

  test('mails one address once a minute and three times in 15 minutes, known or not', async () => {
    const limited = await testApp({ background: 'off', RATE_LIMIT_MAIL: '3' }, clock.now)
    const emails = [(await person(limited)).email, newAddress()]
    for (const email of emails) {
      const ask = () => post(limited, 'forgot-password', { email })
      expect([(await ask()).status, (await ask()).status]).toEqual([200, 429])
    }
    for (let i = 0; i < 2; i++) {
      clock.forward({ seconds: 61 })
      for (const email of emails) expect((await post(limited, 'forgot-password', { email })).status).toBe(200)
    }
    clock.forward({ seconds: 61 })
    for (const email of emails) expect((await post(limited, 'forgot-password', { email })).status).toBe(429)
    await limited.close()
  })

  test('works once with the link, and ends all access', async () => {
    const ada = await person(t)
    await proveAddress(t, ada)
    const held = await everyCredential(t, ada)
    const again = await everyCredential(t, ada)
    expect(await statusOf(t, again)).toEqual(allOpen)
    const token = await resetLink(t, ada.email)

    const done = await reset(t, token)
    expect([done.status, done.body]).toEqual([200, { reset: true }])
    expect(done.headers.getSetCookie()).toEqual([])
    const events = await expectEvents(t, done, 'notification.created', 'user.password_reset')
    expect(events[1]).toMatchObject({ subjectId: ada.userId, userId: ada.userId })
    expect(await statusOf(t, held)).toEqual(allClosed)
    expect((await ada.fetch('GET', '/api/auth/me')).status).toBe(401)

    expect((await login(t, ada.email)).status).toBe(401)
    expect((await login(t, ada.email, NEW_PASSWORD)).status).toBe(200)
    await expectRefusal(t, await reset(t, token), 410, 'gone')
    expect((await keptMail(t, ada.email, 'password_changed')).text).toContain(`${t.app.url}/forgot`)
    expect((await mailRows(t, ada.email)).filter((m) => m.kind === 'reset' && m.sealed)).toEqual([])
    const told = await t.app.db.select().from(notifications).where(eq(notifications.userId, ada.userId))
    expect(told.map((n) => [n.reason, n.title])).toEqual([['security', 'Your password was changed']])
  })

  test('succeeds for one of five simultaneous uses', async () => {
    const token = await resetLink(t, (await person(t, { confirmed: true })).email)
    expect(statuses(await Promise.all(times(5, () => reset(t, token))))).toEqual([200, 410, 410, 410, 410])
  })

  test('is possible for 30 minutes', async () => {
    const ada = await person(timed, { confirmed: true })
    const early = await resetLink(timed, ada.email)
    clock.forward({ minutes: 30, seconds: -1 })
    expect((await reset(timed, early)).status).toBe(200)
    const late = await resetLink(timed, ada.email)
    clock.forward({ minutes: 30 })
    await expectRefusal(timed, await reset(timed, late), 410, 'gone')
  })

  test('is refused with the link after a newer link, a new password, a new address or suspension', async () => {
    const ada = await person(t)
    const first = await resetLink(t, ada.email)
    const second = await resetLink(t, ada.email)
    await expectRefusal(t, await reset(t, first), 410, 'gone')
    const { body } = await change(t, ada.token)
    await expectRefusal(t, await reset(t, second), 410, 'gone')

    const third = await resetLink(t, ada.email)
    expect(
      (await post(t, 'email-change/confirm', { token: await changeLink(t, body, newAddress()) }, body.token)).status,
    ).toBe(200)
    await expectRefusal(t, await reset(t, third), 410, 'gone')

    const grace = await person(t)
    const fourth = await resetLink(t, grace.email)
    await t.app.db.update(users).set({ status: 'suspended' }).where(eq(users.id, grace.userId))
    await expectRefusal(t, await reset(t, fourth), 410, 'gone')
  })

  test('refuses a weak password and keeps the link valid; administrators need 15 characters', async () => {
    const boss = await person(t, { admin: true, confirmed: true })
    const token = await resetLink(t, boss.email)
    const weak = await expectRefusal(t, await reset(t, token, 'abcd efgh ijkl'), 422, 'invalid')
    expect(weak.errors).toMatchObject([{ pointer: '/password', code: 'too_short' }])
    await expectRefusal(t, await reset(t, token, boss.email), 422, 'invalid')
    expect((await reset(t, token)).status).toBe(200)
  })

  test('keeps passkeys and connected identities of an account whose address is confirmed', async () => {
    const ada = await person(t, { confirmed: true })
    await addPasskey(t, ada.userId)
    await addIdentity(t, ada.userId)
    expect((await reset(t, await resetLink(t, ada.email))).status).toBe(200)
    expect(await otherLogins(t, ada.userId)).toBe(2)
  })

  test('ends a concurrent sign-in with the old password', async () => {
    for (let round = 0; round < 4; round++) {
      const ada = await person(t, { confirmed: true })
      const token = await resetLink(t, ada.email)
      const exchange = () => post<SignedIn>(t, 'api-key-exchange', { email: ada.email, password: PASSWORD })
      const [done, ...others] = await Promise.all([
        reset(t, token),
        login(t, ada.email),
        exchange(),
        login(t, ada.email),
        exchange(),
      ])
      expect(done.status).toBe(200)
      for (const other of others) if (other.status < 300) expect((await me(t, other.body.token)).status).toBe(401)
    }
  })

  test('leaves nothing of a request that was authenticated a moment before', async () => {
    const ada = await person(t, { confirmed: true })
    const before = await ada.ctx()
    const passwordHash = (await userRow(t, ada.userId))?.passwordHash as string
    expect((await reset(t, await resetLink(t, ada.email))).status).toBe(200)
    const refused = { code: 'unauthenticated' }
    expect(await failure(signIn(anyoneCtx(t), { userId: ada.userId, via: 'password', passwordHash }))).toMatchObject(
      refused,
    )
    expect(await failure(keys.createKey(before, { name: 'late' }))).toMatchObject(refused)
    expect(
      await failure(tokens.createToken(before, { name: 'late', organizationId: ada.organizationId })),
    ).toMatchObject(refused)
  })

  test('ends the wait after failed sign-ins', async () => {
    const ada = await person(t, { confirmed: true })
    await Promise.all(times(5, () => login(t, ada.email, 'not the password at all')))
    expect((await login(t, ada.email)).status).toBe(429)
    expect((await reset(t, await resetLink(t, ada.email))).status).toBe(200)
    expect((await login(t, ada.email, NEW_PASSWORD)).status).toBe(200)
  })

  test('accepts no secret of another purpose, and its secret works nowhere else', async () => {
    const ada = await person(t)
    const secrets: Record<string, string> = {
      'reset-password': await resetLink(t, ada.email),
      'verify-email': await linkTo(t, ada.email, 'verify_email'),
      'email-change/confirm': await changeLink(t, ada, newAddress()),
    }
    const grace = await provedPerson(t)
    expect(
      (await post(t, 'email-change/confirm', { token: await changeLink(t, grace, newAddress()) }, grace.token)).status,
    ).toBe(200)
    secrets['email-change/undo'] = await linkTo(t, grace.email, 'email_undo')
    for (const door of Object.keys(secrets))
      for (const [kind, token] of [...Object.entries(secrets), ['nothing', 'nonsense'] as const]) {
        if (kind === door) continue
        const body = door === 'reset-password' ? { token, password: NEW_PASSWORD } : { token }
        expect([door, kind, (await post(t, door, body, ada.token)).status]).toEqual([door, kind, 410])
      }
  })
})

describe('changing a password', () => {
  test('ends every credential but the new pair of this browser, and notifies the owner', async () => {
    const ada = await provedPerson(t)
    const held = await everyCredential(t, ada)
    const changed = await change(t, ada.token)
    expect(changed.status).toBe(200)
    const events = await expectEvents(t, changed, 'notification.created', 'user.password_changed')
    expect(events[1]).toMatchObject({ userId: ada.userId, data: { keysKept: false } })
    expect(changed.headers.getSetCookie().join()).toContain(`tutti_access=${changed.body.token}`)

    expect(await statusOf(t, held)).toEqual(allClosed)
    expect((await me(t, ada.token)).status).toBe(401)
    expect((await refresh(t, ada.refreshToken)).status).toBe(401)
    expect((await me(t, changed.body.token)).body.id).toBe(ada.userId)
    expect((await refresh(t, changed.body.refreshToken)).status).toBe(200)
    expect((await login(t, ada.email)).status).toBe(401)
    expect((await login(t, ada.email, NEW_PASSWORD)).status).toBe(200)
    expect((await keptMail(t, ada.email, 'password_changed')).text).toContain('You changed your password')
  })

  test('sends no mail to an unconfirmed address, which may belong to a stranger', async () => {
    const eve = await person(t)
    expect((await change(t, eve.token)).status).toBe(200)
    expect((await mailRows(t, eve.email)).map((m) => m.kind)).toEqual(['verify_email'])
  })

  test('keeps keys only on request, right after a confirmation of identity', async () => {
    const ada = await person(timed)
    const key = await apiKey(timed, ada)
    const other = (await login(timed, ada.email)).body
    clock.forward({ minutes: 5, seconds: 1 })
    await expectRefusal(timed, await change(timed, ada.token, { keepKeys: true }), 403, 'forbidden.reauth')
    expect((await post(timed, 'reauth', { password: PASSWORD }, ada.token)).status).toBe(200)
    const changed = await change(timed, ada.token, { keepKeys: true })
    expect(changed.status).toBe(200)
    expect((await me(timed, key)).status).toBe(200)
    expect((await me(timed, other.token)).status).toBe(401)
    expect((await me(timed, ada.token)).status).toBe(401)
  })

  test('returns 403 for a wrong current password; after five, only changing is locked, not signing in', async () => {
    const ada = await person(t)
    const wrong = await change(t, ada.token, { currentPassword: 'not the password at all' })
    expect([wrong.status, wrong.body]).toMatchObject([403, { code: 'forbidden' }])
    expect(await expectEvent(t, wrong, 'auth.sign_in_failed')).toMatchObject({ userId: ada.userId })
    const guesses = await Promise.all(
      times(6, () => change(t, ada.token, { currentPassword: 'not the password at all' })),
    )
    expect(statuses(guesses)).toEqual([403, 403, 403, 403, 429, 429])
    expect((await change(t, ada.token)).status).toBe(429)
    expect((await post(t, 'reauth', { password: PASSWORD }, ada.token)).status).toBe(429)
    expect((await login(t, ada.email)).status).toBe(200)
  })

  test('needs the current password, if one is set', async () => {
    const ada = await person(t)
    const missing = await expectRefusal(t, await change(t, ada.token, { currentPassword: undefined }), 422, 'invalid')
    expect(missing.errors).toMatchObject([{ pointer: '/currentPassword', code: 'required' }])
    const weak = await expectRefusal(t, await change(t, ada.token, { newPassword: 'abcdefghijk' }), 422, 'invalid')
    expect(weak.errors).toMatchObject([{ pointer: '/newPassword', code: 'too_short' }])
  })

  test('sets a first password right after signing in', async () => {
    const ada = await person(timed)
    await timed.app.db.update(users).set({ passwordHash: null }).where(eq(users.id, ada.userId))
    const first = { currentPassword: undefined }
    clock.forward({ minutes: 5, seconds: 1 })
    await expectRefusal(timed, await change(timed, ada.token, first), 403, 'forbidden.reauth')
    const code = await mailedCode(timed, ada)
    expect((await post(timed, 'reauth', { code }, ada.token)).status).toBe(200)
    expect((await change(timed, ada.token, first)).status).toBe(200)
    expect((await login(timed, ada.email, NEW_PASSWORD)).status).toBe(200)
  })

  test('succeeds for one of two simultaneous changes', async () => {
    const ada = await person(t)
    const answers = await Promise.all(
      ['seven quiet lamps at dusk', 'eight quiet lamps at dawn'].map((p) => change(t, ada.token, { newPassword: p })),
    )
    // The other one finds its session ended, or the current password changed: whichever it looks at first.
    expect([
      [200, 401],
      [200, 403],
    ]).toContainEqual(statuses(answers))
    const winner = answers.find((a) => a.status === 200)?.body as SignedIn
    expect((await me(t, winner.token)).status).toBe(200)
  })

  test('is refused with a key and to an impersonator', async () => {
    const ada = await person(t)
    await expectRefusal(t, await change(t, await apiKey(t, ada)), 403, 'forbidden')
    await expectRefusal(t, await change(t, await impersonation(t, ada.userId)), 403, 'forbidden')
    expect((await call(t, 'POST', '/api/auth/change-password', {})).status).toBe(401)
    expect((await login(t, ada.email)).status).toBe(200)
  })

  test('on a device keeps its session a device session', async () => {
    const ada = await person(t)
    const device = await deviceSession(t, ada.userId)
    const changed = await change(t, device.token)
    expect(changed.status).toBe(200)
    await expectRefusal(t, await post(t, 'email-change', { email: newAddress() }, changed.body.token), 403, 'forbidden')
  })
})

describe('a password hash of an earlier version', () => {
  test('is recognised', async () => {
    const made = (memoryCost: number, timeCost: number) =>
      Bun.password.hash('x', { algorithm: 'argon2id', memoryCost, timeCost })
    expect(needsRehash(await made(19_456, 2))).toBe(false)
    expect(needsRehash(await made(65_536, 3))).toBe(false)
    expect(needsRehash(await made(8192, 2))).toBe(true)
    expect(needsRehash(await made(19_456, 1))).toBe(true)
    expect(needsRehash(await Bun.password.hash('x', { algorithm: 'bcrypt', cost: 4 }))).toBe(true)
  })

  test('is replaced at the next sign-in with the right password', async () => {
    const ada = await person(t)
    const old = await Bun.password.hash(PASSWORD, { algorithm: 'argon2id', memoryCost: 4096, timeCost: 1 })
    await t.app.db.update(users).set({ passwordHash: old }).where(eq(users.id, ada.userId))
    expect((await login(t, ada.email, 'not the password at all')).status).toBe(401)
    expect((await userRow(t, ada.userId))?.passwordHash).toBe(old)
    expect((await login(t, ada.email)).status).toBe(200)
    const fresh = (await userRow(t, ada.userId))?.passwordHash as string
    expect(fresh).toStartWith('$argon2id$v=19$m=19456,t=2,')
    expect((await login(t, ada.email)).status).toBe(200)
    expect((await userRow(t, ada.userId))?.passwordHash).toBe(fresh)
  })
})

test('links, codes and passwords are in no log, event or database column in clear text', async () => {
  const ada = await person(t)
  const password = `${unique('amber')} lamps at dusk`
  const link = await resetLink(t, ada.email)
  const verify = await linkTo(t, ada.email, 'verify_email')
  const asked = (await reset(t, link, password)) as unknown as Asked
  expect((await answerAsked(t, asked, { remove: true })).status).toBe(200)
  const { body } = await login(t, ada.email, password)
  const next = await change(t, body.token, { currentPassword: password })
  const secrets = [
    link,
    verify,
    asked.body.ticket,
    password,
    body.refreshToken,
    next.body.refreshToken,
    next.body.token,
  ]
  const [stored, lines] = [await dump(t.app.driver), logged.join('\n')]
  expect(secrets.filter((secret) => stored.includes(secret) || lines.includes(secret))).toEqual([])
})
