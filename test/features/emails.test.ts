import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import { notifications } from '../../src/features/notifications/table.ts'
import type { User } from '../../src/features/users/schema.ts'
import { users } from '../../src/features/users/table.ts'
import { apiKey, call, PASSWORD, type Person, person, sharedApp, type TestApp, testApp } from '../support/app.ts'
import { kept, keptMail, mailRows } from '../support/mail.ts'
import {
  addIdentity,
  addPasskey,
  allClosed,
  allOpen,
  bearer,
  changeLink,
  deviceSession,
  everyCredential,
  impersonation,
  linkTo,
  login,
  NEW_PASSWORD,
  newAddress,
  otherLogins,
  post,
  provedPerson,
  resetLink,
  statusOf,
  userRow,
} from './accounts-support.ts'
import { expectEvent, expectEvents, expectRefusal, statuses, TestClock, times, watch } from './support.ts'

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

const verify = (at: TestApp, token: string, body: object = {}) => post(at, 'verify-email', body, token)
const confirm = (at: TestApp, who: { token: string }, token: string) =>
  post(at, 'email-change/confirm', { token }, who.token)
const undo = (at: TestApp, token: string) => post(at, 'email-change/undo', { token })
const kinds = async (at: TestApp, email: string) => (await mailRows(at, email)).map((m) => m.kind)
const provedAt = async (who: Person) => (await userRow(t, who.userId))?.emailVerifiedAt

describe('confirming an address', () => {
  test('is requested by mail after registration, and done while signed in', async () => {
    const ada = await person(t)
    const mail = await keptMail(t, ada.email, 'verify_email')
    expect(mail.text).toContain(`${t.app.url}/verify-email#svc_one_`)
    expect(await provedAt(ada)).toBeNull()
    const done = await verify(t, ada.token, { token: await linkTo(t, ada.email, 'verify_email') })
    expect([done.status, done.body]).toEqual([200, { verified: true }])
    expect(await expectEvent(t, done, 'user.email_verified')).toMatchObject({
      subjectId: ada.userId,
      userId: ada.userId,
    })
    const { body } = await ada.fetch<User>('GET', '/api/auth/me')
    expect([typeof body.emailVerifiedAt, body.version]).toEqual(['string', 2])
    expect((await mailRows(t, ada.email)).filter((m) => m.sealed)).toEqual([])
  })

  test('can be requested again, which invalidates the earlier link', async () => {
    const ada = await person(t)
    const first = await linkTo(t, ada.email, 'verify_email')
    expect((await verify(t, ada.token)).body).toEqual(kept)
    const second = await linkTo(t, ada.email, 'verify_email')
    await expectRefusal(t, await verify(t, ada.token, { token: first }), 410, 'gone')
    expect((await verify(t, ada.token, { token: second })).body).toEqual({ verified: true })
    await expectRefusal(t, await verify(t, ada.token, { token: second }), 410, 'gone')
    // Nothing left to prove.
    const before = (await mailRows(t, ada.email)).length
    expect((await verify(t, ada.token)).body).toEqual({ verified: true })
    expect((await mailRows(t, ada.email)).length).toBe(before)
  })

  test('is refused unless signed in, so that a mailbox owner does not confirm a stranger’s account', async () => {
    const [thief, victim] = [await person(t), await person(t)]
    const token = await linkTo(t, thief.email, 'verify_email')
    expect((await call(t, 'POST', '/api/auth/verify-email', { token })).status).toBe(401)
    await expectRefusal(t, await verify(t, victim.token, { token }), 410, 'gone')
    for (const credential of [await apiKey(t, thief), await impersonation(t, thief.userId)])
      await expectRefusal(t, await verify(t, credential, { token }), 403, 'forbidden')
    expect(await provedAt(thief)).toBeNull()
    // The wrong hands have not used it up.
    expect((await verify(t, thief.token, { token })).body).toEqual({ verified: true })
  })

  test('is possible for 24 hours', async () => {
    const ada = await person(timed)
    const early = await linkTo(timed, ada.email, 'verify_email')
    clock.forward({ days: 1, seconds: -1 })
    const pair = (await login(timed, ada.email)).body
    expect((await verify(timed, pair.token, { token: early })).status).toBe(200)
    const grace = await person(timed)
    const late = await linkTo(timed, grace.email, 'verify_email')
    clock.forward({ days: 1 })
    await expectRefusal(
      timed,
      await verify(timed, (await login(timed, grace.email)).body.token, { token: late }),
      410,
      'gone',
    )
  })

  test('is limited to the usual number of mails', async () => {
    const limited = await testApp({ background: 'off', RATE_LIMIT_MAIL: '3' }, clock.now)
    const ada = await person(limited)
    expect([(await verify(limited, ada.token)).status, (await verify(limited, ada.token)).status]).toEqual([200, 429])
    await limited.close()
  })
})

