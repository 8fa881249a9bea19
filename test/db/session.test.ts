import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { and, count, eq, isNull, sql } from 'drizzle-orm'
import { bigint, boolean, doublePrecision, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import fc from 'fast-check'
import { anyOf, idList, instant, json, newId, textList, toIso } from '../../src/db/columns.ts'
import type { Driver } from '../../src/db/driver.ts'
import { type Db, drizzleOver, drizzleTx, prepare } from '../../src/db/session.ts'
import { failure } from '../features/support.ts'
import { sharedApp, unique } from '../support/app.ts'

/** The same cases in every run; to look further, change it for a while. */
fc.configureGlobal({ seed: 20261115 })

const name = unique('probe').replaceAll('-', '_')
const probe = pgTable(name, {
  id: uuid().primaryKey().$defaultFn(newId),
  someText: text(),
  tags: textList(),
  data: json<unknown>(),
  at: instant(),
  flag: boolean(),
  small: integer(),
  big: bigint({ mode: 'number' }),
  real: doublePrecision(),
  version: integer().notNull().default(1),
})

let driver: Driver
let db: Db
beforeAll(async () => {
  driver = (await sharedApp()).app.driver
  db = drizzleOver(driver)
  await driver.exec(
    `create table ${name} (id uuid primary key, some_text text, tags text[], data jsonb, at timestamp(3) with time zone, flag boolean,
       small integer, big bigint, real double precision, version integer not null default 1)`,
  )
})
afterAll(() => driver.exec(`drop table ${name}`))

type Values = Partial<typeof probe.$inferInsert>
/** What the database returns: from the insert, from a read, and from a read inside a transaction. */
async function roundTrip(values: Values) {
  const [inserted] = await db.insert(probe).values(values).returning()
  const id = inserted?.id as string
  const [read] = await db.select().from(probe).where(eq(probe.id, id))
  const tx = await driver.begin()
  const [inTx] = await drizzleTx(tx).select().from(probe).where(eq(probe.id, id))
  await tx.rollback()
  expect(read).toEqual(inserted as typeof read)
  expect(inTx).toEqual(inserted as typeof read)
  return inserted as typeof probe.$inferSelect
}

const nasty = [
  '',
  ' ',
  'NULL',
  'null',
  '{}',
  '{a,b}',
  'a,b',
  '"',
  '""',
  'a"b',
  "it's",
  '\\',
  '\\\\',
  '\\"',
  'a\\nb',
  'line\nbreak',
  'tab\t',
  '\r\n',
  'ünïcödé',
  '日本語',
  '🎼👩‍👩‍👧',
  '\u2028',
  '\u00ad\u200b',
  '$1',
  ':x',
  '?',
  "'; drop table users; --",
  'x'.repeat(10_000),
]
/** Text that Postgres can hold: no NUL, no half of a surrogate pair. */
const anyText = fc.string({ unit: 'binary', maxLength: 60 }).filter((s) => !s.includes('\0') && s.isWellFormed())
const fixed = { seed: 20_261_115, numRuns: 60 }

describe('a text column', () => {
  test('returns a text unchanged', async () => {
    for (const someText of nasty) expect((await roundTrip({ someText })).someText).toBe(someText)
  })

  test('returns any random text unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (someText) => {
        expect((await roundTrip({ someText })).someText).toBe(someText)
      }),
      fixed,
    )
  })

  test('keeps an empty text apart from null', async () => {
    expect((await roundTrip({ someText: '' })).someText).toBe('')
    expect((await roundTrip({})).someText).toBeNull()
    expect((await roundTrip({ someText: null })).someText).toBeNull()
  })
})

describe('a column of texts', () => {
  test('returns lists unchanged', async () => {
    for (const tags of [[], ...nasty.map((n) => [n]), nasty]) expect((await roundTrip({ tags })).tags).toEqual(tags)
    expect((await roundTrip({ tags: null })).tags).toBeNull()
  })

  test('returns random lists unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyText, { maxLength: 8 }), async (tags) => {
        expect((await roundTrip({ tags })).tags).toEqual(tags)
      }),
      fixed,
    )
  })

  test('is an array in the database', async () => {
    const { id } = await roundTrip({ tags: ['a,b', '', '"'] })
    const { rows } = await driver.query(
      `select cardinality(tags), tags[1], tags[2], tags[3], tags @> array['']::text[] from ${name} where id = $1`,
      [id],
    )
    expect(rows[0]).toEqual([3, 'a,b', '', '"', true])
  })
})

