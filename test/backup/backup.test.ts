import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createZstdCompress } from 'node:zlib'
import { migrations } from '../../migrations/index.ts'
import { secretFingerprint } from '../../src/auth/secrets.ts'
import { dumpDatabase } from '../../src/backup/dump.ts'
import {
  type BackupHeader,
  type BackupLine,
  checkBackup,
  RowChecksum,
  readBackup,
  writeBackup,
} from '../../src/backup/file.ts'
import { type LoadOptions, loadBackup } from '../../src/backup/load.ts'
import type { SavedBackup } from '../../src/backup/save.ts'
import type { Driver } from '../../src/db/driver.ts'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { appliedIds, applyMigrations, planMigrations } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { meta } from '../../src/db/table.ts'
import { readEpoch } from '../../src/events/epoch.ts'
import { createBackup, makeScheduledBackup, removeLeftovers, serverMark } from '../../src/features/backups/service.ts'
import { failure, TestClock } from '../features/support.ts'
import { person, sharedApp, systemCtx, type TestApp, testApp, unique } from '../support/app.ts'
import { pictureForm } from '../support/pictures.ts'
import { freshDatabase } from '../support/postgres.ts'
import { thorough } from '../support/thorough.ts'

const folder = mkdtempSync(join(tmpdir(), 'tutti-backup-'))
const file = (name: string) => join(folder, name)
const opened: (() => Promise<unknown>)[] = []
let t: TestApp
let saved: SavedBackup
let epoch: string
beforeAll(async () => {
  t = await sharedApp()
  const ada = await person(t)
  const project = (
    await ada.fetch<{ id: string }>('POST', '/api/projects', {
      name: unique('Saved'),
      settings: { a: [1, { b: null }] },
    })
  ).body
  const content = 'quotes " \' \\ and {braces}, lines\n\ttabs, 日本語, 🦊, \u2028, NULL, \\N'
  await ada.fetch('POST', '/api/notes', {
    title: unique('Ünïcode 🦊'),
    content,
    tags: ['a,b', '"c"', '{d}', 'NULL', ''].filter(Boolean),
    projectId: project.id,
    scope: 'team',
  })
  await ada.fetch('POST', '/api/memories', { content, scope: 'project', scopeId: project.id })
  await ada.fetch('POST', `/api/projects/${project.id}/tasks`, { title: unique('One') })
  await ada.fetch('POST', '/api/settings/avatar', pictureForm())
  // The position of search and the epoch of events: both start over after a restore.
  await t.app.db.insert(meta).values({ key: 'search.position', value: '{"high":1,"holes":[]}' }).onConflictDoNothing()
  epoch = await readEpoch(t.app.driver)
  saved = await createBackup(systemCtx(t), { path: file('whole.backup') })
}, 300_000)
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Opens a new database, which the end of the test closes. Default: of the kind that the tests run on. */
async function emptyDatabase(kind: Driver['kind'] = t.app.driver.kind): Promise<Driver> {
  if (kind === 'pglite') {
    const driver = await openEmbedded({ dir: mkdtempSync(join(folder, 'db-')), durability: 'relaxed', minFreeBytes: 0 })
    opened.push(() => driver.close())
    return driver
  }
  const { url, drop } = await freshDatabase()
  const driver = await openPostgres({ url, statementTimeout: 30_000 })
  opened.push(() => driver.close().then(drop))
  return driver
}

/** As before the first migration; a new embedded database has them all. */
async function bare(driver: Driver): Promise<Driver> {
  const { rows } = await driver.query(
    "select quote_ident(relname) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
  )
  if (rows.length > 0) await driver.exec(`drop table ${rows.join(', ')} cascade`)
  return driver
}

/** The tables of a database with counts and sums. */
async function tableLines(lines: AsyncIterable<BackupLine>): Promise<BackupLine[]> {
  const held: BackupLine[] = []
  for await (const line of lines) if (!Array.isArray(line) && 'end' in line) held.push(line)
  return held
}

const targets = process.env.TEST_DATABASE_URL ? (['pglite', 'postgres'] as const) : (['pglite'] as const)

/** The lines of a backup, after it was checked. */
async function* linesIn(path: string): AsyncGenerator<BackupLine> {
  yield* readBackup(path, (await checkBackup(path)).sha256)
}
const into = (
  driver: Driver,
  lines: () => AsyncIterable<BackupLine> = () => linesIn(saved.file),
  more: Partial<LoadOptions> = {},
) => loadBackup(driver, lines, { identity: 'one', ...more })
const tablesOf = (driver: Driver) => tableLines(dumpDatabase(driver, { at: 'now' }))

