import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Driver } from './driver.ts'

const EVERY_MS = 60_000
/** Above this, operators are warned, because tokens and leases expire at the wrong time. */
const NOTICEABLE_MS = 2000
/** Above this, a claim could take tasks that others hold. */
const TRUSTED_MS = 30_000

/** Returns how many milliseconds `now` is ahead of the database's clock, without the round trip. */
export async function measureClockOffset(driver: Driver, now: () => number = Date.now): Promise<number> {
  const before = now()
  const { rows } = await driver.query('select (extract(epoch from clock_timestamp()) * 1000)::float8')
  const after = now()
  const ahead = (before + after) / 2 - Number(rows[0]?.[0])
  return Math.sign(ahead) * Math.max(0, Math.abs(ahead) - (after - before))
}

/**
 * Compares the clock of this machine with the database's every minute. Instances share leases and credentials, whose
 * expiry each instance checks with its own clock.
 */
export class ClockWatch {
  #ahead = 0
  #level: 'right' | 'off' | 'wrong' = 'right'
  #timer: Timer | undefined

  constructor(
    private readonly driver: Driver,
    private readonly log: Log,
    private readonly now: () => number = Date.now,
  ) {}

  async start(): Promise<void> {
    // The embedded database has the clock of this machine.
    if (this.driver.kind !== 'postgres') return
    await this.check()
    this.#timer = setInterval(() => void this.check(), EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  get isTrusted(): boolean {
    return this.#level !== 'wrong'
  }

  /** Throws if the clock is too wrong to grant leases. */
  requireTrusted(): void {
    if (!this.isTrusted)
      throw new AppError(
        'unavailable',
        `The clock of this server differs from the database's by ${seconds(this.#ahead)} s, so it assigns no tasks. Try again in a minute.`,
        { retryAfter: 60 },
      )
  }

  async check(): Promise<void> {
    try {
      this.#ahead = await measureClockOffset(this.driver, this.now)
    } catch (error) {
      this.log.debug('the clock could not be compared', { error })
      return
    }
    const off = Math.abs(this.#ahead)
    const level = off > TRUSTED_MS ? 'wrong' : off > NOTICEABLE_MS ? 'off' : 'right'
    if (level === this.#level) return
    this.#level = level
    const facts = { secondsAhead: seconds(this.#ahead) }
    if (level === 'right') this.log.info('the clock agrees with the database’s again')
    else if (level === 'off') this.log.warn('the clock differs from the database’s; set both by NTP', facts)
    else this.log.error('the clock is wrong, so this instance is not ready and assigns no tasks', facts)
  }
}

const seconds = (ms: number): number => Math.round(ms / 1000)
