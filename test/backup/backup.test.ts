import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrations } from '../../migrations/index.ts'
import { dump } from '../../src/backup/dump.ts'
import { type Header, type Line, readBackup, writeBackup } from '../../src/backup/file.ts'
import { load, wipe } from '../../src/backup/load.ts'
import type { Driver } from '../../src/db/driver.ts'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { planMigrations } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { keepUp, make, type Saved } from '../../src/features/backups/service.ts'
import { failure, TestClock } from '../features/support.ts'
import { person, sharedApp, systemCtx, type TestApp, testApp, unique } from '../support/app.ts'
import { pictureForm } from '../support/pictures.ts'
import { freshDatabase } from '../support/postgres.ts'

const folder = mkdtempSync(join(tmpdir(), 'tutti-backup-'))
const file = (name: string) => join(folder, name)
const opened: (() => Promise<unknown>)[] = []
let t: TestApp
let saved: Saved
beforeAll(async () => {
  t = await sharedApp()
  const ada = await person(t)
  const project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Saved'), settings: { a: [1, { b: null }] } }))
    .body
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
  saved = await make(systemCtx(t), { path: file('whole.backup') })
}, 60_000)
afterAll(async () => {
  for (const close of opened) await close()
  rmSync(folder, { recursive: true, force: true })
})