describe('a backup', () => {
  test('is one file that only its owner can read, and describes its contents', async () => {
    expect(statSync(saved.file).mode & 0o777).toBe(0o600)
    expect(saved.rows).toBeGreaterThan(20)
    expect(saved.bytes).toBe(statSync(saved.file).size)
    expect(saved.secret).toBe(true)
    const lines = await Array.fromAsync(linesIn(saved.file))
    const header = lines[0] as BackupHeader
    expect(header.migrations).toEqual(migrations.map((m) => m.id))
    expect(header.tables).toBe(saved.tables)
    expect(header.secret).toBe(readFileSync(join(t.app.config.DATA_DIR, 'secret'), 'utf8').trim())
    expect(lines.filter(Array.isArray).length).toBe(saved.rows)
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
    expect(readdirSync(t.app.config.DATA_DIR).filter((name) => name.startsWith('backup-'))).toEqual([])
  })

  test('omits a secret that the operator keeps elsewhere', async () => {
    const secret = readFileSync(join(t.app.config.DATA_DIR, 'secret'), 'utf8').trim()
    const own = await testApp({ TUTTI_SECRET: secret, background: 'off' })
    const without = await createBackup(systemCtx(own), { path: file('without.backup') })
    expect(without.secret).toBe(false)
    expect(JSON.stringify(await Array.fromAsync(linesIn(without.file)))).not.toContain(secret)
    await own.close()
  })

  test('does not replace an existing file', async () => {
    const before = readFileSync(saved.file)
    expect(await failure(createBackup(systemCtx(t), { path: saved.file }))).toMatchObject({ code: 'conflict' })
    expect(readFileSync(saved.file)).toEqual(before)
  })

  test('reports what is wrong with the target path', async () => {
    const to = (path: string) => failure(createBackup(systemCtx(t), { path }))
    expect(await to(file('no/such/folder.backup'))).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('no folder'),
    })
    expect(await to(join(saved.file, 'below.backup'))).toMatchObject({ code: 'not_found' })
    mkdirSync(file('closed'))
    chmodSync(file('closed'), 0o500)
    // Root may write everywhere but there.
    const closed = process.getuid?.() === 0 ? '/proc/x.backup' : file('closed/x.backup')
    expect((await to(closed)) as { code: string }).toMatchObject({ code: expect.stringMatching(/forbidden|not_found/) })
  })

  test('leaves no file when it fails or is stopped', async () => {
    async function* failing(): AsyncGenerator<BackupLine> {
      for await (const line of linesIn(saved.file)) {
        yield line
        if (!Array.isArray(line) && 'end' in line) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
      }
    }
    expect(await failure(writeBackup(file('failing.backup'), failing()))).toMatchObject({ code: 'disk_full' })
    const stop = new AbortController()
    async function* stopping(): AsyncGenerator<BackupLine> {
      yield* linesIn(saved.file)
      stop.abort(new Error('the server stopped'))
      yield* linesIn(saved.file)
    }
    await failure(writeBackup(file('stopping.backup'), stopping(), stop.signal))
    expect(readdirSync(folder).filter((name) => /^(failing|stopping)/.test(name))).toEqual([])
  })

  for (const kind of targets)
    test(`comes back into ${kind}, row for row, and can be worked with`, async () => {
      const driver = await emptyDatabase(kind)
      const told: string[] = []
      const loaded = await into(driver, undefined, { onProgress: ({ table, done }) => done && told.push(table) })
      expect(loaded).toMatchObject({ rows: saved.rows, tables: saved.tables })
      expect(told.length).toBe(saved.tables)
      expect(await tablesOf(driver)).toEqual(await tableLines(linesIn(saved.file)))
      expect((await planMigrations(driver, migrations)).pending).toEqual([])
      const left = await driver.query("select count(*)::int from meta where key in ('search.position', 'epoch')")
      expect(left.rows).toEqual([[0]])
      const anew = await readEpoch(driver)
      expect([await readEpoch(t.app.driver), await readEpoch(driver)]).toEqual([epoch, anew])
      expect(anew).not.toBe(epoch)
      // Sequences continue, and foreign keys are enforced again.
      const { rows } = await driver.query(
        "select max(seq), nextval(pg_get_serial_sequence('events', 'seq')) from events",
      )
      expect(Number(rows[0]?.[1])).toBe(Number(rows[0]?.[0]) + 1)
      const orphan = 'update tasks set project_id = gen_random_uuid()'
      expect(await failure(driver.exec(orphan))).toMatchObject({ code: '23503' })
      const keys = await driver.query("select count(*)::int from pg_constraint where contype = 'f'")
      const there = await t.app.driver.query("select count(*)::int from pg_constraint where contype = 'f'")
      expect(keys.rows).toEqual(there.rows)
    }, 300_000)

  thorough(
    'of an older version is restored and then migrated',
    async () => {
      const older = migrations.slice(0, -3)
      const source = await bare(await emptyDatabase())
      await applyMigrations(source, older)
      await source.exec(`insert into meta (key, value) values ('kept', 'of old')`)
      const path = file('older.backup')
      await writeBackup(path, dumpDatabase(source, { at: 'then' }))
      expect((await appliedIds(source)).length).toBe(older.length)
      // Into the other kind of database, if there is one; binary/backup.test.ts restores one from embedded to embedded.
      const driver = await emptyDatabase(targets.find((kind) => kind !== t.app.driver.kind))
      // Also where this version has been before.
      await applyMigrations(driver, migrations)
      expect((await into(driver, () => linesIn(path))).header.migrations).toEqual(older.map((m) => m.id))
      expect((await planMigrations(driver, migrations)).pending).toEqual([])
      expect((await driver.query("select value from meta where key = 'kept'")).rows).toEqual([['of old']])
    },
    300_000,
  )

  test('is not restored over existing data without --replace; tables of others stay', async () => {
    const driver = await emptyDatabase()
    await driver.exec('create table invoices (id int); insert into invoices values (7)')
    const invoices = async () => (await driver.query('select id from invoices')).rows.flat().map(Number)
    await into(driver)
    await driver.exec("insert into meta (key, value) values ('mine', 'stays')")
    const before = await tablesOf(driver)
    expect(await failure(into(driver))).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('--replace'),
    })
    expect(await tablesOf(driver)).toEqual(before)
    expect((await into(driver, undefined, { replace: true })).rows).toBe(saved.rows)
    expect(await tablesOf(driver)).toEqual(await tableLines(linesIn(saved.file)))
    expect(await invoices()).toEqual([7])
  }, 300_000)

  thorough(
    'is restored with --replace over a newer version, whose tables are dropped with all others',
    async () => {
      const driver = await emptyDatabase()
      await into(driver)
      await driver.exec('create table invoices (id int); create table rockets (id int); insert into rockets values (1)')
      await driver.exec("insert into migrations (id) values ('9999_rockets')")
      const path = file('newer-state.backup')
      await writeBackup(path, dumpDatabase(driver, { at: 'now' }))
      expect(await tableLines(linesIn(path))).toContainEqual(expect.objectContaining({ end: 'rockets', rows: 1 }))
      await into(driver, undefined, { replace: true })
      const left = await driver.query("select to_regclass('rockets')::text, to_regclass('invoices')::text")
      expect(left.rows).toEqual([[null, null]])
      expect((await planMigrations(driver, migrations)).pending).toEqual([])
    },
    300_000,
  )

  test('with forged lines writes only to our tables', async () => {
    const driver = await emptyDatabase()
    await driver.exec('create table invoices (id int)')
    const { header } = await checkBackup(saved.file)
    for (const [table, row] of [
      ['invoices', { id: '7' }],
      ['restore_progress', { kind: 'key', name: 'x', definition: 'create table owned (id int)' }],
      ['migrations', { id: '9999_later' }],
    ] as const) {
      async function* lines(): AsyncGenerator<BackupLine> {
        yield { ...header, tables: 1 }
        yield { table, columns: Object.keys(row) }
        const sum = new RowChecksum()
        sum.add(Object.values(row))
        yield Object.values(row)
        yield { end: table, rows: 1, sum: sum.toString() }
      }
      expect(await failure(into(driver, lines, { replace: true }))).toMatchObject({
        code: 'invalid',
        message: expect.stringContaining(table),
      })
    }
    async function* twice(): AsyncGenerator<BackupLine> {
      yield header
      yield header
    }
    expect(await failure(into(driver, twice, { replace: true }))).toMatchObject({ code: 'invalid' })
    expect((await driver.query('select count(*)::int from invoices')).rows).toEqual([[0]])
  }, 300_000)
})

