import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { DbError, type Driver } from '../../src/db/driver.ts'
import { openPostgres, type PostgresOptions } from '../../src/db/postgres/database.ts'
import { Gateway } from '../support/gateway.ts'
import { freshDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

/** Connections when servers, standbys and networks fail. */
describe.skipIf(process.env.TEST_DB !== 'postgres')('an external Postgres', () => {
  let url = ''
  let drop: () => Promise<void>
  const opened: { close(): unknown }[] = []
  const logged: string[] = []

  beforeAll(async () => {
    ;({ url, drop } = await freshDatabase())
  })
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close()
    logged.length = 0
  })
  afterAll(() => drop())

  async function open(options: Partial<PostgresOptions> = {}): Promise<Driver> {
    const log: PostgresOptions['log'] = (level, message) => void logged.push(`${level}: ${message}`)
    const driver = await openPostgres({ url, log, ...options })
    opened.push(driver)
    return driver
  }
  async function gateway(): Promise<Gateway> {
    const made = await Gateway.to(url)
    opened.push(made)
    return made
  }
  const through = (...gateways: Gateway[]) => url.replace(/@[^/]+/, `@${gateways.map(({ host }) => host).join(',')}`)
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: unknown) => (error as DbError).code,
    )
  const ask = async (driver: Driver) => (await driver.query('select 1')).rows[0]?.[0]

  test('keeps connections for reads while commits wait; waiting commits end as unknown, later writes as unavailable', async () => {
    const driver = await open({ poolSize: 5, statementTimeout: 2000 })
    // A commit waits here as it would for a standby: no time limit of the server ends it.
    await driver.exec(`create table waits (n int);
      create function wait() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock(4711); return null; end $$;
      create constraint trigger waits after insert on waits deferrable initially deferred
        for each row execute function wait();`)
    const other = await open({ poolSize: 1 })
    const lock = await other.begin()
    await lock.query('select pg_advisory_xact_lock(4711)')
    const insert = async (n: number) => {
      const tx = await driver.begin()
      await tx.commit([{ text: 'insert into waits values ($1)', params: [n] }])
    }
    const codes = Promise.all([1, 2, 3, 4, 5, 6].map((n) => codeOf(insert(n))))
    const alone = codeOf(driver.query('insert into waits values (7)'))
    let isOver = false
    void codes.then(() => {
      isOver = true
    })
    let reads = 0
    while (!isOver) {
      expect(await ask(driver)).toBe(1)
      reads++
      await Bun.sleep(20)
    }
    expect(reads).toBeGreaterThan(0)
    expect((await codes).toSorted()).toEqual([...Array(3).fill('unavailable'), ...Array(3).fill('unknown')])
    expect(await alone).toBe('unavailable')
    expect(await Promise.all(Array.from({ length: 20 }, () => ask(driver)))).toEqual(Array(20).fill(1))
    expect(driver.status().ok).toBe(true)
    await lock.rollback()
    await until(async () => (await codeOf(insert(8))) === 'done')
    // A write that was given up before it was sent is not stored.
    expect((await driver.query('select n from waits order by n')).rows.flat()).toHaveLength(4)
  })

  test('uses the first of several servers that accepts writes, and another when it is gone', async () => {
    const [one, other, dead] = [await gateway(), await gateway(), await gateway()]
    dead.cut()
    other.cut()
    const driver = await open({ url: through(dead, one, other), statementTimeout: 3000 })
    await driver.exec('create table moved (n int)')
    const write = async (n: number) => {
      const tx = await driver.begin()
      await tx.query('insert into moved values ($1)', [n])
      await tx.commit()
    }
    await write(1)
    one.cut()
    expect(await codeOf(write(2))).toBe('unavailable')
    other.open()
    await until(async () => (await codeOf(write(3))) === 'done')
    // A machine without power sends nothing, so waiting statements are given up.
    other.silence()
    const stuck = codeOf(write(4))
    one.open()
    expect(await stuck).toBe('unavailable')
    await until(async () => (await codeOf(write(5))) === 'done')
    expect((await driver.query('select n from moved order by n')).rows.flat()).toEqual([1, 3, 5])
    expect(logged).toContain('warn: another database server accepts writes')
  })

  test('does not open without a writable server, and reports the error of each server', async () => {
    const [one, other] = [await gateway(), await gateway()]
    one.cut()
    await (await open()).exec(`do $$ begin execute format('alter database %I set default_transaction_read_only = on',
      current_database()); end $$`)
    const failed = await open({ url: through(one, other) }).then(
      () => undefined,
      (error: DbError) => error,
    )
    expect(failed).toBeInstanceOf(DbError)
    expect(failed?.message).toContain('no server accepts writes')
    expect(failed?.message).toContain(`${other.host}/`)
    expect(failed?.message).toContain('it is a standby')
    // As after a switchover: the connection works, but its server is now a standby.
    const driver = await open()
    expect(await codeOf(driver.query('create table late (n int)'))).toBe('unavailable')
    await driver.exec(`begin read write; do $$ begin execute format(
      'alter database %I reset default_transaction_read_only', current_database()); end $$; commit`)
  })

  test('restores a lost LISTEN connection, and logs this once', async () => {
    const way = await gateway()
    const driver = await open({ listenUrl: through(way) })
    const heard: string[] = []
    await driver.listen('news', (payload) => void heard.push(payload))
    // Sent until it arrives: on a busy machine a notification may take so long that the listener reconnects.
    const tell = (payload: string) =>
      until(async () => {
        await driver.notify('news', payload)
        await Bun.sleep(20)
        return heard.includes(payload)
      })
    await tell('one')
    await until(async () => (await driver.whyNotListening()) === undefined)
    way.cut()
    await until(() => !driver.isListening)
    await driver.notify('news', 'missed')
    await until(() => logged.length > 0)
    expect(await driver.whyNotListening()).toBeString()
    way.open()
    await tell('two')
    expect(new Set(heard)).toEqual(new Set(['one', 'two']))
    // The connection stays open but silent: only the missing notification shows it.
    way.silence()
    await until(async () => {
      await driver.notify('news', 'swallowed')
      await Bun.sleep(100)
      return !driver.isListening
    })
    way.cut()
    way.open()
    await until(() => driver.isListening)
    const [lost, back] = [
      'warn: notifications of the database do not arrive; polling every second',
      'info: notifications of the database arrive again',
    ]
    await until(() => logged.length >= 4 && logged.length % 2 === 0)
    expect(logged).toEqual(logged.map((_, i) => (i % 2 === 0 ? lost : back)))
  })
})