describe('changing the address', () => {
  test('is confirmed from the new mailbox, ends every credential, and notifies the old mailbox', async () => {
    const ada = await provedPerson(t)
    const held = await everyCredential(t, ada)
    const again = await everyCredential(t, ada)
    const email = newAddress()
    const asked = await post(t, 'email-change', { email }, ada.token)
    expect([asked.status, asked.body]).toEqual([200, kept])
    expect(JSON.stringify(await expectEvent(t, asked, 'user.email_change_requested'))).not.toContain(email)
    const mail = await keptMail(t, email, 'email_change')
    expect(mail.text).toContain(`${t.app.url}/confirm-email#svc_one_`)
    expect(mail.text).toContain(ada.email)
    expect(await statusOf(t, again)).toEqual(allOpen)
    expect((await ada.fetch<User>('GET', '/api/auth/me')).body.email).toBe(ada.email)

    const token = await linkTo(t, email, 'email_change')
    const done = await confirm(t, ada, token)
    expect([done.status, done.body]).toEqual([200, { changed: true }])
    const events = await expectEvents(t, done, 'notification.created', 'user.email_changed')
    expect(events[1]).toMatchObject({ subjectId: ada.userId, userId: ada.userId })
    expect(await statusOf(t, held)).toEqual(allClosed)
    expect((await ada.fetch('GET', '/api/auth/me')).status).toBe(401)
    expect((await login(t, ada.email)).status).toBe(401)
    const back = await login(t, email)
    expect(back.body.user).toMatchObject({ id: ada.userId, email, emailVerifiedAt: expect.any(String) })
    expect((await keptMail(t, ada.email, 'email_undo')).text).toContain(`${t.app.url}/undo-email#svc_one_`)
    await expectRefusal(t, await confirm(t, back.body, token), 410, 'gone')
    const told = await t.app.db.select().from(notifications).where(eq(notifications.userId, ada.userId))
    expect(told.map((n) => n.reason)).toEqual(['security'])
  })

  test('does not reveal whether an address has an account; its mailbox is notified', async () => {
    const [ada, grace] = [await person(t), await person(t)]
    const pending = await changeLink(t, ada, newAddress())
    const asked = await post(t, 'email-change', { email: grace.email.toUpperCase() }, ada.token)
    const free = await post(t, 'email-change', { email: newAddress() }, (await person(t)).token)
    expect([asked.status, asked.body, [...asked.headers.keys()]]).toEqual([
      free.status,
      free.body,
      [...free.headers.keys()],
    ])
    const mail = await keptMail(t, grace.email, 'email_taken')
    expect(mail.text).not.toContain('svc_one_')
    expect(mail.text).not.toContain(ada.email)
    // A new request replaces the one before, whatever becomes of it.
    await expectRefusal(t, await confirm(t, ada, pending), 410, 'gone')
  })

  test('is limited, so that an account cannot be used to mail strangers', async () => {
    const ada = await person(t)
    const asked = await Promise.all(times(12, () => post(t, 'email-change', { email: newAddress() }, ada.token)))
    expect(statuses(asked)).toEqual([...times(10, () => 200), 429, 429])
  })

  test('to the current one is refused', async () => {
    const ada = await person(t)
    await expectRefusal(t, await post(t, 'email-change', { email: ada.email.toUpperCase() }, ada.token), 422, 'invalid')
  })

  test('requires a recent confirmation of identity: no old session, device, key or impersonator', async () => {
    const ada = await person(timed)
    const change = (token: string) => post(timed, 'email-change', { email: newAddress() }, token)
    const { token: device } = await deviceSession(timed, ada.userId)
    for (const token of [device, await apiKey(timed, ada), await impersonation(timed, ada.userId)])
      await expectRefusal(timed, await change(token), 403, 'forbidden')
    clock.forward({ minutes: 5, seconds: 1 })
    await expectRefusal(timed, await change(ada.token), 403, 'forbidden.reauth')
    expect((await call(timed, 'POST', '/api/auth/email-change', { email: newAddress() })).status).toBe(401)
  })

  test('with the mailed link works for an hour, and not after a new password or suspension', async () => {
    const ada = await person(timed, { confirmed: true })
    const late = await changeLink(timed, ada, newAddress())
    clock.forward({ minutes: 60 })
    await expectRefusal(timed, await confirm(timed, (await login(timed, ada.email)).body, late), 410, 'gone')

    // A thief of a session asks; the owner takes the account back before it is confirmed.
    const grace = await person(t, { confirmed: true })
    const stolen = await changeLink(t, grace, newAddress())
    expect(
      (await post(t, 'reset-password', { token: await resetLink(t, grace.email), password: NEW_PASSWORD })).status,
    ).toBe(200)
    await expectRefusal(t, await confirm(t, (await login(t, grace.email, NEW_PASSWORD)).body, stolen), 410, 'gone')

    const eve = await person(t, { confirmed: true })
    const token = await changeLink(t, eve, newAddress())
    await t.app.db.update(users).set({ status: 'suspended' }).where(eq(users.id, eve.userId))
    await expectRefusal(t, await confirm(t, eve, token), 401, 'unauthenticated')
  })

  test('to one that is taken meanwhile is refused; of two simultaneous claims one succeeds', async () => {
    const [ada, grace, eve] = [await person(t), await person(t), await person(t)]
    const taken = newAddress()
    const token = await changeLink(t, ada, taken)
    expect((await post(t, 'register', { email: taken, password: PASSWORD, name: 'Quick' })).status).toBe(201)
    await expectRefusal(t, await confirm(t, ada, token), 409, 'conflict.exists')
    const wanted = newAddress()
    const links = [
      { who: grace, link: await changeLink(t, grace, wanted) },
      { who: eve, link: await changeLink(t, eve, wanted) },
    ]
    expect(statuses(await Promise.all(links.map(({ who, link }) => confirm(t, who, link))))).toEqual([200, 409])
  })

  test('while someone registers with the new one leaves it to one account', async () => {
    for (const _ of times(4, () => 0)) {
      const [ada, wanted] = [await person(t), newAddress()]
      const token = await changeLink(t, ada, wanted)
      const [changed, registered] = await Promise.all([
        confirm(t, ada, token),
        post(t, 'register', { email: wanted.toUpperCase(), password: PASSWORD, name: 'Quick' }),
      ])
      expect([
        [200, 409],
        [409, 201],
      ]).toContainEqual([changed.status, registered.status])
      const owners = 'select id from users where lower(email) = $1'
      expect((await t.app.driver.query(owners, [wanted.toLowerCase()])).rows).toHaveLength(1)
    }
  })

  test('counts once for five simultaneous confirmations', async () => {
    const ada = await person(t)
    const token = await changeLink(t, ada, newAddress())
    const [first, ...others] = statuses(await Promise.all(times(5, () => confirm(t, ada, token))))
    expect(first).toBe(200)
    // Late ones find the link used, or their session ended.
    for (const status of others) expect([401, 410]).toContain(status)
  })

  test('is confirmed only by a user who is signed in to the account', async () => {
    const [thief, victim] = [await provedPerson(t), await person(t)]
    const token = await changeLink(t, thief, newAddress())
    await expectRefusal(t, await post(t, 'email-change/confirm', { token }), 401, 'unauthenticated')
    await expectRefusal(t, await confirm(t, victim, token), 410, 'gone')
    expect((await userRow(t, thief.userId))?.email).toBe(thief.email)
    // Nobody used it up for the one whose it is.
    expect((await confirm(t, thief, token)).status).toBe(200)
  })
})

