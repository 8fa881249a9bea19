import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DbError } from '../../src/db/driver.ts'
import { type EmbeddedDriver, openEmbedded } from '../../src/db/embedded/index.ts'

setDefaultTimeout(300_000)
const folder = mkdtempSync(join(tmpdir(), 'tutti-embedded-'))
let db: EmbeddedDriver

beforeAll(async () => {
  db = await openEmbedded({ dir: folder, minFreeBytes: 0 })
})
afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The DbError a promise rejects with. */
async function failure(promise: Promise<unknown>): Promise<DbError> {
  const error = await promise.then(
    () => expect.unreachable('it should have failed'),
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(DbError)
  return error
}

const one = async (text: string, params: unknown[] = []) => (await db.query(text, params)).rows[0]?.[0]

describe('values in the embedded database', () => {
  test('are returned in the type of their column', async () => {
    const { columns, rows, count } = await db.query(
      `select 7::int2 a, (-2147483648)::int4 b, 9007199254740993::int8 c, 1.5::float8 d, 'NaN'::float4 e, true f, false g, null h,
        '\\x00ff'::bytea i, '{"k":[1]}'::jsonb j, array[1,2] k, 12.30::numeric l, 'é€😀'::text m, '' n, 4000000000::oid o`,
    )
    expect(columns).toEqual([...'abcdefghijklmno'])
    expect(rows).toEqual([
      [
        7,
        -2147483648,
        '9007199254740993',
        1.5,
        Number.NaN,
        true,
        false,
        null,
        new Uint8Array([0, 255]),
        '{"k": [1]}',
        '{1,2}',
        '12.30',
        'é€😀',
        '',
        4e9,
      ],
    ])
    expect(count).toBe(1)
  })

  test('are stored by their JavaScript type', async () => {
    const at = new Date('2026-01-02T03:04:05.678Z')
    const { rows } = await db.query(
      `select $1::text, $2::int4, $3::int8, $4::bool, $5::timestamptz, $6::bytea, $7::jsonb, $8::jsonb, $9::text, $10::text, $11::float8`,
      [
        'a\nb\\',
        42,
        2n ** 62n,
        false,
        at,
        new Uint8Array([1, 2]).subarray(1),
        { a: 'ü' },
        [1, null],
        null,
        undefined,
        -0.25,
      ],
    )
    expect(rows[0]).toEqual([
      'a\nb\\',
      42,
      '4611686018427387904',
      false,
      '2026-01-02 03:04:05.678+00',
      new Uint8Array([2]),
      '{"a": "ü"}',
      '[1, null]',
      null,
      null,
      -0.25,
    ])
  })

  test('can be large and numerous', async () => {
    const text = 'ß'.repeat(3_000_000)
    expect(await one('select $1::text', [text])).toBe(text)
    const { rows, count } = await db.query('select g from generate_series(1, 50000) g')
    expect(count).toBe(50000)
    expect(rows.at(-1)).toEqual([50000])
  })

  test('that cannot be sent fail without affecting others', async () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    expect((await failure(db.query('select $1::jsonb', [circular]))).code).toBe('22000')
    expect((await failure(db.query('select 1\0'))).code).toBe('22021')
    expect((await failure(db.query('select $1::text', ['a\0b']))).code).toBe('22021')
    expect(await one('select 1')).toBe(1)
  })

  test('can use extensions, and statements return their row counts', async () => {
    expect(await one(`select '[1,2]'::vector <-> '[1,4]'::vector`)).toBe(2)
    expect(await one(`select similarity('word', 'word')`)).toBe(1)
    await db.exec('create table counted (id int)')
    expect((await db.query('insert into counted select generate_series(1, 5)')).count).toBe(5)
    expect((await db.query('update counted set id = id + 1 where id > 2')).count).toBe(3)
    expect((await db.query('delete from counted returning id')).rows).toHaveLength(5)
  })
})

describe('errors of the embedded database', () => {
  test('carry SQLSTATE and constraint, and leave the session usable', async () => {
    await db.exec('create table strict (id int primary key, n int not null check (n > 0))')
    await db.query('insert into strict values (1, 1)')
    const [syntax, duplicate, check, missing, value] = await Promise.all([
      failure(db.query('selec 1')),
      failure(db.query('insert into strict values ($1, 1)', [1])),
      failure(db.query('insert into strict values (2, $1)', [-1])),
      failure(db.query('select * from nowhere')),
      failure(db.query('select $1::int', ['x'])),
      db.query('select 1'),
    ])
    expect(syntax.code).toBe('42601')
    expect(duplicate).toMatchObject({ code: '23505', constraint: 'strict_pkey' })
    expect(check).toMatchObject({ code: '23514', constraint: 'strict_n_check' })
    expect(missing.code).toBe('42P01')
    expect(value.code).toBe('22P02')
    expect(await one('select count(*)::int from strict')).toBe(1)
  })

  test('are returned for a statement too deep for Postgres; one too deep for the thread restarts the worker', async () => {
    // How deep is too deep for the thread depends on how far the engine has optimised Postgres by now.
    for (const depth of [4000, 200_000]) {
      const before = db.restarts
      const { code } = await failure(db.query('select $1::jsonb', ['['.repeat(depth)]))
      expect(['54001', '22P02', 'unavailable']).toContain(code)
      expect(await one('select count(*)::int from strict')).toBe(1)
      expect(db.restarts).toBe(before + (code === 'unavailable' ? 1 : 0))
    }
  })

  test('are raised for BEGIN and COMMIT outside begin()', async () => {
    for (const text of ['begin', ' /* x */ COMMIT', 'rollback', 'start transaction'])
      expect((await failure(db.query(text))).code).toBe('25000')
    expect((await failure(db.exec('begin; select 1'))).code).toBe('25000')
    await db.query('insert into strict values (3, 3)')
    expect(await one('select count(*)::int from strict where id = 3')).toBe(1)
  })
})

