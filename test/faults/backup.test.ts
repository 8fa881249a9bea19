import { expect, test } from 'bun:test'
import { readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { $ } from 'bun'
import { dumpDatabase } from '../../src/backup/dump.ts'
import { type BackupLine, checkBackup, readBackup } from '../../src/backup/file.ts'
import type { Driver } from '../../src/db/driver.ts'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { apiKeyFor, folder, json, type Served, serve, tutti } from '../support/binary.ts'
import { freshDatabase } from '../support/postgres.ts'
import { rounds } from './load.ts'

type Kind = 'pglite' | 'postgres'
const kinds: Kind[] = process.env.TEST_DATABASE_URL ? ['pglite', 'postgres'] : ['pglite']

/** An empty place for data, of either kind. */
interface Place {
  dir: string
  env: Record<string, string>
  open(): Promise<Driver>
  drop(): Promise<void>
}

async function place(kind: Kind): Promise<Place> {
  const dir = join(folder(), 'data')
  if (kind === 'pglite')
    return {
      dir,
      env: {},
      open: () => openEmbedded({ dir, minFreeBytes: 0, statementTimeout: 120_000 }),
      drop: async () => undefined,
    }
  const { url, drop } = await freshDatabase()
  return { dir, env: { DATABASE_URL: url }, open: () => openPostgres({ url, statementTimeout: 120_000 }), drop }
}

async function run(args: string[], { dir, env }: Place): Promise<{ seconds: number; rows: number }> {
  const started = performance.now()
  const { code, out, err } = await tutti([...args, '--json', '--data-dir', dir], { env })
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`)
  return { seconds: (performance.now() - started) / 1000, rows: (JSON.parse(out) as { rows: number }).rows }
}

/** The tables of a backup, with counts and sums. */
async function tablesIn(lines: AsyncIterable<BackupLine>): Promise<BackupLine[]> {
  const found: BackupLine[] = []
  for await (const line of lines) if (!Array.isArray(line) && 'end' in line) found.push(line)
  return found
}
const held = async (path: string): Promise<BackupLine[]> => tablesIn(readBackup(path, (await checkBackup(path)).sha256))

// ---- many rows

/** Copies of the one note that is there and of its event, each with a text of its own. */
async function fill(driver: Driver, rows: number): Promise<void> {
  const copies = async (table: string, from: string, own: Record<string, string>) => {
    const { rows: columns } = await driver.query(
      `select quote_ident(attname) from pg_attribute where attrelid = $1::text::regclass and attnum > 0 and not attisdropped
       and attgenerated = '' and attname <> 'seq'`,
      [table],
    )
    const names = columns.flat().map(String)
    return `insert into ${table} (${names}) select ${names.map((name) => own[name] ?? `t.${name}`)} from (${from}) t, made m;`
  }
  const text = "repeat(md5(m.n::text) || ' ', 12)"
  await driver.exec(`
    create temp table made as select gen_random_uuid() as id, n from generate_series(1, ${Math.floor(rows / 2)}) n;
    ${await copies('notes', 'select * from notes limit 1', { id: 'm.id', slug: "'note-' || m.n", title: "'note ' || m.n", content: text })}
    ${await copies('events', "select * from events where type = 'note.created' limit 1", { id: 'gen_random_uuid()', subject_id: 'm.id' })}
    drop table made;`)
}

const many = rounds(2000, 100_000)
test(
  `${many} rows: saved while a server runs, restored into both databases${process.env.SOAK ? ', from both' : ''}, all equal`,
  async () => {
    const first = await place('pglite')
    let server = await serve({ dir: first.dir })
    const key = await apiKeyFor(server)
    expect((await fetch(`${server.url}/api/notes`, json('POST', { title: 'first', content: 'x' }, key))).status).toBe(
      201,
    )
    await server.stop()
    const driver = await first.open()
    await fill(driver, many)
    await driver.close()

    const report: string[] = []
    const tell = (what: string, { seconds, rows }: { seconds: number; rows: number }, more = '') =>
      report.push(`${what}: ${rows} rows in ${seconds.toFixed(1)} s, ${Math.round(rows / seconds)} rows/s${more}`)
    // From the embedded one, binary/backup.test.ts restores into both with more rows, and below it is saved under load.
    for (const from of process.env.SOAK ? kinds : kinds.slice(-1)) {
      let source = first
      if (from === 'postgres') {
        source = await place('postgres')
        tell(
          'moved from pglite to postgres',
          await run(['db', 'move', '--to', source.env.DATABASE_URL as string], first),
        )
        source.dir = first.dir
      }
      server = await serve({ dir: source.dir, env: source.env })
      // What a writer feels of it.
      const feeling = { on: true, worst: 0, writes: 0 }
      const writing = (async () => {
        while (feeling.on) {
          const sent = performance.now()
          const { status } = await fetch(`${server.url}/api/notes`, json('POST', { title: 'meanwhile' }, key))
          expect(status).toBe(201)
          feeling.writes++
          feeling.worst = Math.max(feeling.worst, performance.now() - sent)
        }
      })()
      const live = join(folder(), 'live.backup')
      const saving = await run(['backup', live], source)
      feeling.on = false
      await writing
      tell(
        `saved from ${from} while it serves`,
        saving,
        `, ${(statSync(live).size / 2 ** 20).toFixed(1)} MiB; ${feeling.writes} writes meanwhile, the slowest ${Math.round(feeling.worst)} ms`,
      )
      expect(saving.rows).toBeGreaterThan(many)
      await server.stop()
      const still = join(folder(), 'still.backup')
      tell(`saved from ${from} without a server`, await run(['backup', still], source))
      for (const into of kinds) {
        const target = await place(into)
        tell(`restored from ${from} into ${into}`, await run(['restore', still], target))
        const driver = await target.open()
        expect(await tablesIn(dumpDatabase(driver, { at: 'now' }))).toEqual(await held(still))
        await driver.close()
        await target.drop()
      }
      if (source !== first) await source.drop()
    }
    console.log(report.join('\n'))
  },
  { timeout: 1_800_000 },
)

// ---- one moment

const WRITERS = 4
interface Writing {
  /** How many each writer has had answered. */
  acked: number[]
  stop(): Promise<void>
}

/** Each writer numbers its notes and says in each what had been answered, to any of them, before it was sent; then it says so in its counter. */
async function write(server: Served, key: string): Promise<Writing> {
  const acked = Array.from({ length: WRITERS }, () => 0)
  let running = true
  const send = async (method: string, path: string, body: object): Promise<{ id: string }> => {
    const response = await fetch(server.url + path, json(method, body, key))
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as { id: string }
  }
  const writer = async (n: number) => {
    const counter = await send('POST', '/api/notes', { title: `counter ${n}`, content: '0' })
    for (let i = 1; running; i++) {
      await send('POST', '/api/notes', { title: `writer ${n} ${i}`, content: JSON.stringify(acked) })
      acked[n] = i
      await send('PUT', `/api/notes/${counter.id}`, { content: String(i) })
    }
  }
  const writing = Promise.all(acked.map((_, n) => writer(n)))
  return {
    acked,
    stop: async () => {
      running = false
      await writing
    },
  }
}

/** Whether a state was true at one moment: what is wrong with it, if anything. */
async function flaws(driver: Driver, before: readonly number[]): Promise<string[]> {
  const { rows: notes } = await driver.query(
    "select title, content from notes where title like 'writer %' or title like 'counter %'",
    [],
  )
  const written = before.map(() => new Map<number, number[]>())
  const counters: number[] = []
  for (const [title, content] of notes as [string, string][]) {
    const [what, n, i] = title.split(' ')
    if (what === 'counter') counters[Number(n)] = Number(content)
    else written[Number(n)]?.set(Number(i), JSON.parse(content) as number[])
  }
  const found: string[] = []
  const last = written.map((of) => of.size)
  for (const [n, of] of written.entries()) {
    const size = last[n] as number
    for (let i = 1; i <= size; i++) if (!of.has(i)) found.push(`writer ${n} has ${size} notes, but not ${i}`)
    if (size < (before[n] as number)) found.push(`writer ${n} had ${before[n]} answered before, and has ${size}`)
    if (counters[n] !== size && counters[n] !== size - 1) found.push(`counter ${n} says ${counters[n]} of ${size}`)
    for (const [i, seen] of of)
      for (const [m, count] of seen.entries())
        if (count > (last[m] as number))
          found.push(`writer ${n} ${i} came after ${count} of writer ${m}, of which ${last[m]} are there`)
  }
  const { rows: apart } = await driver.query(
    `select 'note without event ' || n.id from notes n where not exists (select 1 from events e where e.subject_id = n.id and e.type = 'note.created')
     union all select 'event without note ' || e.subject_id from events e where e.type = 'note.created' and not exists (select 1 from notes n where n.id = e.subject_id)
     union all select 'version of ' || n.title from notes n where n.version <> 1 + (select count(*) from events e where e.subject_id = n.id and e.type = 'note.updated')`,
  )
  return [...found, ...apart.flat().map(String)]
}

for (const kind of kinds) {
  const backups = rounds(2, 20)
  test(
    `${backups} backups under write load on ${kind} all restore to a state that was true at one moment`,
    async () => {
      const source = await place(kind)
      const server = await serve({ dir: source.dir, env: source.env })
      const key = await apiKeyFor(server, source.env)
      const writing = await write(server, key)
      const taken: { path: string; before: number[] }[] = []
      for (let round = 0; round < backups; round++) {
        const goal = (writing.acked[0] as number) + 5
        while ((writing.acked[0] as number) < goal) await Bun.sleep(5)
        const path = join(folder(), `${round}.backup`)
        const before = [...writing.acked]
        await run(['backup', path], source)
        taken.push({ path, before })
      }
      await writing.stop()
      expect(await server.stop()).toBe(0)
      let notes = 0
      for (const { path, before } of taken) {
        const target = await place(kind)
        await run(['restore', path], target)
        const driver = await target.open()
        expect(await flaws(driver, before)).toEqual([])
        notes = Number((await driver.query('select count(*)::int from notes')).rows[0]?.[0])
        await driver.close()
        await target.drop()
      }
      // The last one is not what the server ended with: writers went on.
      const driver = await source.open()
      expect(Number((await driver.query('select count(*)::int from notes')).rows[0]?.[0])).toBeGreaterThanOrEqual(notes)
      await driver.close()
      await source.drop()
      console.log(
        `${kind}: ${backups} backups, ${writing.acked.reduce((a, b) => a + b)} notes written meanwhile, ${notes} in the last one, 0 flaws`,
      )
    },
    { timeout: 1_800_000 },
  )
}

test('the consistency check detects a gap, a missing answer and a torn state', async () => {
  const driver = await (await place('pglite')).open()
  const { rows } = await driver.query(
    "select table_name from information_schema.columns where table_name = 'notes' and column_name = 'version'",
  )
  expect(rows.length).toBe(1)
  // Only what the check reads.
  await driver.exec(`drop table notes cascade; create table notes (id uuid default gen_random_uuid(), title text, content text, version int default 1);
    insert into notes (title, content) values ('counter 0', '3'), ('writer 0 1', '[0,0]'), ('writer 0 3', '[1,5]'), ('counter 1', '0'), ('writer 1 1', '[0,0]')`)
  const found = await flaws(driver, [1, 2])
  for (const flaw of [
    'but not 2',
    'writer 1 had 2 answered before, and has 1',
    'counter 0 says 3 of 2',
    'came after 5 of writer 1',
    'note without event',
  ])
    expect(found.join('\n')).toContain(flaw)
  await driver.close()
}, 300_000)

// ---- no room

async function onTmpfs(size: string, work: (root: string) => Promise<void>): Promise<void> {
  const root = folder('tutti-small-')
  await $`mount -t tmpfs -o size=${size} none ${root}`.quiet()
  try {
    await work(root)
  } finally {
    await $`umount -l ${root}`.quiet().nothrow()
  }
}
const noise = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('base64')

test('a backup without disk space prints one clear line, leaves no file, and the server continues', async () => {
  await onTmpfs('64k', async (small) => {
    const server = await serve()
    const key = await apiKeyFor(server)
    for (let i = 0; i < 4; i++)
      await fetch(`${server.url}/api/notes`, json('POST', { title: `noise ${i}`, content: noise(40_000) }, key))
    const full = await tutti(['backup', join(small, 'x.backup'), '--data-dir', server.dir])
    expect(full).toMatchObject({ code: 6, err: expect.stringContaining('Not enough disk space') })
    expect(readdirSync(small)).toEqual([])
    expect((await fetch(`${server.url}/api/notes`, json('POST', { title: 'after' }, key))).status).toBe(201)
    await server.stop()
  })
}, 300_000)

test('a backup is refused before a copy would fill the disk of the data', async () => {
  await onTmpfs('300m', async (root) => {
    const server = await serve({ dir: join(root, 'data') })
    const key = await apiKeyFor(server)
    const { bavail, bsize } = statfsSync(root)
    await Bun.write(join(root, 'other'), Buffer.alloc(bavail * bsize - (10 << 20)))
    const refused = await tutti(['backup', join(folder(), 'y.backup'), '--data-dir', server.dir])
    expect(refused).toMatchObject({ code: 6, err: expect.stringContaining('A backup temporarily needs') })
    expect(readdirSync(server.dir).filter((name) => name.startsWith('backup-'))).toEqual([])
    expect((await fetch(`${server.url}/api/notes`, json('POST', { title: 'after' }, key))).status).toBe(201)
    await server.stop()
  })
}, 300_000)
