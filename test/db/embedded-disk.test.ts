import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DbError } from '../../src/db/driver.ts'
import { openEmbedded } from '../../src/db/embedded/index.ts'

setDefaultTimeout(300_000)
const folder = mkdtempSync(join(tmpdir(), 'tutti-disk-'))
const mounted: string[] = []
const MiB = 1024 * 1024

function mount(name: string, size: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  const { exitCode, stderr } = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path])
  if (exitCode !== 0) throw new Error(stderr.toString())
  mounted.push(path)
  return path
}

/** Leaves this many bytes free. */
function fill(disk: string, free: number): void {
  const { bavail, bsize } = statfsSync(disk)
  writeFileSync(join(disk, 'filler'), new Uint8Array(Math.max(0, bavail * bsize - free)))
}

function empty(disk: string): void {
  rmSync(join(disk, 'filler'))
}

async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await condition())) {
    if (performance.now() > deadline) expect.unreachable('it did not happen within 60 s')
    await Bun.sleep(20)
  }
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'ok',
    (error: DbError) => error.code,
  )

afterAll(() => {
  for (const path of mounted) Bun.spawnSync(['umount', '-l', path])
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(process.getuid?.() !== 0)('the embedded database on a small disk', () => {
  test('refuses writes while space is low, but allows reads and the end of running transactions', async () => {
    const disk = mount('low', '200m')
    const db = await openEmbedded({ dir: join(disk, 'data'), minFreeBytes: 100 * MiB })
    await db.exec('create table t (id int)')
    await db.query('insert into t values (1)')
    const tx = await db.begin()
    await tx.query('insert into t values (2)')
    fill(disk, 50 * MiB)
    await eventually(() => db.status().readOnly === 'disk_full')
    expect(await codeOf(tx.query('insert into t values (3)'))).toBe('disk_full')
    await tx.commit([{ text: 'insert into t values (4)', params: [] }])
    expect(await codeOf(db.query('insert into t values (5)'))).toBe('disk_full')
    expect(await codeOf(db.query('with x as (delete from t returning id) select * from x'))).toBe('disk_full')
    expect(await codeOf(db.exec('create table u (id int)'))).toBe('disk_full')
    const late = await db.begin()
    expect(await codeOf(late.commit([{ text: 'insert into t values (6)', params: [] }]))).toBe('disk_full')
    expect((await db.query('select id from t order by id')).rows.flat()).toEqual([1, 2, 4])
    expect(db.status().ok).toBe(true)
    empty(disk)
    await eventually(() => db.status().readOnly === undefined)
    expect(await codeOf(db.query('insert into t values (7)'))).toBe('ok')
    await db.close()
  })

  test('stops on a full disk until there is space, and loses no confirmed write', async () => {
    const disk = mount('full', '128m')
    const db = await openEmbedded({ dir: join(disk, 'data'), minFreeBytes: 0 })
    await db.exec('create table t (id serial primary key, v text)')
    fill(disk, 3 * MiB)
    const acked: number[] = []
    const write = (rows: number) =>
      db
        .query(
          `insert into t (v) select string_agg(md5(random()::text), '') from generate_series(1, $1) returning id`,
          [rows],
        )
        .then(({ rows }) => acked.push(rows[0]?.[0] as number))
    let code = 'ok'
    while (code === 'ok') code = await codeOf(write(3000))
    expect(code).toBe('disk_full')
    expect((await db.query('select count(*)::int from t')).rows).toEqual([[acked.length]])
    // No room for the WAL either: Postgres panics, and does not come up again.
    code = 'ok'
    while (code === 'ok')
      code = await codeOf(db.query(`select pg_logical_emit_message(true, 'test', repeat('x', 500000))`))
    expect(code).toBe('disk_full')
    await eventually(() => !db.status().ok)
    expect(await codeOf(db.query('select 1'))).toBe('disk_full')
    expect(await codeOf(db.begin())).toBe('disk_full')
    empty(disk)
    await eventually(() => db.status().ok)
    const stored = new Set((await db.query('select id from t')).rows.flat())
    expect(acked.length).toBeGreaterThan(0)
    expect(acked.filter((id) => !stored.has(id))).toEqual([])
    expect(await codeOf(write(1))).toBe('ok')
    await db.close()
  })
})