describe('a JSON column', () => {
  const values: [string, unknown, string][] = [
    ['an object', { a: 1, b: { c: [1, 2, { d: null }] } }, 'object'],
    ['an empty object', {}, 'object'],
    ['an array', [1, 'two', null, { three: 3 }], 'array'],
    ['an empty array', [], 'array'],
    ['an array of arrays', [[1], [[2]], []], 'array'],
    ['strings that look like JSON', { text: '{"a":1}', list: '[1]', nothing: 'null', quote: '"' }, 'object'],
    ['a string', 'plain', 'string'],
    ['a string that looks like an object', '{"a":1}', 'string'],
    ['a string that looks like a number', '12', 'string'],
    ['an empty string', '', 'string'],
    ['a number', 12.5, 'number'],
    ['true', true, 'boolean'],
    ['false', false, 'boolean'],
    ['unicode', { 'ключ 🎼': 'wert \u2028 é \\u0041 \\' }, 'object'],
    ['large numbers', { safe: Number.MAX_SAFE_INTEGER, small: -Number.MAX_SAFE_INTEGER, tiny: 1e-9 }, 'object'],
    ['dates as text', { at: '2026-11-15T09:30:00.000Z' }, 'object'],
    ['odd keys', { '': 1, 'a.b': 2, "it's": 3, '"': 4, constructor: 5 }, 'object'],
  ]
  test.each(values)('returns %s unchanged', async (_, data, type) => {
    const made = await roundTrip({ data })
    expect(made.data).toEqual(data)
    const { rows } = await driver.query(`select jsonb_typeof(data) from ${name} where id = $1`, [made.id])
    expect(rows[0]?.[0]).toBe(type)
  })

  test('stores null as SQL NULL', async () => {
    const { id } = await roundTrip({ data: null })
    const { rows } = await driver.query(`select data is null from ${name} where id = $1`, [id])
    expect(rows[0]?.[0]).toBe(true)
    expect((await roundTrip({ data: { inside: null } })).data).toEqual({ inside: null })
  })

  test('returns any random value unchanged', async () => {
    const value = fc.dictionary(
      anyText,
      fc.oneof(
        anyText,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(anyText, { maxLength: 3 }),
        fc.dictionary(anyText, anyText, { maxKeys: 2 }),
      ),
      { maxKeys: 4, noNullPrototype: true },
    )
    await fc.assert(
      fc.asyncProperty(value, async (data) => {
        expect((await roundTrip({ data })).data).toEqual(data)
      }),
      fixed,
    )
  })

  test('can be queried by the database', async () => {
    const { id } = await roundTrip({ data: { a: { b: 'deep' }, list: ['x'] } })
    const { rows } = await driver.query(
      `select data->'a'->>'b', data->'list'->>0, data @> '{"a":{"b":"deep"}}' from ${name} where id = $1`,
      [id],
    )
    expect(rows[0]).toEqual(['deep', 'x', true])
  })

  test('is replaced by an update', async () => {
    const { id } = await roundTrip({ data: { a: 1 } })
    const [changed] = await db
      .update(probe)
      .set({ data: ['b'], version: sql`${probe.version} + 1` })
      .where(eq(probe.id, id))
      .returning()
    expect(changed).toMatchObject({ data: ['b'], version: 2 })
  })
})

