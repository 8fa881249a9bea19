import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrations as real } from '../../migrations/index.ts'
import type { Driver } from '../../src/db/driver.ts'
import { applyMigrations, type Migration, planMigrations } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { failure, times } from '../features/support.ts'
import { freshDatabase } from '../support/postgres.ts'

const onPostgres = process.env.TEST_DB === 'postgres'
const folder = mkdtempSync(join(tmpdir(), 'tutti-migrate-'))
let url = ''
let drop: (() => Promise<void>) | undefined
let driver: Driver

beforeAll(async () => {
  if (onPostgres) ({ url, drop } = await freshDatabase())
  // The embedded database is only looked at where it is tested: it needs a file that a build step makes.
  const embedded = async () =>
    (await import('../../src/db/embedded/index.ts')).openEmbedded({ dir: folder, minFreeBytes: 0 })
  driver = onPostgres ? await openPostgres({ url, poolSize: 5 }) : await embedded()
  await clear()
})
afterAll(async () => {
  await driver.close()
  await drop?.()
  rmSync(folder, { recursive: true, force: true })
})
afterEach(() => driver.exec('drop table if exists migrations, m_one, m_two, m_three'))

/** A new embedded database comes with the migrations of its build. */
const clear = () => driver.exec('drop schema public cascade; create schema public')

const one: Migration = {
  id: '0001_one',
  sql: "create table m_one (id int primary key, word text not null);\ninsert into m_one values (1, 'it''s; here');",
}
const two: Migration = { id: '0002_two', sql: 'create table m_two (id int);\nalter table m_one add column extra text;' }
const three: Migration = {
  id: '0003_three',
  sql: `create table m_three (id int);
    do $body$ begin insert into m_three values (3); end $body$;`,
}
const broken: Migration = {
  id: '0003_broken',
  sql: 'create table m_three (id int);\nalter table m_one add column extra2 text;\ninsert into m_one values (1, null);',
}

const tables = async () =>
  (
    await driver.query(
      "select table_name from information_schema.tables where table_name = 'migrations' or table_name like 'm\\_%' order by 1",
    )
  ).rows.flat()
const columns = async (table: string) =>
  (
    await driver.query(
      'select column_name from information_schema.columns where table_name = $1 order by ordinal_position',
      [table],
    )
  ).rows.flat()
const appliedMigrations = async () => (await driver.query('select id from migrations order by id')).rows.flat()

describe('migrating', () => {
  test('applies all migrations to a fresh database in order, and returns their names', async () => {
    expect(await planMigrations(driver, [one, two])).toEqual({ applied: [], pending: [one, two] })
    expect(await applyMigrations(driver, [one, two])).toEqual(['0001_one', '0002_two'])
    expect(await tables()).toEqual(['m_one', 'm_two', 'migrations'])
    expect((await driver.query('select id, word, extra from m_one')).rows).toEqual([[1, "it's; here", null]])
    expect(await appliedMigrations()).toEqual(['0001_one', '0002_two'])
    expect(await planMigrations(driver, [one, two])).toEqual({ applied: ['0001_one', '0002_two'], pending: [] })
  })

  test('a second time changes nothing', async () => {
    await applyMigrations(driver, [one, two])
    await driver.query("insert into m_one values (2, 'mine')")
    expect(await applyMigrations(driver, [one, two])).toEqual([])
    expect((await driver.query('select count(*)::int from m_one')).rows).toEqual([[2]])
  })

  test('with a newer version applies only new migrations', async () => {
    await applyMigrations(driver, [one])
    await driver.query("insert into m_one values (2, 'mine')")
    expect(await applyMigrations(driver, [one, two, three])).toEqual(['0002_two', '0003_three'])
    expect((await driver.query('select id from m_one order by id')).rows.flat()).toEqual([1, 2])
    expect((await driver.query('select id from m_three')).rows.flat()).toEqual([3])
  })

  test('refuses a database of a newer version, and leaves it unchanged', async () => {
    await applyMigrations(driver, [one, two, three])
    const error = (await failure(applyMigrations(driver, [one]))) as Error
    expect(error.message).toContain('newer')
    expect(error.message).toContain('0002_two, 0003_three')
    expect(await appliedMigrations()).toEqual(['0001_one', '0002_two', '0003_three'])
  })

  test('rolls back all migrations of the run if one fails', async () => {
    await applyMigrations(driver, [one])
    const error = (await failure(applyMigrations(driver, [one, two, broken]))) as Error
    expect(error.message).toStartWith('Migration failed, nothing was changed')
    expect(error.message).toContain('word')
    expect(await tables()).toEqual(['m_one', 'migrations'])
    expect(await columns('m_one')).toEqual(['id', 'word'])
    expect(await appliedMigrations()).toEqual(['0001_one'])
    // With the mistake corrected, it continues from there.
    expect(await applyMigrations(driver, [one, two, three])).toEqual(['0002_two', '0003_three'])
  })

  test('leaves a fresh database empty if a migration fails or cannot be parsed', async () => {
    await failure(applyMigrations(driver, [one, two, broken]))
    expect(await tables()).toEqual([])
    await failure(applyMigrations(driver, [one, { id: '0002_typo', sql: 'creat table m_two (id int);' }]))
    expect(await tables()).toEqual([])
  })

  test('leaves every connection usable after a failure', async () => {
    await failure(applyMigrations(driver, [one, two, broken]))
    await Promise.all(times(3, () => failure(driver.exec('begin; create table m_one (id int); select 1 / 0; commit;'))))
    const limits = await Promise.all(
      times(
        12,
        async () => (await driver.query("select current_setting('statement_timeout'), 'x' || $1::text", ['y'])).rows[0],
      ),
    )
    expect(new Set(limits.map((r) => String(r)))).toEqual(new Set([String(limits[0])]))
    if (onPostgres) expect(limits[0]).toEqual(['5s', 'xy'])
    const txs = await Promise.all(
      times(onPostgres ? 3 : 1, async () => {
        const tx = await driver.begin()
        const { rows } = await tx.query('select 1')
        return { tx, rows }
      }),
    )
    for (const { tx, rows } of txs) {
      expect(rows).toEqual([[1]])
      await tx.rollback()
    }
  })
})

