import { afterAll, describe, expect, test } from 'bun:test'
import { Buckets, networkOf } from '../../src/auth/limits.ts'
import { verifyPassword } from '../../src/auth/passwords.ts'
import type { AppError } from '../../src/errors.ts'
import { type Answer, call, PASSWORD, person, type TestApp, testApp } from '../support/app.ts'
import { hashingEveryTime } from '../support/passwords.ts'
import { thorough } from '../support/thorough.ts'
import { newAddress } from './codes-support.ts'
import { statuses, TestClock, times } from './support.ts'

const opened: TestApp[] = []
const open = async (clock: TestClock, settings: Record<string, string> = {}): Promise<TestApp> => {
  const app = await testApp({ background: 'off', TRUSTED_PROXIES: '127.0.0.1', ...settings }, clock.now)
  opened.push(app)
  return app
}
afterAll(() => Promise.all(opened.map((app) => app.close())))

const login = (t: TestApp, email: string, password: string, headers: Record<string, string> = {}) =>
  call(t, 'POST', '/api/auth/login', { email, password }, headers)
const right = (t: TestApp, email: string) => login(t, email, PASSWORD)
const wrong = (t: TestApp, email: string) => login(t, email, 'not the password at all')
/** Seconds to wait, or what else was answered. */
const waitOf = ({ status, headers }: Answer): string =>
  status === 429 ? `wait ${headers.get('retry-after')}` : String(status)

async function fail(t: TestApp, email: string, often: number): Promise<void> {
  for (let i = 0; i < often; i++) expect((await wrong(t, email)).status).toBe(401)
}

describe('guessing at a password', () => {
  test('causes a wait after five failures, which doubles each time up to an hour', async () => {
    const clock = new TestClock()
    const t = await open(clock)
    for (const email of [(await person(t)).email, newAddress()]) {
      await fail(t, email, 5)
      for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
        expect(waitOf(await wrong(t, email))).toBe(`wait ${minutes * 60}`)
        // The right one has to wait as well, or waiting would tell which one it is.
        expect(waitOf(await right(t, email))).toBe(`wait ${minutes * 60}`)
        clock.forward({ minutes, seconds: -1 })
        expect(waitOf(await wrong(t, email.toUpperCase()))).toBe('wait 1')
        clock.forward({ seconds: 1 })
        await fail(t, email, 1)
      }
    }
  })

  test('starts anew after a correct password', async () => {
    const clock = new TestClock()
    const t = await open(clock)
    const { email } = await person(t)
    await fail(t, email, 4)
    expect(waitOf(await right(t, email))).toBe('200')
    await fail(t, email, 5)
    clock.forward({ minutes: 1 })
    await fail(t, email, 1)
    clock.forward({ minutes: 2 })
    expect(waitOf(await right(t, email))).toBe('200')
    await fail(t, email, 5)
    expect(waitOf(await wrong(t, email))).toBe('wait 60')
  })

  test('is forgotten after 15 minutes before the first wait, and after a day afterwards', async () => {
    const clock = new TestClock()
    const t = await open(clock)
    const { email } = await person(t)
    await fail(t, email, 4)
    clock.forward({ minutes: 15 })
    await fail(t, email, 4)
    await fail(t, email, 1)
    clock.forward({ minutes: 1 })
    await fail(t, email, 1)
    clock.forward({ minutes: 15 })
    await fail(t, email, 1)
    expect(waitOf(await wrong(t, email))).toBe('wait 240')
    clock.forward({ days: 1 })
    await fail(t, email, 5)
    expect(waitOf(await wrong(t, email))).toBe('wait 60')
  })

  test('a hundred times at once checks five, and one after every wait', async () => {
    const clock = new TestClock()
    const t = await open(clock)
    for (const email of [(await person(t)).email, newAddress()]) {
      const burst = (often: number) => Promise.all(times(often, () => wrong(t, email)))
      expect(statuses(await burst(100))).toEqual([...times(5, () => 401), ...times(95, () => 429)])
      clock.forward({ minutes: 1 })
      expect(statuses(await burst(20))).toEqual([401, ...times(19, () => 429)])
      clock.forward({ minutes: 2 })
      expect(statuses(await burst(20))).toEqual([401, ...times(19, () => 429)])
    }
  })

  test('is counted across restarts and instances', async () => {
    const clock = new TestClock()
    const before = await open(clock)
    const { email } = await person(before)
    await fail(before, email, 5)
    clock.forward({ minutes: 1 })
    await fail(before, email, 1)
    await before.close()
    const [after, other] = [await open(clock), await open(clock)]
    for (const t of [after, other]) expect(waitOf(await right(t, email))).toBe('wait 120')
    clock.forward({ minutes: 2 })
    await fail(after, email, 1)
    expect(waitOf(await right(other, email))).toBe('wait 240')
  })

  test('at one account does not affect another', async () => {
    const clock = new TestClock()
    const t = await open(clock)
    const [ada, grace] = [await person(t), await person(t)]
    await fail(t, ada.email, 5)
    expect(waitOf(await right(t, grace.email))).toBe('200')
  })

  test('counts every attempt for its network, even simultaneous ones', async () => {
    const t = await open(new TestClock(), { RATE_LIMIT_LOGIN: '40' })
    const network = `2001:db8:${(process.pid & 0xffff).toString(16)}:${Math.floor(Math.random() * 0xffff).toString(16)}`
    const from = (i: number) => ({ 'x-forwarded-for': `${network}:${i.toString(16)}::1` })
    const answers = await Promise.all(
      times(100, (i) => login(t, `guess-${i}@example.com`, 'not the password at all', from(i))),
    )
    const looked = answers.filter((a) => a.status !== 429)
    expect(looked).toHaveLength(40)
    const { rows } = await t.app.driver.query('select count from counters where key = $1', [
      `login-from:${networkOf(`${network}::1`)}`,
    ])
    expect(rows).toEqual([[100]])
  })
})