describe('a time column', () => {
  test.each([
    '2026-11-15T09:30:00.000Z',
    '2026-11-15T09:30:00.001Z',
    '2026-11-15T09:30:00.010Z',
    '2026-11-15T09:30:00.100Z',
    '2026-11-15T09:30:00.999Z',
    '2026-02-28T23:59:59.999Z',
    '2024-02-29T00:00:00.000Z',
    '2000-01-01T00:00:00.000Z',
    '1999-12-31T23:59:59.999Z',
    '1970-01-01T00:00:00.000Z',
    '1969-12-31T23:59:59.999Z',
    '1969-12-31T23:59:59.001Z',
    '1815-12-10T08:00:00.123Z',
    '0999-05-05T05:05:05.050Z',
    '2262-04-12T00:00:00.123Z',
    '9999-12-31T23:59:59.999Z',
  ])('returns %s unchanged', async (at) => {
    const { id, at: read } = await roundTrip({ at })
    expect(read).toBe(at)
    const { rows } = await driver.query(
      `select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') from ${name} where id = $1`,
      [id],
    )
    expect(rows[0]?.[0]).toBe(at)
    const [found] = await db
      .select({ id: probe.id })
      .from(probe)
      .where(and(eq(probe.id, id), eq(probe.at, at)))
    expect(found?.id).toBe(id)
  })

  test('converts other zones to UTC', async () => {
    expect((await roundTrip({ at: '2026-11-15T11:30:00.5+02:00' })).at).toBe('2026-11-15T09:30:00.500Z')
    expect((await roundTrip({ at: '2026-11-15T00:00:00-05:30' })).at).toBe('2026-11-15T05:30:00.000Z')
  })

  test('returns any millisecond of four hundred years unchanged', async () => {
    const at = fc.date({
      min: new Date('1800-01-01T00:00:00.000Z'),
      max: new Date('2200-01-01T00:00:00.000Z'),
      noInvalidDate: true,
    })
    await fc.assert(
      fc.asyncProperty(at, async (date) => {
        expect((await roundTrip({ at: date.toISOString() })).at).toBe(date.toISOString())
      }),
      fixed,
    )
  })

  test('parses the format of the embedded database', () => {
    expect(toIso('2026-11-15 02:09:00+00')).toBe('2026-11-15T02:09:00.000Z')
    expect(toIso('2026-11-15 02:09:00.1+00')).toBe('2026-11-15T02:09:00.100Z')
    expect(toIso('2026-11-15 02:09:00.12+00')).toBe('2026-11-15T02:09:00.120Z')
    expect(toIso('1969-12-31 23:59:59.999+00')).toBe('1969-12-31T23:59:59.999Z')
    expect(toIso(new Date(-1))).toBe('1969-12-31T23:59:59.999Z')
  })
})

describe('columns of numbers and booleans', () => {
  test.each([0, 1, -1, 2_147_483_647, -2_147_483_648])('return the integer %d unchanged', async (small) => {
    expect((await roundTrip({ small })).small).toBe(small)
  })
  test.each([0, 2 ** 31, -(2 ** 40), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])(
    'return the long integer %d unchanged',
    async (big) => {
      expect((await roundTrip({ big })).big).toBe(big)
    },
  )
  test.each([0.1, -1.5, 1e300, 5e-324, 123_456_789.123_456_79])('return the real number %d unchanged', async (real) => {
    expect((await roundTrip({ real })).real).toBe(real)
  })
  test('return true, false and null unchanged', async () => {
    for (const flag of [true, false, null]) expect((await roundTrip({ flag })).flag).toBe(flag)
    const marked = unique('mark')
    await db
      .insert(probe)
      .values([{ someText: marked, flag: true }, { someText: marked, flag: false }, { someText: marked }])
    const of = async (condition: ReturnType<typeof eq>) =>
      (
        await db
          .select()
          .from(probe)
          .where(and(eq(probe.someText, marked), condition))
      ).length
    expect([await of(eq(probe.flag, true)), await of(eq(probe.flag, false)), await of(isNull(probe.flag))]).toEqual([
      1, 1, 1,
    ])
  })
  test('return a row of nulls unchanged', async () => {
    const { id, version, ...rest } = await roundTrip({})
    expect(version).toBe(1)
    expect(Object.values(rest)).toEqual(Object.values(rest).map(() => null))
  })
  test('return a count as a number', async () => {
    const [row] = await db
      .select({ n: count() })
      .from(probe)
      .where(eq(probe.someText, unique('nobody')))
    expect(row?.n).toBe(0)
  })
})

