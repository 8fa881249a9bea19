import { expect } from 'bun:test'
import { eq } from 'drizzle-orm'
import { hashSecret } from '../../src/auth/secrets.ts'
import type { Problem } from '../../src/errors.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import type { Device, DeviceStarted } from '../../src/features/devices/schema.ts'
import { deviceCodes } from '../../src/features/devices/table.ts'
import { type Answer, call, type Person, type TestApp, testApp } from '../support/app.ts'
import { TestClock, watch } from './support.ts'

/** Networks are told apart by what the proxy says, so that tests do not use up each other's limits. */
let networks = Math.floor(Math.random() * 0xf000)
export const network = (): Record<string, string> => ({ 'x-forwarded-for': `2001:db8:${(++networks).toString(16)}::7` })

/** A running instance, what its devices do, and what people do about them. */
export class Devices {
  readonly clock = new TestClock()
  readonly #open: TestApp[] = []
  t!: TestApp

  async start(more: Record<string, string> = {}): Promise<TestApp> {
    const app = watch(await testApp({ TRUSTED_PROXIES: '127.0.0.1', ...more }, this.clock.now))
    this.#open.push(app)
    this.t ??= app
    return app
  }

  close = (): Promise<unknown> => Promise.all(this.#open.map((app) => app.close()))

  async request(body: object = { clientName: 'tutti on laptop' }, at = this.t): Promise<DeviceStarted> {
    const { status, body: answer } = await call<DeviceStarted>(at, 'POST', '/api/auth/device/request', body, network())
    expect(status).toBe(200)
    return answer
  }

  poll(deviceCode: string, at = this.t): Promise<Polled> {
    return call(at, 'POST', '/api/auth/device/poll', { deviceCode }, network())
  }

  async expectPoll(deviceCode: string, error: string, at = this.t): Promise<Polled> {
    const answer = await this.poll(deviceCode, at)
    expect({ status: answer.status, code: answer.body.code as string, error: answer.body.error as string }).toEqual({
      status: 400,
      code: 'invalid.device',
      error,
    })
    return answer
  }

  async row(deviceCode: string) {
    const [found] = await this.t.app.db
      .select()
      .from(deviceCodes)
      .where(eq(deviceCodes.deviceHash, hashSecret(deviceCode)))
    return found
  }

  as(who: Person, token: string): Person {
    return {
      ...who,
      fetch: (method, path, body, headers = {}) =>
        call(this.t, method, path, body, { authorization: `Bearer ${token}`, ...headers }),
    }
  }
}

type Refusal = Omit<Problem, 'status'>
export type Polled = Answer<SignedIn & Refusal>

export const look = (who: Person, userCode: string, headers = network()) =>
  who.fetch<Device & Refusal>('GET', `/api/auth/device/${encodeURIComponent(userCode)}`, undefined, headers)
export const approve = (who: Person, userCode: string, more: object = {}, headers = network()) =>
  who.fetch<Device & Refusal>('POST', '/api/auth/device/approve', { userCode, ...more }, headers)
