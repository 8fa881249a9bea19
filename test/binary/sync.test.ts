import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { BINARY, folder, freePort, onTerminal, type Served, serve } from '../support/binary.ts'
import { Home, Office } from './home.ts'

/** `tutti sync` with the built program: two computers of one user, and a server that goes away and comes back. */
let office: Office
let laptop: Home
let desktop: Home
let server: Served
const port = String(freePort())

beforeAll(async () => {
  office = await Office.open({}, port)
  server = office.server
  laptop = await office.signedIn()
  desktop = await office.signedIn()
  await laptop.run('projects', 'create', 'Mine', '--key', 'MY')
  await laptop.run('tasks', 'create', 'Lock it', '-p', 'MY', '-l', 'db')
  for (const home of [laptop, desktop]) expect((await home.run('sync', 'on')).code).toBe(0)
}, 300_000)
afterAll(() => server.kill())

async function json<T>(home: Home, ...args: string[]): Promise<T> {
  const { code, out, err } = await home.run(...args, '--json')
  expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' })
  return JSON.parse(out) as T
}

const copies = (home: Home) => join(home.env.XDG_CONFIG_HOME, 'tutti/copies')

test('changes made offline arrive at the server once', async () => {
  const [file = ''] = readdirSync(copies(laptop)).filter((name) => name.endsWith('.sqlite'))
  expect(statSync(join(copies(laptop), file)).mode & 0o777).toBe(0o600)
  await server.kill()
  const listed = await laptop.run('tasks', 'list')
  expect(listed).toMatchObject({ code: 0, err: expect.stringContaining('cannot be reached') })
  expect(listed.out).toContain('MY-1  todo    medium    Lock it')
  const made = await laptop.run('tasks', 'create', 'Write it', '-p', 'MY')
  expect(made.err).toContain('queued')
  const [key = ''] = /MY-~[\da-f]{4}/.exec(made.out) ?? []
  expect((await laptop.run('tasks', 'comment', key, 'from the train')).code).toBe(0)
  expect((await laptop.run('tasks', 'update', 'MY-1', '--add-label', 'train', '--title', 'Lock the folder')).code).toBe(
    0,
  )
  expect((await laptop.run('notes', 'create', 'Ideas', '-c', 'seventeen', '-p', 'MY')).code).toBe(0)
  expect((await laptop.run('search', 'seventeen')).out).toContain('Ideas')
  expect(await laptop.run('search', 'label:train', 'is:open', 'is:ready', 'project:my')).toMatchObject({
    out: expect.stringMatching(/^task \(1\)\n +MY-1 +Lock the folder\n/),
    err: expect.stringContaining('Filters: label is train; task is open'),
  })
  expect((await laptop.run('search', 'train')).out).toContain('Lock the folder')
  expect((await laptop.run('search', 'label:train', 'is:done')).out).toBe('')
  const claimed = await laptop.run('tasks', 'claim', key)
  expect(claimed).toMatchObject({ code: 6, err: expect.stringContaining('cannot be claimed without the server') })
  // Nothing else has an offline mode.
  expect((await laptop.run('teams', 'list')).code).toBe(6)
  const terminal = await onTerminal(['sync', 'status'], { env: { ...laptop.env, NO_COLOR: '1' } })
  expect(terminal.shown).toMatch(/Server +http:\S+, cannot be reached\n[\s\S]*Queued +4 changes/)

  server = await serve({ dir: server.dir, port })
  expect(await json(laptop, 'sync')).toMatchObject({ pushed: 4, conflicts: 0, rejected: 0, queued: 0 })
  expect(await json(laptop, 'sync')).toMatchObject({ pushed: 0 })
  // The name that this computer gave still works, and the other computer has everything.
  expect((await laptop.run('tasks', 'show', key)).out).toMatch(/^Task +MY-2 Write it\n[\s\S]*from the train\n$/)
  expect(await json(desktop, 'sync')).toMatchObject({ pushed: 0 })
  const there = await desktop.run('tasks', 'list', '--offline')
  expect(there.out).toMatch(/MY-1 .*Lock the folder/)
  expect(there.out).toMatch(/MY-2 .*Write it/)
  expect((await desktop.run('tasks', 'show', 'MY-1', '--offline')).out).toMatch(/Labels +db, train/)
}, 300_000)

