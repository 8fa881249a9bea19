import { Type } from '@sinclair/typebox'
import type { Elysia } from 'elysia'
import { anyone } from '../auth/policy.ts'
import { headers } from '../http/headers.ts'
import type { RouteLike } from '../http/openapi.ts'
import { bool, object, oneOf, optional, text } from '../schema.ts'
import type { App } from '../services.ts'
import { version } from '../version.ts'

/** A probe gets its response within this time, also while a heavy statement holds the database. */
const WAIT_MS = 1000
/** A database that has not responded for this long counts as down, not as busy. */
const SILENT_MS = 30_000

type Needed = Pick<App, 'driver' | 'clock'>

/** Returns why no further requests should be sent to this instance, if so. */
type Unready = () => 'stopping' | 'clock' | undefined

const Health = object({
  status: oneOf(['ok', 'busy', 'read_only', 'down', 'stopping', 'clock']),
  version: text(50, { example: '1.0.0' }),
  database: object({
    kind: oneOf(['pglite', 'postgres']),
    version: text(200, { example: '18.0' }),
    ok: bool(),
    readOnly: optional(text(20, { example: 'disk_full' })),
    pingMs: Type.Number({ examples: [0.4] }),
    waitingMs: optional(Type.Number({ examples: [1000] })),
  }),
})
const nothing = object({})

/** The entry in the API document. Not a feature's route, because probes must never be rate limited. */
export const healthRoute: RouteLike = {
  method: 'GET',
  path: '/health',
  hooks: {
    detail: {
      operationId: 'health.get',
      summary: 'Whether the server and its database work',
      tags: ['health'],
      action: { id: 'health.get', kind: 'read', rule: anyone, hints: { idempotent: true } },
    },
    query: nothing,
    response: Health,
  },
}

export function addHealth(
  server: Elysia,
  app: Needed,
  unready: Unready = () => undefined,
  waitMs: number = WAIT_MS,
): void {
  const ping = pinger(app)
  const health = async () => healthOf(app, await ping(waitMs))
  const ready = async () => healthOf(app, await ping(waitMs), unready())
  server
    .get('/health', health, { query: nothing })
    .get('/health/live', () => ({ status: 'ok' }))
    .get('/health/ready', ready)
}

/** The last ping of the database, and how long the current one has been waiting. */
interface Pinged {
  alive: boolean
  ms: number
  waitingMs?: number
}

/**
 * Pings the database, one ping at a time, and waits for at most the time of a probe. If the ping takes longer, returns
 * the last known result; the next probe gets the result of the ping.
 */
function pinger({ driver, clock }: Needed): (waitMs: number) => Promise<Pinged> {
  let last: Pinged = { alive: true, ms: 0 }
  let running: { since: number; done: Promise<Pinged> } | undefined
  const since = (at: number): number => clock().getTime() - at
  const start = () => {
    const started = performance.now()
    const ended = (alive: boolean): Pinged => {
      running = undefined
      last = { alive, ms: performance.now() - started }
      return last
    }
    return {
      since: clock().getTime(),
      done: driver.query('select 1').then(
        () => ended(true),
        () => ended(false),
      ),
    }
  }
  return async (waitMs) => {
    running ??= start()
    const { since: begun, done } = running
    const { promise: late, resolve } = Promise.withResolvers<Pinged>()
    const timer = setTimeout(() => {
      const waitingMs = since(begun)
      resolve({ ...last, alive: last.alive && waitingMs < SILENT_MS, waitingMs })
    }, waitMs)
    const result = await Promise.race([done, late])
    clearTimeout(timer)
    return result
  }
}

function healthOf({ driver }: Needed, { alive, ms, waitingMs }: Pinged, unready?: ReturnType<Unready>): Response {
  const { version: database, readOnly } = driver.status()
  const status = unready ?? (!alive ? 'down' : waitingMs !== undefined ? 'busy' : readOnly ? 'read_only' : 'ok')
  const isFine = alive && unready === undefined
  const body = {
    status,
    version,
    database: {
      kind: driver.kind,
      version: database,
      ok: alive,
      ...(readOnly && { readOnly }),
      pingMs: Math.round(ms * 10) / 10,
      ...(waitingMs !== undefined && { waitingMs }),
    },
  }
  return Response.json(body, {
    status: isFine ? 200 : 503,
    headers: isFine ? headers : { ...headers, 'retry-after': '1' },
  })
}
