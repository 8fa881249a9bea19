import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { hashSecret } from '../../src/auth/secrets.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import type { DeviceStarted } from '../../src/features/devices/schema.ts'
import { deviceCodes } from '../../src/features/devices/table.ts'
import { notifications } from '../../src/features/notifications/table.ts'
import { loginSessions } from '../../src/features/users/table.ts'
import { call, PASSWORD, type Person, person, systemCtx, type TestApp } from '../support/app.ts'
import { mailRows } from '../support/mail.ts'
import { provedPerson } from './accounts-support.ts'
import { approve, Devices, look, network } from './devices-support.ts'
import { expectEvent, expectEvents, expectNoEvents, expectRefusal, statuses, times } from './support.ts'

const d = new Devices()
const { clock } = d
let t: TestApp
let ada: Person
beforeAll(async () => {
  t = await d.start()
})
afterAll(() => d.close())
/** Access tokens and recent sign-ins run out while the clock moves, so each test has people of its own. */
beforeEach(async () => {
  ada = await provedPerson(t)
})

describe('D1: requesting and polling a device code', () => {
  test('returns random codes, a long and a short one, and stores only their hashes', async () => {
    const many = await Promise.all(times(25, () => d.request()))
    for (const { deviceCode, userCode, ...rest } of many) {
      expect(Buffer.from(deviceCode, 'base64url')).toHaveLength(32)
      expect(deviceCode).toMatch(/^[\w-]{43}$/)
      expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
      expect(rest).toEqual({
        verificationUri: `${t.app.url}/device`,
        verificationUriComplete: `${t.app.url}/device?code=${userCode}`,
        expiresIn: 600,
        interval: 5,
      })
    }
    expect(new Set(many.flatMap((d) => [d.deviceCode, d.userCode])).size).toBe(50)
    // 200 letters of 20: each is missing with a chance of 1 in 28,000.
    expect(new Set(many.flatMap((d) => [...d.userCode])).size).toBeGreaterThan(18)
    const stored = JSON.stringify(await t.app.db.select().from(deviceCodes))
    for (const { deviceCode, userCode } of many)
      for (const secret of [deviceCode, userCode, userCode.replace('-', '')]) expect(stored).not.toContain(secret)
    // A plain hash of eight letters would be tried out in no time.
    for (const { userCode } of many) expect(stored).not.toContain(hashSecret(userCode.replace('-', '')))
  })

  test('accepts a name for the device and keeps it on one line', async () => {
    const shown = async (body: object) => (await look(ada, (await d.request(body)).userCode)).body.clientName
    expect(await shown({})).toBe('Unnamed device')
    expect(await shown({ clientName: 'tutti on laptop\u202e\n\u0007!' })).toBe('tutti on laptop !')
    for (const body of [{ clientName: '' }, { clientName: 'x'.repeat(101) }, { clientName: 1 }, { scope: 'all' }])
      expect((await call(t, 'POST', '/api/auth/device/request', body, network())).status).toBe(422)
  })

  test('answers pending, then slow_down with five more seconds each time', async () => {
    const { deviceCode } = await d.request()
    const first = await d.expectPoll(deviceCode, 'authorization_pending')
    expect(first.headers.get('retry-after')).toBe('5')
    clock.forward({ seconds: 5 })
    await d.expectPoll(deviceCode, 'authorization_pending')
    clock.forward({ seconds: 4 })
    expect((await d.expectPoll(deviceCode, 'slow_down')).headers.get('retry-after')).toBe('10')
    clock.forward({ seconds: 9 })
    expect((await d.expectPoll(deviceCode, 'slow_down')).headers.get('retry-after')).toBe('15')
    clock.forward({ seconds: 15 })
    expect((await d.expectPoll(deviceCode, 'authorization_pending')).headers.get('retry-after')).toBe('15')
    clock.forward({ seconds: 14 })
    await d.expectPoll(deviceCode, 'slow_down')
    expect(await d.row(deviceCode)).toMatchObject({ status: 'pending', interval: 20 })
  })

  test('slows down all but the first of twenty simultaneous polls', async () => {
    const { deviceCode } = await d.request()
    const answers = await Promise.all(times(20, () => d.poll(deviceCode)))
    expect(answers.map((a) => a.body.error).sort()).toEqual([
      'authorization_pending',
      ...times(19, () => 'slow_down' as const),
    ])
    expect((await d.row(deviceCode))?.interval).toBe(100)
  })

  test('returns a session once after the approval, also when polled too soon', async () => {
    const { deviceCode, userCode } = await d.request()
    await d.expectPoll(deviceCode, 'authorization_pending')
    expect((await approve(ada, userCode)).body).toMatchObject({ status: 'approved', clientName: 'tutti on laptop' })
    const { status, body, headers } = await d.poll(deviceCode)
    expect({ status, user: body.user.id, cookie: headers.get('set-cookie') }).toEqual({
      status: 200,
      user: ada.userId,
      cookie: null,
    })
    expect((await call(t, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${body.token}` })).body.id).toBe(
      ada.userId,
    )
    await d.expectPoll(deviceCode, 'expired_token')
    expect((await approve(ada, userCode)).status).toBe(409)
    expect((await look(ada, userCode)).body.status).toBe('used')
  })

  test('answers access_denied after a refusal', async () => {
    const { deviceCode, userCode } = await d.request()
    expect((await approve(ada, userCode, { deny: true })).body.status).toBe('denied')
    await d.expectPoll(deviceCode, 'access_denied')
    const again = await approve(ada, userCode)
    expect({ status: again.status, detail: again.body.detail }).toEqual({
      status: 409,
      detail: 'You have already refused this device.',
    })
    await d.expectPoll(deviceCode, 'access_denied')
  })

  test('answers expired_token after 600 seconds, whatever was decided', async () => {
    const [pending, approved, denied] = await Promise.all([d.request(), d.request(), d.request()])
    clock.forward({ seconds: 599 })
    await approve(ada, approved.userCode)
    await approve(ada, denied.userCode, { deny: true })
    await d.expectPoll(pending.deviceCode, 'authorization_pending')
    clock.forward({ seconds: 1 })
    for (const { deviceCode, userCode } of [pending, approved, denied]) {
      await d.expectPoll(deviceCode, 'expired_token')
      expect((await look(ada, userCode)).status).toBe(404)
    }
    expect((await approve(ada, pending.userCode)).status).toBe(404)
    expect(await t.app.db.select().from(loginSessions).where(eq(loginSessions.userId, ada.userId))).toHaveLength(1)
  })

  test('continues after a restart', async () => {
    const before = await d.start()
    const [waiting, answered] = await Promise.all([d.request({}, before), d.request({}, before)])
    await d.expectPoll(waiting.deviceCode, 'authorization_pending', before)
    await d.expectPoll(waiting.deviceCode, 'slow_down', before)
    await approve(ada, answered.userCode)
    await before.close()
    const after = await d.start()
    clock.forward({ seconds: 9 })
    await d.expectPoll(waiting.deviceCode, 'slow_down', after)
    expect((await d.poll(answered.deviceCode, after)).status).toBe(200)
    await d.expectPoll(answered.deviceCode, 'expired_token', after)
  })

  test('returns the session to exactly one of 20 simultaneous polls on two instances', async () => {
    const other = await d.start()
    const { deviceCode, userCode } = await d.request()
    await approve(ada, userCode)
    const answers = await Promise.all(times(20, (i) => d.poll(deviceCode, i % 2 ? t : other)))
    expect(statuses(answers)).toEqual([200, ...times(19, () => 400)])
    for (const { body } of answers.filter((a) => a.status === 400)) expect(body.error).toBe('expired_token')
    expect(
      (await t.app.db.select().from(loginSessions).where(eq(loginSessions.userId, ada.userId)))
        .map((s) => s.via)
        .sort(),
    ).toEqual(['device', 'password'])
  })

  test('is limited for each network', async () => {
    const few = await d.start({ RATE_LIMIT_DEVICE: '3' })
    const from = network()
    const ask = (headers: Record<string, string>) => call(few, 'POST', '/api/auth/device/request', {}, headers)
    expect(statuses(await Promise.all(times(5, () => ask(from))))).toEqual([200, 200, 200, 429, 429])
    // The same /64, spelled otherwise.
    expect(
      (await ask({ 'x-forwarded-for': from['x-forwarded-for']?.replace('::7', ':0:ABCD::9') as string })).status,
    ).toBe(429)
    expect((await ask(network())).status).toBe(200)
    clock.forward({ minutes: 10 })
    expect((await ask(from)).status).toBe(200)
    expect(t.app.config.RATE_LIMIT_DEVICE).toBe(30)
  })
})

describe('D5: theft of a device code', () => {
  test('is useless with only the code that the person sees', async () => {
    const { deviceCode, userCode } = await d.request()
    await approve(ada, userCode)
    const stored = await d.row(deviceCode)
    const changed = `${deviceCode[0] === 'A' ? 'B' : 'A'}${deviceCode.slice(1)}`
    for (const guess of [
      userCode,
      userCode.replace('-', ''),
      changed,
      stored?.deviceHash,
      stored?.userHash,
      stored?.id,
      `${deviceCode} `,
    ])
      await expectNoEvents(t, await d.expectPoll(guess as string, 'expired_token'))
    expect((await d.poll(deviceCode)).status).toBe(200)
  })

  test('gives no session once the account was taken over by the operator', async () => {
    const { deviceCode, userCode } = await d.request()
    await approve(ada, userCode)
    await accounts.createAdmin(systemCtx(t), { email: ada.email, name: 'Ada', password: PASSWORD })
    await d.expectPoll(deviceCode, 'expired_token')
  })

  test('gives no session once the account was suspended', async () => {
    const { deviceCode, userCode } = await d.request()
    await approve(ada, userCode)
    await t.app.driver.query(`update users set status = 'suspended' where id = $1`, [ada.userId])
    await d.expectPoll(deviceCode, 'access_denied')
    await t.app.driver.query(`update users set status = 'active' where id = $1`, [ada.userId])
    await d.expectPoll(deviceCode, 'expired_token')
  })

  test('is noticed: the person gets a mail and a notice, and every step leaves an event without secrets', async () => {
    const asked = await call<DeviceStarted>(
      t,
      'POST',
      '/api/auth/device/request',
      { clientName: 'tutti on laptop' },
      network(),
    )
    const { deviceCode, userCode } = asked.body
    const seen = await look(ada, userCode)
    const again = await look(ada, userCode)
    const approved = await approve(ada, userCode)
    const signedIn = await d.poll(deviceCode)
    const refused = await approve(ada, (await d.request()).userCode, { deny: true })
    const trail = [
      await expectEvent(t, seen, 'device.claimed'),
      await expectEvent(t, approved, 'device.approved'),
      ...(await expectEvents(t, signedIn, 'user.signed_in', 'notification.created')),
      await expectEvent(t, refused, 'device.denied'),
    ]
    for (const answer of [asked, again]) await expectNoEvents(t, answer)
    expect(trail[1]).toMatchObject({ userId: ada.userId, data: { clientName: 'tutti on laptop' } })
    expect(trail[2]).toMatchObject({ userId: ada.userId, data: { via: 'device' } })
    for (const secret of [
      deviceCode,
      userCode,
      userCode.replace('-', ''),
      signedIn.body.token,
      signedIn.body.refreshToken,
    ])
      expect(JSON.stringify(trail)).not.toContain(secret)
    const [mail] = await mailRows(t, ada.email, 'new_device')
    expect(mail).toMatchObject({ kind: 'new_device', subject: 'New device: tutti on laptop', status: 'kept' })
    expect(t.app.seal.open(mail?.sealed as string)).toContain(
      'tutti on laptop is now signed in to your account, from the address 2001:db8:',
    )
    const [notice] = await t.app.db.select().from(notifications).where(eq(notifications.userId, ada.userId))
    expect(notice).toMatchObject({
      reason: 'security',
      title: 'New device: tutti on laptop',
      link: '/settings/sessions',
    })
  })

  test('is noticed for each device: a second notice does not replace the first', async () => {
    for (const clientName of ['first', 'second']) {
      const { deviceCode, userCode } = await d.request({ clientName })
      await approve(ada, userCode)
      await d.poll(deviceCode)
    }
    const kept = await mailRows(t, ada.email, 'new_device')
    expect(kept.map((m) => [m.subject, m.sealed !== null]).sort()).toEqual([
      ['New device: first', true],
      ['New device: second', true],
    ])
  })

  test('sends no mail to an unconfirmed address, which may belong to a stranger', async () => {
    const eve = await person(t)
    const { deviceCode, userCode } = await d.request({ clientName: 'You have won: evil.example' })
    await approve(eve, userCode)
    expect((await d.poll(deviceCode)).status).toBe(200)
    expect(await mailRows(t, eve.email, 'new_device')).toEqual([])
  })

  test('is impossible where the operator switched devices off', async () => {
    const { deviceCode, userCode } = await d.request()
    await approve(ada, userCode)
    const off = await d.start({ DEVICE_FLOW: 'off' })
    const headers = { authorization: `Bearer ${ada.token}` }
    for (const answer of [
      await call(off, 'POST', '/api/auth/device/request', {}),
      await call(off, 'POST', '/api/auth/device/poll', { deviceCode }),
      await call(off, 'GET', `/api/auth/device/${userCode}`, undefined, headers),
      await call(off, 'POST', '/api/auth/device/approve', { userCode }, headers),
    ])
      await expectRefusal(off, answer, 403, 'forbidden')
    expect((await d.poll(deviceCode)).status).toBe(200)
  })
})