describe('hashing passwords', () => {
  thorough('runs two at a time with fifty waiting; more are refused', () =>
    hashingEveryTime(async () => {
      const all = await Promise.all(
        times(60, () => verifyPassword('some password', null).catch((error: AppError) => error)),
      )
      const away = all.filter((answer) => answer !== false) as AppError[]
      expect(away.map(({ status, details }) => [status, details.retryAfter])).toEqual(times(8, () => [503, 3]))
      expect(await verifyPassword('some password', null)).toBe(false)
    }),
  )

  test('answers a flood of logins with 503 and Retry-After, until the flood is over', () =>
    hashingEveryTime(async () => {
      const t = await open(new TestClock())
      const { email } = await person(t)
      const busy = Promise.all(times(52, () => verifyPassword('some password', null)))
      const answers = await Promise.all(times(40, () => wrong(t, newAddress())))
      const away = answers.filter((a) => a.status === 503)
      expect(away.length).toBeGreaterThan(0)
      expect(answers.length - away.length).toBe(answers.filter((a) => a.status === 401).length)
      for (const { headers, body } of away)
        expect([headers.get('retry-after'), body.code]).toEqual(['3', 'unavailable'])
      await busy
      expect(waitOf(await right(t, email))).toBe('200')
    }))
})

thorough('counters in memory are bounded: a million networks cost less than 64 MB', () => {
  Bun.gc(true)
  const before = process.memoryUsage().heapUsed
  const buckets = new Buckets(120, 120)
  for (let i = 0; i < 1_000_000; i++)
    buckets.take(`2001:db8:${(i >> 16).toString(16)}:${(i & 0xffff).toString(16)}::/64`, i)
  Bun.gc(true)
  expect((process.memoryUsage().heapUsed - before) / 1024 / 1024).toBeLessThan(64)
  // The last one is still known.
  expect(times(120, () => buckets.take('2001:db8:f:423f::/64', 1_000_000)).filter((wait) => wait > 0)).toHaveLength(1)
})