describe('the snapshot before a migration', () => {
  /** The contents of each snapshot. */
  const recorder = () => {
    const seen: unknown[] = []
    return { seen, take: async () => void seen.push(await tables()) }
  }

  test('is not made for a fresh database, or without a pending migration', async () => {
    const { seen, take } = recorder()
    await applyMigrations(driver, [one], { beforeChange: take })
    await applyMigrations(driver, [one], { beforeChange: take })
    expect(seen).toEqual([])
  })

  test('is made once, before anything changes', async () => {
    const { seen, take } = recorder()
    await applyMigrations(driver, [one])
    await applyMigrations(driver, [one, two, three], { beforeChange: take })
    expect(seen).toEqual([['m_one', 'migrations']])
  })

  test('is required: if it fails, nothing changes', async () => {
    await applyMigrations(driver, [one])
    const full = async () => {
      throw new Error('no space left')
    }
    expect(await failure(applyMigrations(driver, [one, two], { beforeChange: full }))).toMatchObject({
      message: 'no space left',
    })
    expect(await appliedMigrations()).toEqual(['0001_one'])
    expect(await tables()).toEqual(['m_one', 'migrations'])
  })
})

describe('the previous version on a newer database', () => {
  const adds: Migration = { id: '0002_adds', sql: '-- expand\nalter table m_one add column extra text;' }
  const removes: Migration = { id: '0003_removes', sql: 'alter table m_one drop column word;' }
  const before = { version: '1.4.2' }

  test('runs if the next version only adds, and reports it', async () => {
    await applyMigrations(driver, [one, adds], { version: '1.5.0' })
    expect(await applyMigrations(driver, [one], before)).toEqual([])
    expect(await planMigrations(driver, [one], '1.4.2')).toEqual({
      applied: ['0001_one', '0002_adds'],
      pending: [],
      newer: ['0002_adds'],
    })
    // A patch of the same version may have added it, too.
    expect((await planMigrations(driver, [one], '1.5.3')).newer).toEqual(['0002_adds'])
  })

  test('refuses contracting migrations, two versions ahead, and migrations without a kind', async () => {
    await applyMigrations(driver, [one, adds], { version: '1.5.0' })
    for (const version of ['1.3.9', '0.4.2', '2.4.2'])
      expect(await failure(applyMigrations(driver, [one], { version }))).toMatchObject({
        message: expect.stringContaining('newer'),
      })
    await applyMigrations(driver, [one, adds, removes], { version: '1.5.0' })
    const error = (await failure(applyMigrations(driver, [one], before))) as Error
    expect(error.message).toContain('(it has 0003_removes)')
    await driver.query("delete from migrations where id = '0003_removes'")
    expect(await applyMigrations(driver, [one], before)).toEqual([])
    // As an earlier version would have written it.
    await driver.exec('alter table migrations drop column kind')
    expect(((await failure(applyMigrations(driver, [one], before))) as Error).message).toContain('(it has 0002_adds)')
    // The table gets its columns back with the next change.
    expect(
      await applyMigrations(driver, [one, adds, { id: '0004_more', sql: '-- expand\nselect 1;' }], before),
    ).toEqual(['0004_more'])
    expect((await driver.query('select kind, version from migrations order by id')).rows.at(-1)).toEqual([
      'expand',
      '1.4.2',
    ])
  })

  test('relies on expanding migrations that remove and change nothing', () => {
    const changes = /\b(drop|rename|truncate|delete|update|set not null|alter column)\b/i
    const wrong = real.filter(
      ({ sql }) => /^-- (expand|concurrent)\n/.test(sql) && changes.test(sql.replaceAll(/ on (delete|update) /gi, ' ')),
    )
    expect(wrong.map(({ id }) => id)).toEqual([])
  })
})

