import { afterAll, beforeAll, expect, test } from 'bun:test'
import { pgTable, uuid } from 'drizzle-orm/pg-core'
import { newId } from '../../src/db/columns.ts'
import type { Driver } from '../../src/db/driver.ts'
import { type Db, drizzleOver } from '../../src/db/session.ts'
import { idStartsWith } from '../../src/records/rows.ts'
import { sharedApp, unique } from '../support/app.ts'

const name = unique('referred').replaceAll('-', '_')
const items = pgTable(name, { id: uuid().primaryKey() })
const one = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
const next = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a11'
const other = '019a8a7f-0000-7000-8000-000000000000'

let driver: Driver
let db: Db
beforeAll(async () => {
  driver = (await sharedApp()).app.driver
  db = drizzleOver(driver)
  await driver.exec(`create table ${name} (id uuid primary key)`)
  await db.insert(items).values([one, next, other, newId()].map((id) => ({ id })))
})
afterAll(() => driver.exec(`drop table ${name}`))

const starting = async (prefix: string) =>
  (await db.select().from(items).where(idStartsWith(items.id, prefix)).orderBy(items.id)).map((r) => r.id)

test('ids are found by a beginning of any length', async () => {
  for (let length = 8; length < one.length; length++)
    expect([length, await starting(one.slice(0, length))]).toEqual([length, [one, next]])
  expect(await starting(one)).toEqual([one])
  expect(await starting(other.slice(0, 8))).toEqual([other])
})

test('a text that cannot begin an id finds nothing', async () => {
  for (const prefix of ['019a8a7e5c1f', '019a8a7e--', '019a8a7e-5c1f7', '019a8a7e-5c1f-7d3a-9b520', '00000000'])
    expect([prefix, await starting(prefix)]).toEqual([prefix, []])
})

test('a search by the beginning of an id uses the index', async () => {
  const { sql, params } = db.select().from(items).where(idStartsWith(items.id, '019a8a7e')).toSQL()
  const tx = await driver.begin()
  try {
    await tx.query('set local enable_seqscan = off')
    const { rows } = await tx.query(`explain ${sql}`, params)
    expect(rows.flat().join('\n')).toContain('Index Cond')
  } finally {
    await tx.rollback()
  }
})
