import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { SessionPage, SignedIn } from '../../src/features/accounts/schema.ts'
import { apiKey, call, person, sharedApp, type TestApp, testApp } from '../support/app.ts'
import { bearer, deviceSession, impersonation, login, me, refresh } from './accounts-support.ts'
import { expectEvent, expectRefusal, ids, statuses, TestClock, times, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})
const clock = new TestClock()
let timed: TestApp
beforeAll(async () => {
  timed = await testApp({ background: 'off' }, clock.now)
})
afterAll(() => timed.close())

const list = async (at: TestApp, token: string, query = '') =>
  (await call<SessionPage>(at, 'GET', `/api/settings/sessions${query}`, undefined, bearer(token))).body
const end = (at: TestApp, token: string, id: string) =>
  call(at, 'DELETE', `/api/settings/sessions/${id}`, undefined, bearer(token))
const sessionOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as { sid: string }).sid

describe('GET /api/settings/sessions', () => {
  test('shows every active session and marks the current one', async () => {
    const ada = await person(t)
    const agent = { 'user-agent': 'Lynx/2.9' }
    const body = { email: ada.email, password: 'violet anchor prefers rain' }
    const other = (await call<SignedIn>(t, 'POST', '/api/auth/login', body, agent)).body
    const device = await deviceSession(t, ada.userId)
    const helper = await impersonation(t, ada.userId)
    const { items, nextCursor } = await list(t, ada.token)
    expect(nextCursor).toBeNull()
    expect(items.map(({ id, via, current, impersonated }) => [id, via, current, impersonated])).toEqual([
      [sessionOf(helper), 'impersonation', false, true],
      [sessionOf(device.token), 'device', false, false],
      [sessionOf(other.token), 'password', false, false],
      [sessionOf(ada.token), 'password', true, false],
    ])
    expect(Object.keys(items[0] as object).sort()).toEqual(
      [
        'createdAt',
        'current',
        'device',
        'expiresAt',
        'id',
        'impersonated',
        'ip',
        'lastSeenAt',
        'userAgent',
        'via',
      ].sort(),
    )
    expect(items[1]?.device).toBe('tutti on laptop')
    expect(items[2]).toMatchObject({ userAgent: 'Lynx/2.9', ip: expect.stringMatching(/127\.0\.0\.1$/) })
    // An API key may look, and is none of them; nobody else sees any of it.
    expect((await list(t, await apiKey(t, ada))).items.filter((s) => s.current)).toEqual([])
    expect((await list(t, (await person(t)).token)).items).toHaveLength(1)
    expect((await call(t, 'GET', '/api/settings/sessions')).status).toBe(401)
  })

  test('leaves out sessions that ended, expired or were not renewed in time', async () => {
    const ada = await person(timed)
    const out = (await login(timed, ada.email)).body
    const used = (await login(timed, ada.email)).body
    await call(timed, 'POST', '/api/auth/logout', undefined, bearer(out.token))
    expect(ids(await list(timed, used.token))).toEqual([sessionOf(ada.token), sessionOf(used.token)].sort())
    clock.forward({ days: 20 })
    const pair = (await refresh(timed, used.refreshToken)).body
    expect((await list(timed, pair.token)).items).toHaveLength(2)
    clock.forward({ days: 11 })
    const next = (await refresh(timed, pair.refreshToken)).body
    expect(ids(await list(timed, next.token))).toEqual([sessionOf(used.token)])
  })

  test('is paged', async () => {
    const ada = await person(t)
    await Promise.all(times(4, () => login(t, ada.email)))
    const seen: string[] = []
    let cursor = ''
    for (let page = 0; page < 3; page++) {
      const { items, nextCursor, total } = await list(
        t,
        ada.token,
        `?limit=2&total=true&sort=lastSeenAt&order=asc${cursor}`,
      )
      expect(total).toBe(5)
      seen.push(...items.map((s) => s.id))
      cursor = `&cursor=${nextCursor}`
    }
    expect(new Set(seen).size).toBe(5)
  })
})

describe('ending a login session', () => {
  test('stops its tokens at once and closes its streams; other sessions continue', async () => {
    const ada = await person(t)
    const other = (await login(t, ada.email)).body
    expect((await me(t, other.token)).status).toBe(200)
    const ended = await t.app.auth.lookUp(other.token)
    let told = false
    const stop = t.app.auth.watch((concerns) => {
      told ||= concerns(ended)
    })
    const id = sessionOf(other.token)
    const done = await end(t, ada.token, id)
    stop()
    expect([done.status, done.body]).toEqual([200, { id, deleted: true }])
    expect(told).toBe(true)
    expect(await expectEvent(t, done, 'session.revoked')).toMatchObject({ subjectId: id, userId: ada.userId })
    expect((await me(t, other.token)).status).toBe(401)
    expect((await refresh(t, other.refreshToken)).status).toBe(401)
    expect((await me(t, ada.token)).status).toBe(200)
    await expectRefusal(t, await end(t, ada.token, id), 404, 'not_found')
  })

  test('is for its owner in person, who can also end the session of an impersonator', async () => {
    const [ada, grace] = [await person(t), await person(t)]
    const id = sessionOf(ada.token)
    await expectRefusal(t, await end(t, grace.token, id), 404, 'not_found')
    const helper = await impersonation(t, ada.userId)
    for (const token of [await apiKey(t, ada), helper])
      await expectRefusal(t, await end(t, token, id), 403, 'forbidden')
    expect((await call(t, 'DELETE', `/api/settings/sessions/${id}`)).status).toBe(401)
    expect((await me(t, helper)).status).toBe(200)
    expect((await end(t, ada.token, sessionOf(helper))).status).toBe(200)
    expect((await me(t, helper)).status).toBe(401)
    expect((await end(t, ada.token, id)).status).toBe(200)
    expect((await me(t, ada.token)).status).toBe(401)
  })

  test('succeeds for one of five simultaneous calls', async () => {
    const ada = await person(t)
    const id = sessionOf((await login(t, ada.email)).body.token)
    const answers = await Promise.all(times(5, () => end(t, ada.token, id)))
    expect(statuses(answers)).toEqual([200, 404, 404, 404, 404])
  })
})