describe('concurrent index migrations', () => {
  const index: Migration = {
    id: '0002_index',
    sql: '-- concurrent\ncreate index concurrently "m_one_word" on m_one (word);\n',
  }
  const state = async () =>
    (await driver.query("select indisvalid from pg_index where indexrelid = 'm_one_word'::regclass")).rows.flat()

  test('run on a new database and on one with data', async () => {
    await applyMigrations(driver, [one, index])
    expect(await state()).toEqual([true])
    await driver.exec('drop table migrations, m_one')
    await applyMigrations(driver, [one])
    expect(await applyMigrations(driver, [one, index])).toEqual(['0002_index'])
    expect(await applyMigrations(driver, [one, index])).toEqual([])
    expect(await state()).toEqual([true])
    expect((await driver.query("select kind from migrations where id = '0002_index'")).rows).toEqual([['expand']])
  })

  test.skipIf(!onPostgres)('rebuild an index that an interrupted start left, on one of several instances', async () => {
    await applyMigrations(driver, [one])
    await driver.exec('create index m_one_word on m_one (id)')
    await driver.exec("update pg_index set indisvalid = false where indexrelid = 'm_one_word'::regclass")
    const other = await openPostgres({ url, poolSize: 3 })
    try {
      await Promise.all([applyMigrations(driver, [one, index]), applyMigrations(other, [one, index])])
      expect(await state()).toEqual([true])
      const { rows } = await driver.query(
        "select indexdef like '%(word)' from pg_indexes where indexname = 'm_one_word'",
      )
      expect(rows).toEqual([[true]])
      expect(await appliedMigrations()).toEqual(['0001_one', '0002_index'])
    } finally {
      await other.close()
    }
  })

  test.skipIf(!onPostgres)('refuse any other statement before they run', async () => {
    await applyMigrations(driver, [one])
    const wrong = { id: '0002_wrong', sql: '-- concurrent\ndrop table m_one;\n' }
    expect(await failure(applyMigrations(driver, [one, wrong]))).toMatchObject({
      message: expect.stringContaining('create index concurrently'),
    })
    expect(await appliedMigrations()).toEqual(['0001_one'])
  })
})

describe.skipIf(!onPostgres)('a migration of a table with a long reader', () => {
  let others: Driver
  beforeAll(async () => {
    others = await openPostgres({ url, poolSize: 3 })
  })
  afterAll(() => others.close())
  const reading = async () => {
    const reader = await others.begin()
    await reader.query('select count(*) from m_one')
    return reader
  }

  test('lets others continue between its tries, and runs when the reader has ended', async () => {
    await applyMigrations(driver, [one])
    const reader = await reading()
    const blocked: number[] = []
    const onBlocked = async (attempt: number) => {
      blocked.push(attempt)
      // The reader still reads.
      if (attempt === 1) await others.query("insert into m_one values (7, 'meanwhile')")
      if (attempt === 2) await reader.rollback()
    }
    expect(await applyMigrations(driver, [one, two], { lockTimeoutMs: 100, onBlocked })).toEqual(['0002_two'])
    expect(blocked).toEqual([1, 2])
    expect((await driver.query('select word from m_one where id = 7')).rows).toEqual([['meanwhile']])
  })

  test('fails the start after five tries with the reason, and changes nothing', async () => {
    await applyMigrations(driver, [one])
    const reader = await reading()
    const blocked: number[] = []
    const onBlocked = (attempt: number) => void blocked.push(attempt)
    const error = (await failure(applyMigrations(driver, [one, two], { lockTimeoutMs: 20, onBlocked }))) as Error
    expect(error.message).toStartWith('Migration failed, nothing was changed: ')
    expect(error.message).toContain('Another transaction uses a table that has to change')
    expect(blocked).toEqual([1, 2, 3, 4])
    expect(await appliedMigrations()).toEqual(['0001_one'])
    await reader.rollback()
    expect(await applyMigrations(driver, [one, two])).toEqual(['0002_two'])
  })
})