describe('a damaged backup', () => {
  test('that was cut off, or has any changed byte, is refused', async () => {
    const whole = readFileSync(saved.file)
    const broken: Record<string, Buffer> = {
      empty: Buffer.alloc(0),
      text: Buffer.from('hello'),
      half: whole.subarray(0, whole.length >> 1),
      tail: whole.subarray(0, -1),
      longer: Buffer.concat([whole, Buffer.from('x')]),
      twice: Buffer.concat([whole, whole]),
    }
    const first = Array.from({ length: 64 }, (_, i) => i)
    const last = Array.from({ length: 64 }, (_, i) => whole.length - 1 - i)
    const between = Array.from({ length: 100 }, () => Math.floor(Math.random() * whole.length))
    for (const place of [...first, ...last, ...between]) {
      const changed = Buffer.from(whole)
      changed[place] = (changed[place] as number) ^ (1 << (place % 8))
      broken[`changed at ${place}`] = changed
    }
    for (const [name, bytes] of Object.entries(broken)) {
      writeFileSync(file('broken.backup'), bytes)
      const refused = (await failure(checkBackup(file('broken.backup')))) as Error
      expect([name, refused?.message]).toEqual([name, expect.stringContaining('cannot be used')])
    }
    expect(await failure(checkBackup(file('nowhere.backup')))).toMatchObject({ code: 'not_found' })
    expect(await failure(checkBackup(folder))).toMatchObject({ message: expect.stringContaining('not a file') })
  })

  test('that changes after its check is never served', async () => {
    const path = file('changing.backup')
    const whole = readFileSync(saved.file)
    writeFileSync(path, whole)
    const { sha256 } = await checkBackup(path)
    const changed = Buffer.from(whole)
    changed[whole.length >> 1] = (changed[whole.length >> 1] as number) ^ 1
    writeFileSync(path, changed)
    const driver = await emptyDatabase()
    // Which error depends on the contents in the middle.
    expect(await failure(into(driver, () => readBackup(path, sha256)))).toMatchObject({
      message: expect.stringMatching(
        /has changed since|differ from those that were saved|not in the expected order|does not have/,
      ),
    })
    expect(await failure(planMigrations(driver, migrations))).toMatchObject({
      message: expect.stringContaining('not complete'),
    })
    expect((await into(driver)).rows).toBe(saved.rows)
  }, 300_000)

  test('whose restore was interrupted can be continued, and is not served meanwhile', async () => {
    const driver = await emptyDatabase()
    async function* cutAfter(tables: number): AsyncGenerator<BackupLine> {
      for await (const line of linesIn(saved.file)) {
        yield line
        if (!Array.isArray(line) && 'end' in line && --tables === 0) throw new Error('power cut')
      }
    }
    expect(await failure(into(driver, () => cutAfter(12)))).toMatchObject({ message: 'power cut' })
    expect(await failure(planMigrations(driver, migrations))).toMatchObject({
      message: expect.stringContaining('not complete'),
    })
    expect(await failure(Array.fromAsync(dumpDatabase(driver, { at: 'now' })))).toMatchObject({ code: 'conflict' })
    expect(await failure(into(driver, undefined, { identity: 'another' }))).toMatchObject({ code: 'conflict' })
    // One of those that are there has another content at the source by now, as after a server ran on it between two moves.
    await driver.exec(
      "insert into counters select 'stale', 1, now() from generate_series(1, 0); update restore_progress set definition = '9 9' where name = 'agents'",
    )
    expect((await into(driver)).rows).toBe(saved.rows)
    expect(await tablesOf(driver)).toEqual(await tableLines(linesIn(saved.file)))
  }, 300_000)

  test('that unpacks to one endless line is refused before it fills the memory', async () => {
    const path = file('bomb.backup')
    const { header } = await checkBackup(saved.file)
    const squeeze = createZstdCompress()
    const chunks: Buffer[] = []
    squeeze.on('data', (chunk: Buffer) => chunks.push(chunk))
    squeeze.write(`${JSON.stringify(header)}\n["`)
    const filler = Buffer.alloc(1 << 20, 'a')
    for (let i = 0; i < 260; i++) if (!squeeze.write(filler)) await once(squeeze, 'drain')
    squeeze.end('"]\n')
    await once(squeeze, 'end')
    const seal = readFileSync(saved.file).subarray(-40, -32)
    const sealed = Buffer.concat([...chunks, seal])
    writeFileSync(path, Buffer.concat([sealed, new Bun.CryptoHasher('sha256').update(sealed).digest()]))
    expect(statSync(path).size).toBeLessThan(1 << 20)
    const { sha256 } = await checkBackup(path)
    expect(await failure(Array.fromAsync(readBackup(path, sha256)))).toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('longer'),
    })
  }, 300_000)

  test('with changed rows is refused before it takes effect', async () => {
    const driver = await emptyDatabase()
    async function* changed(): AsyncGenerator<BackupLine> {
      for await (const line of linesIn(saved.file))
        yield Array.isArray(line) ? line.map((v, i) => (i === 0 ? v : (v?.replace(/a/g, 'b') ?? null))) : line
    }
    expect(await failure(into(driver, changed))).toMatchObject({ code: 'invalid' })
  }, 300_000)

  test('of a newer version is refused', async () => {
    async function* newer(): AsyncGenerator<BackupLine> {
      for await (const line of linesIn(saved.file))
        yield 'format' in line ? { ...line, migrations: [...line.migrations, '9999_later'] } : line
    }
    await writeBackup(file('newer.backup'), newer())
    const driver = await bare(await emptyDatabase())
    expect(await failure(into(driver, () => linesIn(file('newer.backup'))))).toMatchObject({
      message: expect.stringContaining('9999_later'),
    })
    expect(await appliedIds(driver)).toEqual([])
  }, 300_000)

  test('leaves the database of another program unchanged', async () => {
    const other = await bare(await emptyDatabase())
    await other.exec('create table users (id int); insert into users values (7)')
    for (const replace of [false, true])
      expect(await failure(into(other, undefined, { replace }))).toMatchObject({
        message: expect.stringContaining('another program'),
      })
    expect((await other.query('select id from users')).rows.flat().map(Number)).toEqual([7])
  }, 300_000)
})

