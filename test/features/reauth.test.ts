import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { users } from '../../src/features/users/table.ts'
import { apiKey, PASSWORD, person, sharedApp, type TestApp, testApp } from '../support/app.ts'
import { deviceSession, impersonation, login, mailedCode, newAddress, post } from './accounts-support.ts'
import { expectEvent, expectRefusal, statuses, TestClock, times, watch } from './support.ts'

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

describe('confirming one’s identity', () => {
  const sensitive = (at: TestApp, token: string) => post(at, 'email-change', { email: newAddress() }, token)

  test('works by password, for this session only', async () => {
    const ada = await person(timed)
    const other = (await login(timed, ada.email)).body
    expect((await sensitive(timed, ada.token)).status).toBe(200)
    clock.forward({ minutes: 5, seconds: 1 })
    await expectRefusal(timed, await sensitive(timed, ada.token), 403, 'forbidden.reauth')
    const confirmed = await post(timed, 'reauth', { password: PASSWORD }, ada.token)
    expect(confirmed.body).toEqual({ authenticatedAt: clock.now().toISOString() })
    await expectEvent(timed, confirmed, 'session.confirmed')
    expect((await sensitive(timed, ada.token)).status).toBe(200)
    await expectRefusal(timed, await sensitive(timed, other.token), 403, 'forbidden.reauth')
  })

  test('works by a mailed code, once', async () => {
    const ada = await person(timed)
    clock.forward({ minutes: 6 })
    const code = await mailedCode(timed, ada)
    const wrong = await post(timed, 'reauth', { code: code === '000000' ? '000001' : '000000' }, ada.token)
    expect([wrong.status, wrong.body]).toMatchObject([403, { code: 'forbidden' }])
    await expectRefusal(timed, await sensitive(timed, ada.token), 403, 'forbidden.reauth')
    expect((await post(timed, 'reauth', { code }, ada.token)).status).toBe(200)
    expect((await sensitive(timed, ada.token)).status).toBe(200)
    expect((await post(timed, 'reauth', { code }, ada.token)).status).toBe(403)
  })

  test('is refused with the code of someone else', async () => {
    const [ada, grace] = [await person(t), await person(t)]
    expect((await post(t, 'reauth', { code: await mailedCode(t, grace) }, ada.token)).status).toBe(403)
  })

  test('takes exactly one proof', async () => {
    const ada = await person(t)
    for (const body of [{}, { password: PASSWORD, code: '123456' }])
      await expectRefusal(t, await post(t, 'reauth', body, ada.token), 422, 'invalid')
  })

  test('counts wrong guesses, also a hundred at once', async () => {
    const ada = await person(t)
    const answers = await Promise.all(
      times(20, (i) => post(t, 'reauth', i % 2 ? { code: '000000' } : { password: 'wrong' }, ada.token)),
    )
    expect(statuses(answers)).toEqual([...times(5, () => 403), ...times(15, () => 429)])
  })

  test('without a password refers the user to a code', async () => {
    const ada = await person(t)
    await t.app.db.update(users).set({ passwordHash: null }).where(eq(users.id, ada.userId))
    const told = await expectRefusal(t, await post(t, 'reauth', { password: PASSWORD }, ada.token), 403, 'forbidden')
    expect(told.next).toEqual([{ route: 'POST /api/auth/otp/send' }])
  })

  test('is refused on a device, with a key and while impersonating', async () => {
    const ada = await person(t)
    const { token: device } = await deviceSession(t, ada.userId)
    for (const token of [device, await apiKey(t, ada), await impersonation(t, ada.userId)])
      await expectRefusal(t, await post(t, 'reauth', { password: PASSWORD }, token), 403, 'forbidden')
  })
})