test('tutti mcp works offline with the rights of its token', async () => {
  const work = folder()
  await laptop.within(work, ['link', 'MY'])
  const connect = async () => {
    const client = new Client({ name: 'test', version: '1' })
    const env = { PATH: process.env.PATH ?? '', HOME: folder(), ...laptop.env }
    await client.connect(
      new StdioClientTransport({ command: BINARY, args: ['mcp'], cwd: work, env, stderr: 'ignore' as const }),
    )
    return client
  }
  const names = async (client: Client) =>
    (await client.listTools(undefined, { cacheMode: 'bypass' })).tools.map(({ name }) => name)
  const client = await connect()
  const online = await names(client)
  const call = async (name: string, args: object, by = client) => {
    const { structuredContent, isError, content } = await by.callTool({ name, arguments: { ...args } })
    return { isError, ...(structuredContent as Record<string, unknown>), text: JSON.stringify(content) }
  }
  expect(await call('create_task', { title: 'Before' })).not.toHaveProperty('offline')
  expect((await laptop.run('sync')).code).toBe(0)
  await server.kill()

  const queued = { isError: undefined, offline: expect.stringContaining('queued') }
  const made = await call('create_task', { title: 'By an agent' })
  expect(made).toMatchObject(queued)
  const [key = ''] = /MY-~[\da-f]+/.exec(made.text) ?? []
  expect(await call('complete_task', { task: key, notes: 'All there' })).toMatchObject(queued)
  expect(await call('create_note', { title: 'Found on the way' })).toMatchObject(queued)
  expect(await call('log_decision', { title: 'SQLite', decision: 'Copies are SQLite files' })).toMatchObject(queued)
  expect(await call('store_memory', { content: 'The lighthouse is green' })).toMatchObject(queued)
  expect((await call('search_memory', { query: 'lighthouse' })).text).toContain('green')
  // One that is started now knows only the copy: it offers what works, and says why the rest does not.
  const late = await connect()
  const offline = await names(late)
  expect(online).toEqual(expect.arrayContaining(offline))
  expect(offline).toContain('list_tasks')
  expect(offline).not.toContain('next_task')
  expect(await call('next_task', {}, late)).toMatchObject({
    isError: true,
    text: expect.stringContaining('cannot be reached'),
  })
  expect((await call('get_task', { task: key }, late)).text).toContain('All there')
  await late.close()

  server = await serve({ dir: server.dir, port })
  expect(await json(laptop, 'sync')).toMatchObject({ conflicts: 0, rejected: 0, queued: 0 })
  const shown = await json<{ completionNotes: string; status: string }>(laptop, 'tasks', 'show', key)
  expect(shown).toMatchObject({ status: 'done', completionNotes: 'All there' })
  expect((await laptop.run('memory', 'list')).out).toContain('lighthouse')
  expect(await call('create_task', { title: 'Online again' })).not.toHaveProperty('offline')
  await client.close()
}, 300_000)

test('a field changed on two computers is a conflict that can be resolved for either', async () => {
  for (const [home, title] of [
    [laptop, 'Title of the laptop'],
    [desktop, 'Title of the desktop'],
  ] as const)
    expect((await home.run('tasks', 'update', 'MY-2', '--title', title, '--offline')).code).toBe(0)
  expect(await json(laptop, 'sync')).toMatchObject({ pushed: 1, conflicts: 0 })
  const second = await desktop.run('sync')
  expect(second.err).toContain('1 conflict')
  expect((await desktop.run('tasks', 'list', '--offline')).out).toContain('Title of the laptop')
  const { items } = await json<{ items: { id: string }[] }>(desktop, 'sync', 'conflicts')
  expect(items).toHaveLength(1)
  expect((await desktop.run('sync', 'conflicts')).out).toContain('Title of the desktop')
  expect((await desktop.run('sync', 'resolve', items[0]?.id as string, 'mine')).code).toBe(0)
  expect((await desktop.run('tasks', 'list', '--offline')).out).toContain('Title of the desktop')
  expect((await desktop.run('sync', 'conflicts')).err).toContain('No conflicts.')
}, 300_000)

test('changes that the server rejects are kept', async () => {
  await laptop.run('projects', 'create', 'Short', '--key', 'SH')
  await laptop.run('sync')
  await laptop.run('tasks', 'create', 'Too late', '-p', 'SH', '--offline')
  await laptop.run('projects', 'archive', 'SH')
  const sent = await laptop.run('sync')
  expect(sent.err).toContain('rejected 1 change')
  expect((await laptop.run('sync', 'rejected')).out).toContain('Too late')
  const off = await laptop.run('sync', 'off')
  expect(off).toMatchObject({ code: 5, err: expect.stringContaining('would discard') })
  await laptop.run('projects', 'restore', 'SH')
  expect((await laptop.run('sync', 'rejected', '--retry', 'all')).code).toBe(0)
  expect(await json(laptop, 'sync')).toMatchObject({ pushed: 1, rejected: 0 })
  expect((await desktop.run('tasks', 'show', 'SH-1')).out).toContain('Too late')
}, 300_000)

