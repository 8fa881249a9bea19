import { expect, test } from 'bun:test'
import { DbError } from '../../src/db/driver.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { freshDatabase } from '../support/postgres.ts'

const onPostgres = process.env.TEST_DB === 'postgres' ? test : test.if(false)

onPostgres('a caller who waits too long for a connection is refused, and the pool does not lose it', async () => {
  const database = await freshDatabase()
  const driver = await openPostgres({ url: database.url, poolSize: 1, statementTimeout: 2000 })
  const first = await driver.begin()
  await first.query('select 1')
  const refused = await driver.begin().then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(refused).toBeInstanceOf(DbError)
  expect((refused as DbError).code).toBe('unavailable')
  await first.commit()
  expect((await driver.query('select 1')).rows).toEqual([[1]])
  const next = await driver.begin()
  await next.query('select 1')
  await next.commit()
  await driver.close()
  await database.drop()
})

onPostgres('a script that fails inside its transaction leaves the connection clean', async () => {
  const database = await freshDatabase()
  const driver = await openPostgres({ url: database.url, poolSize: 1 })
  const failed = await driver.exec('begin; create table half (a int); select 1 / 0; commit;').then(
    () => undefined,
    (error: unknown) => error as DbError,
  )
  expect(failed?.code).toBe('22012')
  expect((await driver.query(`select to_regclass('half')`)).rows).toEqual([[null]])
  await driver.close()
  await database.drop()
})