async function emptyDatabase(kind: 'pglite' | 'postgres'): Promise<Driver> {
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

/** What a database holds: its tables with counts and sums. */
async function heldBy(lines: AsyncIterable<Line>): Promise<Line[]> {
  const held: Line[] = []
  for await (const line of lines) if (!Array.isArray(line) && 'end' in line) held.push(line)
  return held
}

const targets = process.env.TEST_DATABASE_URL ? (['pglite', 'postgres'] as const) : (['pglite'] as const)

describe('a backup', () => {
  test('is one file that only its owner can read, and says what it holds', async () => {
    expect(statSync(saved.path).mode & 0o777).toBe(0o600)
    expect(saved.rows).toBeGreaterThan(20)
    expect(saved.bytes).toBe(statSync(saved.path).size)
    const lines = await Array.fromAsync(readBackup(saved.path))
    const header = lines[0] as Header
    expect(header.migrations).toEqual(migrations.map((m) => m.id))
    expect(lines.filter(Array.isArray).length).toBe(saved.rows)
    expect(readdirSync(folder).filter((name) => name.includes('.part') || name.startsWith('backup-'))).toEqual([])
  })

  test('does not replace a file that is there', async () => {
    const before = readFileSync(saved.path)
    expect(await failure(make(systemCtx(t), { path: saved.path }))).toMatchObject({ code: 'conflict' })
    expect(readFileSync(saved.path)).toEqual(before)
  })

  for (const kind of targets)
    test(`comes back into ${kind}, row for row, and can be worked with`, async () => {
      const driver = await emptyDatabase(kind)
      const told: string[] = []
      const loaded = await load(driver, readBackup(saved.path), ({ table, done }) => done && told.push(table))
      expect(loaded).toMatchObject({ rows: saved.rows, tables: saved.tables })
      expect(told.length).toBe(saved.tables)
      expect(await heldBy(dump(driver, 'now', undefined))).toEqual(await heldBy(readBackup(saved.path)))
      expect((await planMigrations(driver, migrations)).pending).toEqual([])
      // Counters go on where they were, and foreign keys hold again.
      const { rows } = await driver.query("select max(seq), nextval(pg_get_serial_sequence('events', 'seq')) from events")
      expect(Number(rows[0]?.[1])).toBe(Number(rows[0]?.[0]) + 1)
      const orphan = 'update tasks set project_id = gen_random_uuid()'
      expect(await failure(driver.exec(orphan))).toMatchObject({ code: '23503' })
    }, 60_000)

  test('is refused where data is, and the data stays', async () => {
    const driver = await emptyDatabase('pglite')
    await load(driver, readBackup(saved.path))
    const before = await heldBy(dump(driver, 'now', undefined))
    expect(await failure(load(driver, readBackup(saved.path)))).toMatchObject({ code: 'conflict' })
    expect(await heldBy(dump(driver, 'now', undefined))).toEqual(before)
    await wipe(driver)
    expect((await load(driver, readBackup(saved.path))).rows).toBe(saved.rows)
  }, 60_000)
})

describe('what is not whole', () => {
  test('a file that was cut off or changed anywhere is refused', async () => {
    const whole = readFileSync(saved.path)
    const broken: Record<string, Buffer> = {
      empty: Buffer.alloc(0),
      text: Buffer.from('hello'),
      half: whole.subarray(0, whole.length >> 1),
      tail: whole.subarray(0, -1),
    }
    for (const share of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      const changed = Buffer.from(whole)
      const place = Math.floor(whole.length * share)
      changed[place] = (changed[place] as number) ^ 0x55
      broken[`changed at ${share}`] = changed
    }
    for (const [name, bytes] of Object.entries(broken)) {
      writeFileSync(file('broken.backup'), bytes)
      const refused = (await failure(Array.fromAsync(readBackup(file('broken.backup'))))) as Error
      expect([name, refused?.message]).toEqual([name, expect.stringContaining('is not a whole backup')])
    }
    expect(await failure(Array.fromAsync(readBackup(file('nowhere.backup'))))).toMatchObject({ code: 'not_found' })
  })

  test('a restore that is interrupted goes on; nothing is served from it meanwhile', async () => {
    const driver = await emptyDatabase('pglite')
    async function* cutAfter(tables: number): AsyncGenerator<Line> {
      for await (const line of readBackup(saved.path)) {
        yield line
        if (!Array.isArray(line) && 'end' in line && --tables === 0) throw new Error('power cut')
      }
    }
    expect(await failure(load(driver, cutAfter(12)))).toMatchObject({ message: 'power cut' })
    expect(await failure(planMigrations(driver, migrations))).toMatchObject({ message: expect.stringContaining('not complete') })
    const again: string[] = []
    expect((await load(driver, readBackup(saved.path), ({ table, done }) => done && again.push(table))).rows).toBe(saved.rows)
    expect(await heldBy(dump(driver, 'now', undefined))).toEqual(await heldBy(readBackup(saved.path)))
  }, 60_000)

  test('rows that are not what they were are refused before they count', async () => {
    const driver = await emptyDatabase('pglite')
    async function* changed(): AsyncGenerator<Line> {
      for await (const line of readBackup(saved.path))
        yield Array.isArray(line) ? line.map((v, i) => (i === 0 ? v : (v?.replace(/a/g, 'b') ?? null))) : line
    }
    expect(await failure(load(driver, changed()))).toMatchObject({ code: 'invalid' })
  }, 60_000)

  test('one of a newer version is refused', async () => {
    async function* newer(): AsyncGenerator<Exclude<Line, { done: true }>> {
      for await (const line of readBackup(saved.path))
        yield 'format' in line ? { ...line, migrations: [...line.migrations, '9999_later'] } : line
    }
    await writeBackup(file('newer.backup'), newer())
    const driver = await emptyDatabase('pglite')
    expect(await failure(load(driver, readBackup(file('newer.backup'))))).toMatchObject({ message: expect.stringContaining('9999_later') })
  }, 60_000)
})

test('scheduled ones are made when the last is old enough, and only so many are kept', async () => {
  const clock = new TestClock()
  const into = file('scheduled')
  const timed = await testApp({ BACKUP_DIR: into, BACKUP_EVERY_HOURS: '24', BACKUP_KEEP: '2', background: 'off' }, clock.now)
  const there = () => readdirSync(into).sort()
  try {
    expect(await keepUp(systemCtx(timed), {})).toMatchObject({ tables: saved.tables })
    expect(await keepUp(systemCtx(timed), {})).toBeUndefined()
    clock.forward({ minutes: 23 * 60 })
    expect(await keepUp(systemCtx(timed), {})).toBeUndefined()
    const [first] = there()
    writeFileSync(join(into, 'mine.txt'), 'stays')
    for (const _ of [1, 2]) {
      clock.forward({ minutes: 24 * 60 })
      await keepUp(systemCtx(timed), {})
    }
    expect(there().length).toBe(3)
    expect(there()).not.toContain(first)
    expect(there()).toContain('mine.txt')
  } finally {
    await timed.close()
  }
}, 60_000)