describe('undoing a change of address', () => {
  /** A thief with a fresh session moves the account to another mailbox. */
  const moved = async (at: TestApp, from: { token: string }, email = newAddress()): Promise<SignedIn> => {
    expect((await confirm(at, from, await changeLink(at, from, email))).status).toBe(200)
    return (await login(at, email)).body
  }

  test('restores the old address and ends all access, including everything the thief set up', async () => {
    const ada = await provedPerson(t)
    const thief = await moved(t, ada)
    await addPasskey(t, ada.userId)
    await addIdentity(t, ada.userId)
    const key = await call<{ token: string }>(
      t,
      'POST',
      '/api/settings/api-keys',
      { name: 'mine' },
      bearer(thief.token),
    )
    const token = await linkTo(t, ada.email, 'email_undo')

    const done = await undo(t, token)
    expect([done.status, done.body]).toEqual([200, { restored: true }])
    await expectEvents(t, done, 'notification.created', 'user.email_restored')
    const row = await userRow(t, ada.userId)
    expect([row?.email, row?.passwordHash]).toEqual([ada.email, null])
    expect(await otherLogins(t, ada.userId)).toBe(0)
    for (const secret of [thief.token, key.body.token])
      expect((await call(t, 'GET', '/api/auth/me', undefined, bearer(secret))).status).toBe(401)
    expect((await post(t, 'refresh', { refreshToken: thief.refreshToken })).status).toBe(401)
    expect((await login(t, thief.user.email)).status).toBe(401)
    expect((await login(t, ada.email)).status).toBe(401)
    await expectRefusal(t, await undo(t, token), 410, 'gone')
    // The owner comes back with her mailbox.
    expect(
      (await post(t, 'reset-password', { token: await resetLink(t, ada.email), password: NEW_PASSWORD })).status,
    ).toBe(200)
    expect((await login(t, ada.email, NEW_PASSWORD)).body.user.id).toBe(ada.userId)
  })

  test('wins over a further change that the thief confirms at the same moment', async () => {
    for (const _ of times(4, () => 0)) {
      const ada = await provedPerson(t)
      const [second, third] = [newAddress(), newAddress()]
      const thief = await moved(t, ada, second)
      const further = await changeLink(t, thief, third)
      const back = await linkTo(t, ada.email, 'email_undo')
      const [restored, changed] = await Promise.all([undo(t, back), confirm(t, thief, further)])
      expect(restored.status).toBe(200)
      expect([200, 401, 410]).toContain(changed.status)
      const row = await userRow(t, ada.userId)
      expect([row?.email, row?.passwordHash]).toEqual([ada.email, null])
      expect((await call(t, 'GET', '/api/auth/me', undefined, bearer(thief.token))).status).toBe(401)
      // Nor does the thief have a link back to the second address.
      if (changed.status === 200) expect((await undo(t, await linkTo(t, second, 'email_undo'))).status).toBe(410)
    }
  })

  test('is impossible for an address that was never confirmed, because it may belong to a stranger', async () => {
    const ada = await person(t)
    await moved(t, ada)
    expect(await kinds(t, ada.email)).toEqual(['verify_email'])
    expect((await post(t, 'register', { email: ada.email, password: PASSWORD, name: 'Its owner' })).status).toBe(201)
  })

  test('works after the thief has changed the password and moved to a third address', async () => {
    const ada = await provedPerson(t)
    const second = newAddress()
    const thief = await moved(t, ada, second)
    const changed = await post<SignedIn>(
      t,
      'change-password',
      { currentPassword: PASSWORD, newPassword: NEW_PASSWORD },
      thief.token,
    )
    const third = newAddress()
    expect((await confirm(t, changed.body, await changeLink(t, changed.body, third))).status).toBe(200)
    const thiefs = await linkTo(t, second, 'email_undo')
    expect((await undo(t, await linkTo(t, ada.email, 'email_undo'))).status).toBe(200)
    expect((await userRow(t, ada.userId))?.email).toBe(ada.email)
    // The thief's own link for undoing no longer works.
    await expectRefusal(t, await undo(t, thiefs), 410, 'gone')
  })

  test('by the thief does not invalidate the link of the owner', async () => {
    const ada = await provedPerson(t)
    const second = newAddress()
    const thief = await moved(t, ada, second)
    await moved(t, thief)
    expect((await undo(t, await linkTo(t, second, 'email_undo'))).status).toBe(200)
    expect((await undo(t, await linkTo(t, ada.email, 'email_undo'))).status).toBe(200)
    expect((await userRow(t, ada.userId))?.email).toBe(ada.email)
  })

  test('stays possible: no one else can take the old address, and its owner can return to it', async () => {
    const ada = await provedPerson(timed)
    const thief = await moved(timed, ada)
    const register = () =>
      post(timed, 'register', { email: ada.email.toUpperCase(), password: PASSWORD, name: 'Squatter' })
    await expectRefusal(timed, await register(), 409, 'conflict.exists')
    const grace = await person(timed)
    expect((await post(timed, 'email-change', { email: ada.email }, grace.token)).status).toBe(200)
    expect(await kinds(timed, ada.email)).toContain('email_taken')
    expect(await kinds(timed, ada.email)).not.toContain('email_change')
    expect((await undo(timed, await linkTo(timed, ada.email, 'email_undo'))).status).toBe(200)

    const eve = await provedPerson(timed)
    const moving = await moved(timed, eve)
    await moved(timed, moving, eve.email)
    expect((await userRow(timed, eve.userId))?.email).toBe(eve.email)
    expect(thief.user.id).toBe(ada.userId)
  })

  test('works for 24 hours; then the old address is free', async () => {
    const ada = await provedPerson(timed)
    await moved(timed, ada)
    const token = await linkTo(timed, ada.email, 'email_undo')
    clock.forward({ days: 1 })
    await expectRefusal(timed, await undo(timed, token), 410, 'gone')
    expect((await post(timed, 'register', { email: ada.email, password: PASSWORD, name: 'New' })).status).toBe(201)
  })

  test('is safe from a registration that waits for the change', async () => {
    for (let round = 0; round < 5; round++) {
      const ada = await provedPerson(t)
      const link = await changeLink(t, ada, newAddress())
      const register = () => post(t, 'register', { email: ada.email, password: PASSWORD, name: 'Squatter' })
      const [changed, ...squatters] = await Promise.all([confirm(t, ada, link), ...times(4, register)])
      expect([changed.status, ...statuses(squatters)]).toEqual([200, 409, 409, 409, 409])
    }
  })
})
