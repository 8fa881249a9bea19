import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL, type Subprocess } from 'bun'
import { BINARY, bareEnv, folder } from '../support/binary.ts'
import { Gateway } from '../support/gateway.ts'
import { freshDatabase } from '../support/postgres.ts'
import { allowing } from '../support/timing.ts'
import { until } from '../support/until.ts'

const LIMIT = 120_000
const settings = {
  TUTTI_SECRET: 'the servers of these tests share a database and this secret',
  EMBEDDINGS: 'off',
  DB_STATEMENT_TIMEOUT_MS: '60000',
}
const NOWHERE = 'postgres://postgres@127.0.0.1:1/tutti'

describe('a server that starts before its Postgres', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>
  const running: Subprocess[] = []

  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterEach(async () => {
    for (const child of running.splice(0)) {
      child.kill('SIGKILL')
      await child.exited
    }
  })
  afterAll(() => database.drop())

  function start(url: string, env: Record<string, string> = {}) {
    const file = join(folder(), 'stderr')
    const child = Bun.spawn([BINARY, 'serve', '--port', '0', '--data-dir', folder()], {
      env: { ...bareEnv, ...settings, ...env, DATABASE_URL: url },
      stdout: 'ignore',
      stderr: Bun.file(file),
    })
    running.push(child)
    const count = (part: string) => readFileSync(file, 'utf8').split(part).length - 1
    const output = () => readFileSync(file, 'utf8')
    const logs = (part: string) =>
      until(() => {
        if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}:\n${output()}`)
        return count(part) > 0
      })
    return { child, count, logs, output }
  }

  test(
    'waits until Postgres is reachable, and logs once that it waits and once that it continues',
    async () => {
      const gateway = await Gateway.to(database.url)
      gateway.cut()
      const server = start(database.url.replace(/@[^/]+/, `@${gateway.host}`))
      await server.logs('waiting for the database')
      gateway.open()
      await server.logs('"ready"')
      expect([server.count('waiting for the database'), server.count('the database is ready')]).toEqual([1, 1])
      gateway.close()
    },
    LIMIT,
  )

  test(
    'waits until Postgres accepts writes',
    async () => {
      const admin = new SQL(process.env.TEST_DATABASE_URL as string, { max: 1 })
      const makeReadOnly = (state: 'on' | 'off') =>
        admin.unsafe(
          `alter database ${new URL(database.url).pathname.slice(1)} set default_transaction_read_only = ${state}`,
        )
      await makeReadOnly('on')
      const server = start(database.url)
      await server.logs('the database server accepts no writes')
      await makeReadOnly('off')
      await server.logs('"ready"')
      await admin.close()
    },
    LIMIT,
  )

  test(
    'ends with the reason after DATABASE_WAIT seconds, and at once on SIGTERM',
    async () => {
      const short = start(NOWHERE, { DATABASE_WAIT: '1' })
      const long = start(NOWHERE)
      expect(await short.child.exited).toBe(6)
      expect(short.output()).toMatch(/waiting for the database[\s\S]*tutti: postgres:\/\/127\.0\.0\.1:1\/tutti: /)
      await long.logs('waiting for the database')
      const asked = performance.now()
      long.child.kill('SIGTERM')
      expect(await long.child.exited).toBe(0)
      expect(performance.now() - asked).toBeLessThan(allowing(500))
    },
    LIMIT,
  )

  test(
    'ends at once if waiting cannot help',
    async () => {
      const unknown = database.url.replace(/[^/]*$/, 'no_such_database')
      for (const url of [unknown, unknown.replace('@', '@127.0.0.1:1,')]) {
        const server = start(url)
        expect(await server.child.exited).not.toBe(0)
        expect(server.output()).toContain('database "no_such_database" does not exist')
        expect(server.count('waiting for the database')).toBe(0)
      }
    },
    LIMIT,
  )
})