describe('files of a killed process', () => {
  test('are removed, but not those of a running process or of others', async () => {
    const dir = t.app.config.DATA_DIR
    mkdirSync(join(dir, 'backup-abc123/db'), { recursive: true })
    mkdirSync(join(dir, 'backup-of-mine'), { recursive: true })
    await removeLeftovers(t.app)
    expect(existsSync(join(dir, 'backup-abc123'))).toBe(t.app.driver.kind !== 'pglite')
    expect(existsSync(join(dir, 'backup-of-mine'))).toBe(true)
    const old = new Date(Date.now() - 2 * 3_600_000)
    for (const name of ['swept.backup.old123.part', 'swept.backup.new123.part', 'other.backup.old123.part'])
      writeFileSync(file(name), 'x')
    for (const name of ['swept.backup.old123.part', 'other.backup.old123.part']) utimesSync(file(name), old, old)
    await writeBackup(file('swept.backup'), linesIn(saved.file))
    expect(
      readdirSync(folder)
        .filter((name) => name.endsWith('.part'))
        .sort(),
    ).toEqual(['other.backup.old123.part', 'swept.backup.new123.part'])
    for (const name of readdirSync(folder)) if (name.endsWith('.part')) rmSync(file(name))
  })

  test('are removed for pipes and for commands in the data folder too', async () => {
    const dir = t.app.config.DATA_DIR
    const [now, hours, days] = [0, 2, 48].map((h) => new Date(Date.now() - h * 3_600_000)) as [Date, Date, Date]
    const there = {
      'piped-1.backup': days,
      'piped-2.backup': hours,
      'replaced-1.backup.abc123.part': hours,
      'replaced-2.backup.abc123.part': now,
      'replaced-3.backup': days,
    }
    for (const [name, at] of Object.entries(there)) {
      writeFileSync(join(dir, name), 'x')
      utimesSync(join(dir, name), at, at)
    }
    await removeLeftovers(t.app)
    const left = Object.keys(there).filter((name) => existsSync(join(dir, name)))
    for (const name of left) rmSync(join(dir, name))
    expect(left).toEqual(['piped-2.backup', 'replaced-2.backup.abc123.part', 'replaced-3.backup'])
  })

  test('never include an empty file with the name of a backup', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const steps: string[] = []
    const watched = watch(folder, (step, name) => {
      if (name === 'appears.backup') steps.push(step)
      if (name === 'all-told') resolve()
    })
    await writeBackup(file('appears.backup'), linesIn(saved.file))
    writeFileSync(file('all-told'), '')
    await promise
    watched.close()
    expect(steps).toEqual(['rename'])
  })

  test('do not include a copy that is being read', async () => {
    const making = createBackup(systemCtx(t), { path: file('beside.backup') })
    await removeLeftovers(t.app)
    await removeLeftovers(t.app)
    expect((await making).rows).toBeGreaterThan(0)
  })
})