test.skipIf(!onPostgres)(
  'of several instances that start at once, one migrates and the others find it done',
  async () => {
    const others = await Promise.all(times(3, () => openPostgres({ url, poolSize: 2 })))
    try {
      for (const [before, pending] of [
        [[], [one, two, three]],
        [[one], [two, three]],
      ] as [Migration[], Migration[]][]) {
        await driver.exec('drop table if exists migrations, m_one, m_two, m_three')
        if (before.length > 0) await applyMigrations(driver, before)
        // All of them have planned and wait for the lock before the first one runs.
        const gate = await driver.begin()
        await gate.query('select pg_advisory_xact_lock(7866914)')
        const running = others.map((other) => applyMigrations(other, [one, two, three]))
        for (let waiting = 0; waiting < others.length; )
          waiting = Number(
            (
              await driver.query(
                "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())",
              )
            ).rows[0]?.[0],
          )
        await gate.rollback()
        const done = await Promise.all(running)
        expect(done.toSorted((a, b) => a.length - b.length)).toEqual([[], [], pending.map((m) => m.id)])
        expect(await appliedMigrations()).toEqual(['0001_one', '0002_two', '0003_three'])
        expect((await driver.query('select id from m_three')).rows.flat()).toEqual([3])
        for (const other of others)
          expect((await Promise.all(times(4, () => other.query('select 1')))).map((r) => r.rows[0]?.[0])).toEqual([
            1, 1, 1, 1,
          ])
      }
    } finally {
      await Promise.all(others.map((other) => other.close()))
    }
  },
  300_000,
)

test('the migrations of this version have ordered names and apply to a fresh database', async () => {
  const names = real.map((m) => m.id)
  expect(names).toEqual(names.toSorted())
  expect(new Set(names).size).toBe(names.length)
  await clear()
  expect(await applyMigrations(driver, real)).toEqual(names)
  expect(await applyMigrations(driver, real)).toEqual([])
  const { rows } = await driver.query("select table_name from information_schema.tables where table_schema = 'public'")
  expect(rows.flat()).toEqual(
    expect.arrayContaining(['users', 'organizations', 'projects', 'notes', 'events', 'jobs', 'migrations']),
  )
})

test('a migration sets older projects to warn about open acceptance criteria', async () => {
  await clear()
  const at = real.findIndex(({ id }) => id.endsWith('_acceptance_setting'))
  await applyMigrations(driver, real.slice(0, at))
  await driver.exec(`
    insert into organizations (id, created_at, updated_at, name, slug, settings)
      values (gen_random_uuid(), now(), now(), 'Team', 'team', '{}')`)
  // Settings could be anything, also under the name that has a meaning now.
  const [warned, kept] = [
    [undefined, 'strict', '', null, true, ['agents'], { rule: 'enforce' }],
    ['enforce', 'agents'],
  ]
  for (const [i, acceptance] of [...warned, ...kept].entries())
    await driver.exec(`
      insert into projects (id, created_at, updated_at, organization_id, name, slug, key, visibility, settings)
        select gen_random_uuid(), now(), now(), id, 'Old', 'old-${i}', 'OLD${'ABCDEFGHI'[i]}', 'team',
          '${JSON.stringify({ colour: 'red', acceptance })}' from organizations`)
  await applyMigrations(driver, real)
  const { rows } = await driver.query('select settings::text from projects order by slug')
  expect(rows.flat().map((text) => JSON.parse(String(text)))).toEqual(
    [...warned.map(() => 'warn'), ...kept].map((acceptance) => ({ colour: 'red', acceptance })),
  )
})
