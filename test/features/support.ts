import { expect } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { type Ctx, contextOf } from '../../src/action.ts'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/db/index.ts'
import type { ErrorCode, Problem } from '../../src/errors.ts'
import { groupActor } from '../../src/events/actor.ts'
import type { AppEvent } from '../../src/events/event.ts'
import { events } from '../../src/events/table.ts'
import { notificationSettled } from '../../src/features/notifications/events.ts'
import { sessionBriefed } from '../../src/features/sessions/events.ts'
import { createLog } from '../../src/log.ts'
import type { OutboundOptions } from '../../src/outside/outbound.ts'
import { recordsChanged } from '../../src/records/synced-changes.ts'
import { startHttp } from '../../src/server/server.ts'
import type { Answer, Person, TestApp } from '../support/app.ts'
import { migratedDatabase } from '../support/postgres.ts'

const heard = new WeakMap<TestApp, AppEvent[]>()

/** Records the events of this app; call it before the requests that `expectEvents` checks. */
export function watch(t: TestApp): TestApp {
  if (heard.has(t)) return t
  const list: AppEvent[] = []
  heard.set(t, list)
  t.app.bus.subscribe((event) => void list.push(event))
  return t
}

/**
 * What happens along with something else. Records that changed along are named for sync, which the database checks
 * (`support/named.ts`); settled notifications are the matter of `inbox.test.ts`.
 */
const isAlong = ({ type }: { type: string }): boolean =>
  type === recordsChanged.name || type === notificationSettled.name || type === sessionBriefed.name

/** Exactly these events fired during the request, once each and in this order, and the audit table holds the same. */
export async function expectEvents(
  t: TestApp,
  answer: Pick<Answer, 'headers'>,
  ...types: string[]
): Promise<AppEvent[]> {
  const requestId = answer.headers.get('x-request-id') as string
  expect(requestId).toBeString()
  const list = heard.get(t)
  if (!list) throw new Error('watch(t) first')
  const fired = list.filter((e) => e.requestId === requestId)
  const rows = await t.app.db.select().from(events).where(eq(events.requestId, requestId)).orderBy(events.seq)
  expect(fired.filter((e) => !isAlong(e)).map((e) => e.type)).toEqual(types)
  expect(rows.map(({ seq: _, sessionId: __, ...row }) => groupActor(row))).toEqual(fired)
  return fired.filter((e) => !isAlong(e))
}

/** Expects exactly one event of the request, and returns it. */
export async function expectEvent(t: TestApp, answer: Pick<Answer, 'headers'>, type: string): Promise<AppEvent> {
  const [event] = await expectEvents(t, answer, type)
  return event as AppEvent
}

export const expectNoEvents = (t: TestApp, answer: Pick<Answer, 'headers'>) => expectEvents(t, answer)

/** Expects a refusal for this reason, without an event; returns the problem. */
export async function expectRefusal(
  t: TestApp,
  answer: Answer<unknown>,
  status: number,
  code: ErrorCode,
): Promise<Problem> {
  const body = answer.body as Problem
  expect({ status: answer.status, code: body.code }).toEqual({ status, code })
  await expectNoEvents(t, answer)
  return body
}

/** Returns the error. (`expect().rejects` waits in a way that keeps the embedded database's worker from answering.) */
export const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => {
      throw new Error('It should have been refused, and was not.')
    },
    (error: unknown) => error,
  )

export const statuses = (answers: { status: number }[]): number[] => answers.map((a) => a.status).sort((a, b) => a - b)
export const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i))
export const ids = (page: { items: { id: string }[] }): string[] => page.items.map((i) => i.id).sort()

/** The context of a call with this credential, without HTTP. */
export const ctxOf = async (t: TestApp, secret: string): Promise<Ctx> =>
  contextOf(t.app, await t.app.auth.authenticate(secret))

/** The same person, working in another organization. */
export const inside = (who: Person, organizationId: string): Person => ({
  ...who,
  organizationId,
  fetch: (method, path, body, headers = {}) =>
    who.fetch(method, path, body, { 'x-organization-id': organizationId, ...headers }),
})

const DAY = 86_400_000

/** A clock that moves only when told to. */
export class TestClock {
  #at: number
  constructor(at = Date.parse('2026-11-15T09:30:00.000Z')) {
    this.#at = at
  }
  /**
   * For tests that share their database with a server whose clock is real: what they create is never too old for that
   * server, which would otherwise end it.
   */
  static ahead = (): TestClock => new TestClock(Date.now() + DAY)
  readonly now = (): Date => new Date(this.#at)
  forward({ days = 0, minutes = 0, seconds = 0 }: { days?: number; minutes?: number; seconds?: number }): void {
    this.#at += days * DAY + minutes * 60_000 + seconds * 1000
  }
}

/** An instance with a database of its own, for what concerns a whole instance: first start, seeds, upkeep. */
export async function ownApp(
  clock?: () => Date,
  overrides: Record<string, string> = {},
  outbound: OutboundOptions = { resolve: async () => [] },
): Promise<TestApp> {
  const folder = mkdtempSync(join(tmpdir(), 'tutti-own-'))
  const postgres = process.env.TEST_DB === 'postgres' ? await migratedDatabase() : undefined
  const config = loadConfig({
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: folder,
      DB_MIN_FREE_MB: '0',
      DB_POOL_SIZE: '5',
      DB_STATEMENT_TIMEOUT_MS: '60000',
      // The model in the binary only where the group has it; an address of a server is there to be asked.
      EMBEDDINGS: overrides.EMBEDDINGS_URL ? 'on' : (process.env.TEST_EMBEDDINGS ?? 'on'),
      RATE_LIMIT_ANONYMOUS: '1000000',
      RATE_LIMIT_REGISTER: '1000000',
      ...(postgres && { DATABASE_URL: postgres.url }),
      ...overrides,
    },
  })
  const log = createLog('debug', () => undefined, false)
  const app = await createApp(config, {
    driver: await openDatabase(config, log),
    log,
    clock,
    background: overrides.background === 'on',
    outbound,
  })
  const server = startHttp(app, { checkAnswers: true })
  return {
    app,
    server,
    url: `http://127.0.0.1:${server.port}`,
    close: async () => {
      await server.stop(100)
      await app.close()
      await postgres?.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
