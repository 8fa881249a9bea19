/**
 * The bare limit: `Bun.serve` running the very statements that the product sends, through the same driver, on the same data, and nothing else.
 * The statements are not written here a second time; they are recorded from one call of each action.
 */
import { type Ctx, contextOf } from '../../src/action.ts'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import type { Driver, Statement } from '../../src/db/driver.ts'
import { openDatabase } from '../../src/db/index.ts'
import { readEvents } from '../../src/events/reader.ts'
import * as notes from '../../src/features/notes/service.ts'
import { createLog } from '../../src/log.ts'

const [userId = '', noteId = ''] = process.argv.slice(2)
const config = loadConfig()
const log = createLog('error')
const driver = await openDatabase(config, log)
const app = await createApp(config, { driver, background: false, log })
const ctx: Ctx = contextOf(app, await app.auth.actorFor(userId))

const get = (await record(() => notes.get(ctx, { ref: noteId })))[0] as Statement
const list = (await record(() => notes.list(ctx, { limit: 50 })))[0] as Statement
const created = await record(() => notes.create(ctx, { title: 'bare', content: 'x'.repeat(500) }))
const insert = created.find((s) => s.text.startsWith('insert into "notes"')) as Statement
const event = created.find((s) => s.text.startsWith('insert into events')) as Statement
const events = (await record(() => readEvents(app.db, { high: 0, holes: [] }, 500)))[0] as Statement
const idAt = insert.params.findIndex((p) => typeof p === 'string' && /^[0-9a-f]{8}-/.test(p))
const slugAt = insert.params.findIndex((p) => typeof p === 'string' && p.startsWith('bare-'))

const answer = async (statement: Statement): Promise<Response> => {
  const { rows, columns } = await driver.query(statement.text, statement.params)
  return Response.json(rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]]))))
}

/** About as long as an event of the hub. */
const told = JSON.stringify({ text: 'x'.repeat(600) })

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  routes: {
    '/get': () => answer(get),
    '/list': () => answer(list),
    '/events': () => answer(events),
    '/create': {
      POST: async (request) => {
        await request.json()
        const id = Bun.randomUUIDv7()
        const tx = await driver.begin()
        tx.defer({ text: insert.text, params: insert.params.with(idAt, id).with(slugAt, `bare-${id}`) })
        await tx.commit([{ text: event.text, params: event.params.with(0, Bun.randomUUIDv7()) }])
        server.publish('all', told)
        return Response.json({ id })
      },
    },
    '/listen': (request, server) => (server.upgrade(request) ? undefined : new Response('', { status: 426 })),
  },
  websocket: { open: (socket) => void socket.subscribe('all'), message: () => {} },
})
console.log(` is at ${server.url.origin}`)
process.on('SIGTERM', async () => {
  await app.close()
  process.exit(0)
})

/** Everything the driver was asked while `work` ran, transactions included. */
async function record(work: () => Promise<unknown>): Promise<Statement[]> {
  const seen: Statement[] = []
  const target = driver as { -readonly [K in keyof Driver]: Driver[K] }
  const { query, begin } = driver
  target.query = (text, params = [], options) => {
    seen.push({ text, params })
    return query.call(driver, text, params, options)
  }
  target.begin = async () => {
    const tx = await begin.call(driver)
    const { query, defer, commit } = tx
    tx.query = (text, params = []) => {
      seen.push({ text, params })
      return query.call(tx, text, params)
    }
    tx.defer = (statement) => {
      seen.push(statement)
      defer.call(tx, statement)
    }
    tx.commit = (last = []) => {
      seen.push(...last)
      return commit.call(tx, last)
    }
    return tx
  }
  await work()
  target.query = query
  target.begin = begin
  return seen
}
