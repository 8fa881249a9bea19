import type { Driver, Queryable } from '../db/driver.ts'
import { AppError } from '../errors.ts'
import { canonicalAddress } from './client-address.ts'

interface Bucket {
  tokens: number
  at: number
}

/**
 * One token bucket per key, in memory, for the plain request limits. Bounded by two generations: when the younger one
 * is full, the older one, unused since, is dropped as a whole. (Removing the oldest key of one map again and again is
 * slow: it leaves holes to skip.)
 */
export class Buckets {
  #young = new Map<string, Bucket>()
  #old = new Map<string, Bucket>()

  constructor(
    private readonly perMinute: number,
    private readonly burst: number,
    private readonly most = 50_000,
  ) {}

  /** Returns the seconds to wait, or 0. `tokens`: 0 only checks for a token, which `charge` takes later. */
  take(key: string, now = performance.now(), tokens = 1): number {
    let bucket = this.#young.get(key)
    if (!bucket) {
      bucket = this.#old.get(key) ?? { tokens: this.burst, at: now }
      this.#young.set(key, bucket)
      if (this.#young.size >= this.most / 2) {
        this.#old = this.#young
        this.#young = new Map()
      }
    }
    const rate = this.perMinute / 60_000
    bucket.tokens = Math.min(this.burst, bucket.tokens + (now - bucket.at) * rate)
    bucket.at = now
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / rate / 1000)
    bucket.tokens -= tokens
    return 0
  }

  /** Takes from a key that was let through, once the cost is known. The next call may have to wait for it. */
  charge(key: string, tokens: number): void {
    const bucket = this.#young.get(key)
    if (bucket) bucket.tokens -= tokens
  }

  get limit(): number {
    return this.perMinute
  }
}

export function tooManyError(retryAfter: number, what = 'requests'): AppError {
  return new AppError(
    'rate_limited',
    `Too many ${what}. Try again in ${retryAfter} second${retryAfter === 1 ? '' : 's'}.`,
    { retryAfter },
  )
}

/** Counts atomically in the database: limits on guesses must hold across restarts, instances and parallel attempts. */
export async function countAttempt(
  driver: Queryable,
  key: string,
  limit: number,
  windowSeconds: number,
  now: Date,
  what: string,
): Promise<void> {
  const { rows } = await driver.query(
    `insert into counters (key, count, expires_at) values ($1, 1, $3)
     on conflict (key) do update set
       count = case when counters.expires_at <= $2 then 1 else counters.count + 1 end,
       expires_at = case when counters.expires_at <= $2 then excluded.expires_at else counters.expires_at end
     returning count, extract(epoch from expires_at - $2::timestamptz)::int`,
    [key, now.toISOString(), new Date(now.getTime() + windowSeconds * 1000).toISOString()],
  )
  const [count, wait] = rows[0] as [number, number]
  if (count > limit) throw tooManyError(Math.max(1, wait), what)
}

export async function forgetAttempts(driver: Driver, key: string): Promise<void> {
  await driver.query('delete from counters where key = $1', [key])
}

/** Takes back one attempt that was not a guess. Only one, so that a correct guess does not erase earlier wrong ones. */
export async function returnAttempt(driver: Driver, key: string): Promise<void> {
  await driver.query('update counters set count = count - 1 where key = $1 and count > 0', [key])
}

/**
 * Limits guesses at someone's secret: after `free` failures within the window, each further one doubles the wait, from
 * a minute to an hour. Counts before the guess is checked, so that parallel ones are counted too; a correct guess
 * resets the count.
 */
export async function countGuess(
  driver: Driver,
  key: string,
  free: number,
  windowSeconds: number,
  now: Date,
  what: string,
): Promise<void> {
  const { rows } = await driver.query(
    `insert into counters as c (key, count, expires_at, blocked_until)
     values ($1, 1, $2::timestamptz + $3 * interval '1 second',
       case when $4 <= 1 then $2::timestamptz + interval '1 minute' end)
     on conflict (key) do update set
       count = case when c.expires_at <= $2 then 1 else c.count + 1 end,
       expires_at = case when c.expires_at <= $2 then excluded.expires_at
         when c.count + 1 < $4 then c.expires_at else $2::timestamptz + interval '1 day' end,
       blocked_until = case when c.expires_at > $2 and c.count + 1 >= $4
         then $2::timestamptz + least(3600, 60 * power(2, least(c.count + 1 - $4, 10))) * interval '1 second'
         else excluded.blocked_until end
     where c.blocked_until is null or c.blocked_until <= $2
     returning count`,
    [key, now.toISOString(), windowSeconds, free],
  )
  if (rows.length > 0) return
  const blocked = await driver.query(
    'select extract(epoch from blocked_until - $2::timestamptz)::int from counters where key = $1',
    [key, now.toISOString()],
  )
  throw tooManyError(Math.max(1, Number(blocked.rows[0]?.[0] ?? 60)), what)
}

/** Returns the network of an address in canonical form: an IPv4 address, or an IPv6 /64. */
export function networkOf(ip: string | null): string {
  if (!ip) return 'unknown'
  const address = canonicalAddress(ip)
  return address.includes(':') ? `${address.split(':').slice(0, 4).join(':')}::/64` : address
}