test('sync --watch sends and receives until it is stopped, also after an outage', async () => {
  const watching = Bun.spawn([BINARY, 'sync', '--watch'], {
    env: { PATH: process.env.PATH ?? '', HOME: folder(), ...laptop.env },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let shown = ''
  let wanted = { text: /^/, found: () => {} }
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      shown += decoder.decode(chunk, { stream: true })
      if (wanted.text.test(shown)) wanted.found()
    }
  }
  const reading = Promise.all([read(watching.stdout), read(watching.stderr)])
  /** Waits until the program has shown a text, each time once more. */
  const shows = async (text: RegExp) => {
    await new Promise<void>((found) => {
      wanted = { text, found }
      if (text.test(shown)) found()
    })
    shown = shown.replace(text, '')
  }
  await shows(/Watching for changes/)
  await laptop.run('notes', 'create', 'Watched', '--offline')
  await shows(/Sent 1 change,/)

  await server.kill()
  await laptop.run('notes', 'create', 'Unsent', '--offline')
  await shows(/Syncing continues when the server responds\.\n/)
  server = await serve({ dir: server.dir, port })
  await shows(/Syncing again\.\n/)
  await shows(/Sent 1 change,/)

  watching.kill('SIGINT')
  expect(await watching.exited).toBe(0)
  await reading
  const { out } = await desktop.run('notes', 'list')
  expect(out).toContain('Watched')
  expect(out).toContain('Unsent')
}, 300_000)

test('a computer without a network syncs by files', async () => {
  const island = new Home(office)
  const dir = folder()
  const [out, back] = [join(dir, 'out.tutti'), join(dir, 'back.tutti')]
  const round = async () => {
    expect((await island.run('sync', 'export', out, '--server', office.url, '--force')).code).toBe(0)
    const carried = await laptop.run('sync', 'carry', out, back, '--yes', '--force')
    expect({ code: carried.code, err: carried.code === 0 ? '' : carried.err }).toEqual({ code: 0, err: '' })
    return island.run('sync', 'import', back)
  }
  expect((await round()).out).toMatch(/^Imported bundle 1: \d+ records/)
  expect((await island.run('sync', 'import', `${back}.none`)).err).toContain('does not exist')
  expect((await island.run('sync', 'status')).out).toContain('reached only through bundles')
  expect(await island.run('tasks', 'list', '--all')).toMatchObject({
    out: expect.stringContaining('MY-1') as string,
    err: expect.stringContaining('reaches the server only through bundles') as string,
  })
  expect((await island.run('tasks', 'create', 'From the island', '-p', 'MY')).code).toBe(0)
  expect((await island.run('sync')).code).toBe(6)
  expect((await round()).out).toMatch(/^Imported bundle 2: \d+ records received, 1 of your changes processed/)
  expect((await laptop.run('tasks', 'list')).out).toContain('From the island')
  expect((await island.run('tasks', 'list', '--all')).out).toMatch(/MY-\d+ .*From the island/)
  // Read twice, carried twice, or changed on the way.
  expect((await island.run('sync', 'import', back)).code).toBe(5)
  expect((await laptop.run('sync', 'carry', out, back, '--yes', '--force')).code).toBe(5)
  const bytes = readFileSync(out)
  bytes[bytes.length - 3] = (bytes.at(-3) as number) ^ 1
  writeFileSync(out, bytes)
  expect((await laptop.run('sync', 'carry', out, back, '--yes', '--force')).code).toBe(2)
}, 300_000)

test('an incomplete export is refused by import', async () => {
  const file = join(folder(), 'tutti.ndjson')
  expect((await laptop.run('export', file, '-p', 'MY')).out).toMatch(/^Saved \d+ records to /)
  expect((await laptop.run('export', file)).code).toBe(5)
  // It came from this instance, so there is nothing to import it into.
  expect((await laptop.run('import', file)).code).toBe(5)
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.slice(0, -200))
  expect(await laptop.run('import', file)).toMatchObject({ code: 2, err: expect.stringContaining('cut off') })
}, 300_000)

test('sync off deletes the copy and ends the device', async () => {
  expect((await desktop.run('sync', 'off')).out).toContain('Deleted')
  expect(readdirSync(copies(desktop))).toEqual([])
  expect((await desktop.run('sync')).code).toBe(4)
  expect((await desktop.run('tasks', 'list', '--offline')).code).toBe(4)
  expect(existsSync(copies(laptop))).toBe(true)
}, 300_000)