describe('the drizzle session', () => {
  test('writes property names in snake case', async () => {
    const { id } = await roundTrip({ someText: 'x' })
    const { rows } = await db.execute<{ some_text: string; n: number }>(
      sql`select some_text, 1 as n from ${probe} where id = ${id}`,
    )
    expect(rows).toEqual([{ some_text: 'x', n: 1 }])
  })

  test('returns how many rows a statement changed', async () => {
    const mark = unique('mark')
    await db.insert(probe).values([{ someText: mark }, { someText: mark }, { someText: mark }])
    expect(await db.$count(probe, eq(probe.someText, mark))).toBe(3)
    expect(await db.execute(sql`update ${probe} set flag = true where some_text = ${mark}`)).toMatchObject({
      rows: [],
      count: 3,
    })
    expect(await db.execute(sql`delete from ${probe} where some_text = ${mark}`)).toMatchObject({ count: 3 })
    expect(await db.execute(sql`delete from ${probe} where some_text = ${mark}`)).toMatchObject({ count: 0 })
  })

  test('keeps columns of the same name apart in joins', async () => {
    const [a, b] = [await roundTrip({ someText: 'left' }), await roundTrip({ someText: 'right' })]
    const other = pgTable(name, { id: uuid(), someText: text() })
    const rows = await db
      .select({ mine: probe.someText, id: probe.id, none: sql<null>`null`, nested: { version: probe.version } })
      .from(probe)
      .where(anyOf(probe.id, idList([a.id, b.id])))
      .orderBy(probe.someText)
    expect(rows).toEqual([
      { mine: 'left', id: a.id, none: null, nested: { version: 1 } },
      { mine: 'right', id: b.id, none: null, nested: { version: 1 } },
    ])
    expect(
      await db
        .select({ id: other.id })
        .from(other)
        .where(anyOf(other.id, idList([]))),
    ).toEqual([])
  })

  test('runs a prepared query on any connection with other values', async () => {
    const byText = prepare((on) =>
      on
        .select({ id: probe.id, data: probe.data })
        .from(probe)
        .where(eq(probe.someText, sql.placeholder('wanted'))),
    )
    const [a, b] = [unique('a'), unique('b')]
    const first = await roundTrip({ someText: a, data: { n: 1 } })
    expect(await byText(db, { wanted: a })).toEqual([{ id: first.id, data: { n: 1 } }])
    expect(await byText(db, { wanted: b })).toEqual([])
    const tx = await driver.begin()
    const inside = drizzleTx(tx)
    const [second] = await inside.insert(probe).values({ someText: b }).returning()
    expect(await byText(inside, { wanted: b })).toEqual([{ id: second?.id as string, data: null }])
    await tx.rollback()
    expect(await byText(db, { wanted: b })).toEqual([])
  })

  test('refuses transactions outside actions', async () => {
    expect(() => db.transaction(async () => undefined)).toThrow('write action')
    const tx = await driver.begin()
    expect(() => drizzleTx(tx).transaction(async () => undefined)).toThrow('join')
    await tx.rollback()
  })

  test('returns SQLSTATE and constraint of an error, and keeps the connection usable', async () => {
    const { id } = await roundTrip({})
    expect(await failure(db.insert(probe).values({ id }).execute())).toMatchObject({
      name: 'DbError',
      code: '23505',
      constraint: `${name}_pkey`,
    })
    expect(await failure(db.execute(sql`select nonsense`).execute())).toMatchObject({ name: 'DbError', code: '42703' })
    expect(await failure(db.insert(probe).values({ someText: 'a\0b' }).execute())).toMatchObject({
      name: 'DbError',
      code: '22021',
    })
    expect((await roundTrip({ someText: 'after' })).someText).toBe('after')
  })

  test('stores committed changes and no rolled-back ones', async () => {
    const mark = unique('mark')
    for (const [end, expected] of [
      ['rollback', 0],
      ['commit', 1],
    ] as const) {
      const tx = await driver.begin()
      await drizzleTx(tx).insert(probe).values({ someText: mark })
      await tx[end]()
      expect(await db.select().from(probe).where(eq(probe.someText, mark))).toHaveLength(expected)
    }
  })

  test('rolls back the whole transaction if its last statement fails', async () => {
    const mark = unique('mark')
    const { id } = await roundTrip({})
    const tx = await driver.begin()
    await drizzleTx(tx).insert(probe).values({ someText: mark })
    const insert = (text: string, params: unknown[]) => ({ text, params })
    const last = [
      insert(`insert into ${name} (id, some_text) values ($1, $2)`, [newId(), mark]),
      insert(`insert into ${name} (id) values ($1)`, [id]),
      insert(`insert into ${name} (id, some_text) values ($1, $2)`, [newId(), mark]),
    ]
    expect(await failure(tx.commit(last))).toMatchObject({ code: '23505' })
    await tx.rollback()
    expect(await db.select().from(probe).where(eq(probe.someText, mark))).toEqual([])
  })
})
