import { beforeAll, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect } from 'node:net'
import { contextOf } from '../../src/action.ts'
import { switchOrganization } from '../../src/auth/actor.ts'
import { newId } from '../../src/db/columns.ts'
import { aiSessions } from '../../src/features/assistant/table.ts'
import { exportLines } from '../../src/features/transfer/export.ts'
import { ExportTurn } from '../../src/features/transfer/export-turn.ts'
import { apiKey, member, type Person, person, sharedApp, type TestApp, testApp } from '../support/app.ts'
import { oneOfEach } from '../support/records.ts'
import { until } from '../support/until.ts'

let t: TestApp
beforeAll(async () => {
  t = await sharedApp()
})

const begin = async (who: Person, on = t, team = who.organizationId) => {
  const actor = await on.app.auth.authenticate(await apiKey(t, who))
  return exportLines(contextOf(on.app, switchOrganization(actor, team)), {})
}

/** Asks for an export and cuts the connection at once, when the request was sent, or with the first bytes. */
async function giveUp(who: Person, when: 'at once' | 'sent' | 'answered', method = 'GET'): Promise<void> {
  const socket = connect(Number(new URL(t.url).port), '127.0.0.1').on('error', () => undefined)
  await once(socket, 'connect')
  const head = `${method} /api/sync/export HTTP/1.1\r\nHost: ${new URL(t.url).host}\r\n`
  const sent = new Promise<void>(
    (done) => void socket.write(`${head}Authorization: Bearer ${who.token}\r\n\r\n`, () => done()),
  )
  if (when === 'sent') await sent
  if (when === 'answered') await once(socket, 'data')
  socket.destroy()
}

/** Waits for the error. (`rejects` of Bun stops the event loop meanwhile, which the database of the test needs.) */
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

const held = async (who: Person) =>
  (await t.app.driver.query('select count from counters where key = $1', [`export:${who.userId}`])).rows.length

test('an export that its client aborts does not delay others, whenever the connection is cut', async () => {
  const ada = await person(t)
  const content = 'x'.repeat(100_000)
  for (let i = 0; i < 12; i++) await ada.fetch('POST', '/api/notes', { title: `Note ${i}`, content })
  for (const when of ['at once', 'sent', 'answered'] as const)
    for (const method of ['GET', 'HEAD']) {
      await giveUp(ada, when, method)
      const status = () => ada.fetch('GET', '/api/sync/export').then((answer) => answer.status)
      await until(async () => (await status()) === 200)
    }
  // The last one that was given up may have come after the export that succeeded.
  await until(async () => (await held(ada)) === 0)
})

test('a user has one export at a time on all instances, until the export ends', async () => {
  // Two instances share a database only on Postgres.
  const other = t.app.driver.kind === 'postgres' ? await testApp() : undefined
  const ada = await person(t)
  const first = await begin(ada)
  expect(await failure(begin(ada, other))).toMatchObject({ code: 'rate_limited', details: { retryAfter: 10 } })
  expect((await ada.fetch('GET', '/api/sync/export')).status).toBe(429)
  await first.end()
  const second = await begin(ada, other)
  // Ending again ends no turn of another.
  await first.end()
  expect(await held(ada)).toBe(1)
  await second.end()
  expect(await held(ada)).toBe(0)
  await other?.close()
})

test('a turn that is not renewed is free after 30 seconds; its export continues if no one took it', async () => {
  const { userId } = await person(t)
  const late = () =>
    t.app.driver.query('update counters set expires_at = $1 where key = $2', [past, `export:${userId}`])
  const past = '2020-01-01T00:00:00Z'
  const first = await ExportTurn.take(t.app, userId)
  await late()
  await first.keep(0)
  expect(await failure(ExportTurn.take(t.app, userId))).toMatchObject({ code: 'rate_limited' })
  await late()
  const second = await ExportTurn.take(t.app, userId)
  expect(await failure(first.keep(0))).toMatchObject({ code: 'conflict.in_progress' })
  await second.keep(0)
  // Ended while it was being renewed: it stays ended.
  await Promise.all([second.keep(0), second.end()])
  await (await ExportTurn.take(t.app, userId)).end()
})

test('an export of chats ends when the right to them ends, even in the middle', async () => {
  const ada = await person(t)
  const now = t.app.clock().toISOString()
  const chat = { userId: ada.userId, organizationId: ada.organizationId, title: 'x', createdAt: now, updatedAt: now }
  await t.app.db.insert(aiSessions).values(Array.from({ length: 21 }, () => ({ id: newId(), ...chat })))
  const { pages, end } = await begin(ada)
  let chats = 0
  const readOn = async () => {
    for await (const lines of pages)
      if (lines.some((line) => 'chat' in line) && ++chats === 1) {
        const keys = await ada.fetch<{ items: { id: string }[] }>('GET', '/api/settings/api-keys')
        await ada.fetch('DELETE', `/api/settings/api-keys/${keys.body.items[0]?.id}`)
      }
  }
  expect(await failure(readOn())).toMatchObject({ code: 'unauthenticated' })
  await end()
  // The page that had been read.
  expect(chats).toBe(20)
})

test('an export returns nothing more of a project that was hidden from the reader meanwhile', async () => {
  const ada = await person(t)
  const grace = await member(t, ada, 'member')
  const { project, task, note } = await oneOfEach(ada, { kinds: ['project', 'task', 'note'] })
  await ada.fetch('POST', `/api/projects/${project.id}/tasks`, { title: 'Later', blockedBy: [task.id] })
  await ada.fetch('POST', '/api/links', { fromType: 'note', fromId: note.id, toType: 'task', toId: task.id })
  const entities = async (hide: boolean) => {
    const { pages, end } = await begin(grace, t, ada.organizationId)
    const seen = new Set<string>()
    for await (const lines of pages)
      for (const line of lines as { entity?: string }[]) {
        if (line.entity === 'task' && hide && !seen.has('task'))
          expect((await ada.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'private' })).status).toBe(
            200,
          )
        if (line.entity) seen.add(line.entity)
      }
    await end()
    return ['task', 'dependency', 'note', 'link'].filter((entity) => seen.has(entity))
  }
  expect(await entities(false)).toEqual(['task', 'dependency', 'note', 'link'])
  expect(await entities(true)).toEqual(['task'])
})