describe('scheduled backups', () => {
  const scheduled = async (
    name: string,
    more: Record<string, string>,
    work: (timed: TestApp, clock: TestClock, dir: string) => Promise<void>,
  ) => {
    const clock = new TestClock()
    const dir = file(name)
    const timed = await testApp(
      { BACKUP_DIR: dir, BACKUP_EVERY_HOURS: '24', BACKUP_KEEP: '2', background: 'off', ...more },
      clock.now,
    )
    try {
      await work(timed, clock, dir)
    } finally {
      await timed.close()
    }
  }
  const there = (dir: string) => readdirSync(dir).sort()

  test('are made when the last one is old enough, and only BACKUP_KEEP are kept', async () => {
    await scheduled('scheduled', {}, async (timed, clock, dir) => {
      expect(await makeScheduledBackup(systemCtx(timed), {})).toMatchObject({ tables: saved.tables })
      expect(await makeScheduledBackup(systemCtx(timed), {})).toBeUndefined()
      clock.forward({ minutes: 23 * 60 })
      expect(await makeScheduledBackup(systemCtx(timed), {})).toBeUndefined()
      const [first] = there(dir)
      writeFileSync(join(dir, 'mine.txt'), 'stays')
      writeFileSync(join(dir, 'tutti-before.backup'), 'stays')
      // Another server keeps its backups here.
      const anothers = `tutti-${clock.now().getUTCFullYear() - 1}-01-01T00-00-00Z-00000000.backup`
      writeFileSync(join(dir, anothers), 'stays')
      // With one of the year before, the next is one too many.
      const oldest = (first as string).replace(/\d{4}/, (year) => String(Number(year) - 1))
      cpSync(join(dir, first as string), join(dir, oldest))
      clock.forward({ minutes: 24 * 60 })
      await makeScheduledBackup(systemCtx(timed), {})
      expect(there(dir).length).toBe(5)
      expect(there(dir)).toContain(anothers)
      expect(there(dir)).toContain(first as string)
      expect(there(dir)).not.toContain(oldest)
      expect(there(dir)).toContain('mine.txt')
      expect(there(dir)).toContain('tutti-before.backup')
    })
  }, 300_000)

  test('are made and kept even if earlier ones have a future date', async () => {
    await scheduled('future', { BACKUP_KEEP: '1' }, async (timed, clock, dir) => {
      mkdirSync(dir)
      const mark = serverMark(secretFingerprint(timed.app.secret))
      const wrong = [`tutti-2099-01-01T00-00-00Z-${mark}.backup`, `tutti-2099-01-02T00-00-00Z-${mark}.backup`]
      for (const name of wrong) writeFileSync(join(dir, name), 'x')
      const made = await makeScheduledBackup(systemCtx(timed), {})
      expect(existsSync(made?.file as string)).toBe(true)
      clock.forward({ minutes: 24 * 60 })
      const next = await makeScheduledBackup(systemCtx(timed), {})
      expect(there(dir)).toEqual([next?.file.split('/').pop() as string, ...wrong])
    })
  }, 300_000)

  test('delete none when one fails, and the next one succeeds', async () => {
    await scheduled('failing', { BACKUP_KEEP: '1' }, async (timed, clock, dir) => {
      const good = await makeScheduledBackup(systemCtx(timed), {})
      clock.forward({ minutes: 24 * 60 })
      const stop = new AbortController()
      stop.abort(new Error('it took too long'))
      await failure(makeScheduledBackup({ ...systemCtx(timed), signal: stop.signal }, {}))
      expect(there(dir)).toEqual([good?.file.split('/').pop() as string])
      expect((await checkBackup(good?.file as string)).header.at).toBe(good?.at as string)
      expect(await makeScheduledBackup(systemCtx(timed), {})).toBeDefined()
    })
  }, 300_000)

  test('do not run without BACKUP_DIR', async () => {
    const names = (app: TestApp) => app.app.jobs.insert(app.app.driver, [{ name: 'backups.keepUp', data: {} }])
    expect(await failure(names(t))).toMatchObject({ message: expect.stringContaining('not defined') })
  })
})