describe('prepared statements', () => {
  test('survive changes of their tables', async () => {
    await db.exec('create table shape (id int)')
    await db.query('insert into shape values (1)')
    expect((await db.query('select * from shape')).columns).toEqual(['id'])
    await db.exec('alter table shape add name text')
    expect((await db.query('select * from shape')).rows).toEqual([[1, null]])
    // Invisible to the driver: only the error of Postgres reveals it.
    await db.query(`select * from shape where id = $1`, [1])
    await db.query(`create function widen() returns void language sql as 'alter table shape add extra int'`)
    await db.query(`select * from shape where id = $1`, [1])
    await db.query('select widen()')
    expect((await db.query(`select * from shape where id = $1`, [1])).columns).toEqual(['id', 'name', 'extra'])
  })

  test('fail once in a transaction after a change of their table, and work in the next one', async () => {
    await db.exec(
      `create table shape2 (id int); create function widen2() returns void language sql as 'alter table shape2 add extra int'`,
    )
    await db.query('select * from shape2')
    await db.query('select widen2()')
    const tx = await db.begin()
    expect((await failure(tx.query('select * from shape2'))).code).toBe('0A000')
    await tx.rollback()
    const again = await db.begin()
    expect((await again.query('select * from shape2')).columns).toEqual(['id', 'extra'])
    await again.commit()
  })

  test('are limited in number, also in the backend', async () => {
    for (let i = 0; i < 520; i++) await db.query(`select ${i} + $1::int`, [1])
    expect(await one('select 0 + $1::int', [5])).toBe(5)
    expect(await one('select count(*)::int from pg_prepared_statements')).toBeLessThanOrEqual(501)
    expect(db.status().detail.prepared).toBe(500)
  })

  test('that fail to parse do not affect the same text sent at the same time', async () => {
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => db.query('select nope from strict')))
    for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: { code: '42703' } })
  })
})

describe('transactions', () => {
  beforeAll(() => db.exec('create table moves (id int primary key, n int)'))
  const ids = async () => (await db.query('select id from moves order by id')).rows.flat()

  test('commit and roll back', async () => {
    const kept = await db.begin()
    await kept.query('insert into moves values (1, 1)')
    await kept.commit([{ text: 'insert into moves values ($1, 2)', params: [2] }])
    const undone = await db.begin()
    await undone.query('insert into moves values (3, 3)')
    await undone.rollback()
    await undone.rollback()
    expect(await ids()).toEqual([1, 2])
    expect((await failure(kept.query('select 1'))).code).toBe('25000')
    expect((await failure(undone.commit())).code).toBe('25000')
  })

  test('are rolled back by a failing last statement', async () => {
    const tx = await db.begin()
    await tx.query('insert into moves values (10, 1)')
    const last = [
      { text: 'insert into moves values (11, 1)', params: [] },
      { text: 'insert into moves values (1, 1)', params: [] },
      { text: 'insert into moves values (12, 1)', params: [] },
    ]
    expect(await failure(tx.commit(last))).toMatchObject({ code: '23505', constraint: 'moves_pkey' })
    expect(await ids()).toEqual([1, 2])
  })

  test('cannot be committed after a swallowed error', async () => {
    const tx = await db.begin()
    await tx.query('insert into moves values (20, 1)')
    await failure(tx.query('insert into moves values (1, 1)'))
    expect((await failure(tx.commit())).code).toBe('25P02')
    expect(await ids()).toEqual([1, 2])
  })

  test('fail at COMMIT if a deferred constraint fails', async () => {
    await db.exec('create table late (id int unique deferrable initially deferred)')
    const tx = await db.begin()
    await tx.query('insert into late values (1), (1)')
    expect((await failure(tx.commit())).code).toBe('23505')
    expect(await one('select count(*)::int from late')).toBe(0)
  })

  test('support nested savepoints', async () => {
    const tx = await db.begin()
    await tx.query('savepoint a')
    await failure(tx.query('insert into moves values (1, 1)'))
    await tx.query('rollback to savepoint a')
    await tx.commit([{ text: 'insert into moves values (4, 4)', params: [] }])
    expect(await ids()).toEqual([1, 2, 4])
  })

  test('cost nothing when empty, and show others only committed changes', async () => {
    await (await db.begin()).commit()
    const tx = await db.begin()
    await tx.query('insert into moves values (5, 5)')
    const outside = ids()
    await tx.commit()
    expect(await outside).toEqual([1, 2, 4, 5])
  })
})

describe('the queue of the embedded database', () => {
  test('runs statements in their order', async () => {
    const order: string[] = []
    const note = (name: string) => () => void order.push(name)
    const tx = await db.begin()
    const early = [1, 2, 3].map((i) => db.query('select $1::int', [i]).then(note(`q${i}`)))
    const transaction = tx
      .query('select 1')
      .then(() => tx.commit())
      .then(note('tx'))
    const late = [4, 5].map((i) => db.query('select $1::int', [i]).then(note(`q${i}`)))
    await Promise.all([...early, transaction, ...late])
    expect(order.slice(0, 4)).toEqual(['q1', 'q2', 'q3', 'tx'])
  })

  test('accepts thousands of statements at once, with separate failures', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 3000 }, (_, i) => db.query('select 10 / $1::int', [i % 10])),
    )
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(300)
    for (const [i, result] of results.entries()) {
      if (result.status === 'fulfilled') expect(result.value.rows[0]).toEqual([Math.trunc(10 / (i % 10))])
      else expect(result.reason.code).toBe('22012')
    }
  })
})
