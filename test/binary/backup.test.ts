import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../../migrations/index.ts'
import { dumpDatabase } from '../../src/backup/dump.ts'
import { type BackupLine, checkBackup, readBackup } from '../../src/backup/file.ts'
import type { Driver } from '../../src/db/driver.ts'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { appliedIds, applyMigrations, planMigrations } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import {
  apiKeyFor,
  BINARY,
  bareEnv,
  folder,
  json,
  onTerminal,
  type Run,
  type Served,
  serve,
  tutti,
} from '../support/binary.ts'
import { freshDatabase } from '../support/postgres.ts'

const home = folder()
const file = (name: string) => join(home, name)
const hasPostgres = process.env.TEST_DATABASE_URL !== undefined
const drops: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const drop of drops) await drop()
})

async function postgres(): Promise<{ DATABASE_URL: string }> {
  const { url, drop } = await freshDatabase()
  drops.push(drop)
  return { DATABASE_URL: url }
}

/** The tables of a backup, with counts and sums. */
async function tablesIn(lines: AsyncIterable<BackupLine>): Promise<BackupLine[]> {
  const found: BackupLine[] = []
  for await (const line of lines) if (!Array.isArray(line) && 'end' in line) found.push(line)
  return found
}

/** What a backup holds. */
const held = async (path: string): Promise<BackupLine[]> => tablesIn(readBackup(path, (await checkBackup(path)).sha256))

/** What a place holds where no server runs. Read in this process, where the database opens in a third of the time. */
async function contents(dir: string, env?: { DATABASE_URL: string }): Promise<BackupLine[]> {
  const driver = env
    ? await openPostgres({ url: env.DATABASE_URL, poolSize: 1 })
    : await openEmbedded({ dir, minFreeBytes: 0 })
  try {
    return await tablesIn(dumpDatabase(driver, { at: 'now' }))
  } finally {
    await driver.close()
  }
}

const note = (server: Served, key: string, title: string) =>
  fetch(`${server.url}/api/notes`, json('POST', { title }, key))
async function titles(server: Served, key: string): Promise<string[]> {
  const listed = await fetch(`${server.url}/api/notes?limit=200`, { headers: { authorization: `Bearer ${key}` } })
  return ((await listed.json()) as { items: { title: string }[] }).items.map((i) => i.title).sort()
}

/** Enough that something takes a while, and more than are written at once, without asking a server for each. */
const FILL = `insert into idempotency_keys select (jsonb_populate_record(null::idempotency_keys, to_jsonb(k) || jsonb_build_object('key', 'fill-' || n))).*
  from (select * from idempotency_keys limit 1) k, generate_series(1, 2100) n`

let server: Served
let key: string
let piped: Run
const saved = file('saved.backup')
beforeAll(async () => {
  server = await serve()
  key = await apiKeyFor(server)
  const made = await fetch(`${server.url}/api/notes`, {
    ...json('POST', { title: 'one' }, key),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'idempotency-key': 'first' },
  })
  expect(made.status).toBe(201)
  await server.stop()
  const driver = await openEmbedded({ dir: server.dir, minFreeBytes: 0 })
  await driver.exec(FILL)
  await driver.close()
  server = await serve({ dir: server.dir })
  piped = await tutti(['backup', saved, '--data-dir', server.dir])
}, 300_000)
afterAll(() => server.stop())

describe('tutti backup', () => {
  test('saves data while the server runs, and reports it piped, as JSON and on a terminal', async () => {
    expect(piped).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Saved \d+ rows in \d+ tables to .*saved\.backup \(.* [KM]iB\)\.\n$/),
    })
    expect(piped.err).toContain('it contains the master secret')
    expect(statSync(saved).mode & 0o777).toBe(0o600)
    const asJson = await tutti(['backup', file('json.backup'), '--json', '--data-dir', server.dir])
    const shape = JSON.parse(asJson.out) as Record<string, unknown>
    expect(Object.keys(shape)).toEqual(['file', 'at', 'tables', 'rows', 'bytes', 'secret'])
    expect(shape).toMatchObject({ file: file('json.backup'), secret: true, bytes: statSync(file('json.backup')).size })
    const shown = await onTerminal(['backup', file('terminal.backup'), '--data-dir', server.dir])
    expect(shown).toMatchObject({ code: 0, shown: expect.stringContaining('Saved ') })
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    expect(readdirSync(server.dir).filter((name) => name.startsWith('backup-'))).toEqual([])
  }, 300_000)

  test('prints one clear line and leaves no file where it cannot write', async () => {
    const to = (path: string) => tutti(['backup', path, '--data-dir', server.dir])
    writeFileSync(file('taken.backup'), 'mine')
    expect(await to(file('taken.backup'))).toMatchObject({ code: 5, err: expect.stringContaining('already exists') })
    expect(readFileSync(file('taken.backup'), 'utf8')).toBe('mine')
    expect(await to(file('no/folder/x.backup'))).toMatchObject({
      code: 4,
      err: expect.stringContaining('There is no folder'),
    })
    expect([3, 4]).toContain((await to('/proc/x.backup')).code)
    const mistyped = join(home, 'mistyped')
    expect(await tutti(['backup', file('x.backup'), '--data-dir', mistyped])).toMatchObject({
      code: 4,
      err: expect.stringContaining('No database'),
    })
    expect(existsSync(join(mistyped, 'db'))).toBe(false)
    expect(readdirSync(home).filter((name) => name.endsWith('.part') || name === 'x.backup')).toEqual([])
  }, 300_000)

  test('does not migrate a database of an older version', async () => {
    const dir = folder()
    const older = migrations.slice(0, -2)
    const open = () => openEmbedded({ dir, minFreeBytes: 0 })
    let driver = await open()
    const { rows } = await driver.query(
      "select quote_ident(relname) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
    )
    await driver.exec(`drop table ${rows.join(', ')} cascade`)
    await applyMigrations(driver, older)
    await driver.close()
    expect((await tutti(['backup', file('older.backup'), '--data-dir', dir])).code).toBe(0)
    driver = await open()
    expect(await appliedIds(driver)).toEqual(older.map((m) => m.id))
    await driver.close()
    const there = folder()
    expect(await tutti(['restore', file('older.backup'), '--data-dir', there])).toMatchObject({ code: 0 })
    driver = await openEmbedded({ dir: there, minFreeBytes: 0 })
    expect((await planMigrations(driver, migrations)).pending).toEqual([])
    await driver.close()
  }, 300_000)

  test('leaves a temporary copy if the server is killed, which the next start deletes', async () => {
    const { dir } = server
    const copies = () => readdirSync(dir).filter((name) => name.startsWith('backup-'))
    const path = file('killed.backup')
    const restart = async () => {
      server = await serve({ dir })
      while (copies().length > 0) await Bun.sleep(20)
    }
    // On a busy machine the backup can be done before its copy is seen: then another one is made.
    for (;;) {
      let ended = false
      const asked = tutti(['backup', path, '--data-dir', dir]).finally(() => {
        ended = true
      })
      while (copies().length === 0 && !ended) await Bun.sleep(2)
      const seen = copies().length > 0
      if (seen) await server.kill()
      const { code } = await asked
      expect([0, 6]).toContain(code)
      if (seen && code === 6 && copies().length === 1) break
      rmSync(path, { force: true })
      if (seen) await restart()
    }
    expect(existsSync(path)).toBe(false)
    await restart()
  }, 300_000)
})

describe('tutti restore', () => {
  test('refuses an incomplete or damaged file and creates nothing', async () => {
    const whole = readFileSync(saved)
    const flipped = Buffer.from(whole)
    flipped[whole.length >> 1] = (flipped[whole.length >> 1] as number) ^ 4
    writeFileSync(file('flipped.backup'), flipped)
    writeFileSync(file('cut.backup'), whole)
    truncateSync(file('cut.backup'), whole.length - 1000)
    writeFileSync(file('wrong.backup'), 'select 1')
    const dir = join(home, 'untouched')
    for (const [name, why] of [
      ['flipped', 'checksum does not match'],
      ['cut', 'its end is missing'],
      ['wrong', 'not a Tutti backup'],
    ] as const) {
      const refused = await tutti(['restore', file(`${name}.backup`), '--data-dir', dir])
      expect(refused).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringMatching(new RegExp(`^tutti: .*${why}.*Nothing was changed\\.\\n$`)),
      })
      const shown = await onTerminal(['restore', file(`${name}.backup`), '--data-dir', dir])
      expect(shown).toMatchObject({ code: 2, shown: expect.stringContaining('Nothing was changed') })
    }
    expect(await tutti(['restore', file('nowhere.backup'), '--data-dir', dir])).toMatchObject({ code: 4 })
    expect(existsSync(dir)).toBe(false)
  }, 300_000)

  test('refuses to run beside a server, and to overwrite data without --replace', async () => {
    expect(await tutti(['restore', saved, '--data-dir', server.dir])).toMatchObject({
      code: 5,
      err: expect.stringContaining('Stop it first'),
    })
    expect(await tutti(['restore', saved, '--replace', '--data-dir', server.dir])).toMatchObject({ code: 5 })
  })

  for (const kind of hasPostgres ? (['embedded', 'Postgres'] as const) : (['embedded'] as const))
    test(`into ${kind} brings back everything, and what takes the place of data saves that first`, async () => {
      const env = kind === 'Postgres' ? await postgres() : undefined
      const dir = join(folder(), 'data')
      const first = await tutti(['restore', saved, '--verbose', '--json', '--data-dir', dir], { env })
      expect(first.code).toBe(0)
      const shape = JSON.parse(first.out) as Record<string, unknown>
      expect(Object.keys(shape)).toEqual(['file', 'madeAt', 'into', 'tables', 'rows', 'replaced', 'secret'])
      expect(shape).toMatchObject({ file: saved, replaced: null, secret: true })
      expect(first.err).toContain('idempotency_keys: 2101 rows')
      expect(await contents(dir, env)).toEqual(await held(saved))
      expect(statSync(join(dir, 'secret')).mode & 0o777).toBe(0o600)

      // Keys, sealed data and everything else work there.
      const there = await serve({ dir, env })
      expect(await titles(there, key)).toEqual(['one'])
      expect((await note(there, key, 'two')).status).toBe(201)
      await there.stop()
      const again = await tutti(['restore', saved, '--data-dir', dir], { env })
      expect(again).toMatchObject({ code: 5, err: expect.stringContaining('--replace') })
      const before = await contents(dir, env)

      const shown = await onTerminal(['restore', saved, '--replace', '--data-dir', dir], { env })
      expect(shown.code).toBe(0)
      expect(shown.shown).toMatch(/table \d+ of \d+: /)
      expect(shown.shown).toMatch(/Restored \d+ rows in \d+ tables .* The earlier data is kept in .*replaced-/)
      expect(await contents(dir, env)).toEqual(await held(saved))
      const aside = readdirSync(dir).filter((name) => name.startsWith('replaced-'))
      expect(aside.length).toBe(1)
      expect(await held(join(dir, aside[0] as string))).toEqual(before)
    }, 300_000)

  test('reads from a pipe and writes to one', async () => {
    const dir = join(folder(), 'data')
    const piped = Bun.spawn(
      ['sh', '-c', `'${BINARY}' backup - --data-dir '${server.dir}' | '${BINARY}' restore - --data-dir '${dir}'`],
      {
        stdout: 'pipe',
        stderr: 'pipe',
        env: { ...bareEnv, HOME: home },
      },
    )
    expect(await piped.exited).toBe(0)
    expect(await new Response(piped.stdout).text()).toMatch(/^Restored \d+ rows .*\n$/)
    expect(await new Response(piped.stderr).text()).toMatch(/^Saved \d+ rows .*\n$/)
    const there = await serve({ dir })
    expect(await titles(there, key)).toEqual(['one'])
    await there.stop()
    for (const place of [dir, server.dir])
      expect(readdirSync(place).filter((name) => name.startsWith('piped-'))).toEqual([])
    expect(await onTerminal(['backup', '-', '--data-dir', server.dir])).toMatchObject({ code: 2 })
  }, 300_000)

  test('refuses a different TUTTI_SECRET, and asks for a missing one afterwards', async () => {
    const dir = join(folder(), 'data')
    const env = { TUTTI_SECRET: 'ohmo3aiGh4ieph6Eiy9ahng2uuvae5Koo1' }
    expect(await tutti(['restore', saved, '--data-dir', dir], { env })).toMatchObject({
      code: 5,
      err: expect.stringContaining('TUTTI_SECRET'),
    })
    const without = file('without.backup')
    const elsewhere = { TUTTI_SECRET: 'Aek7eecha8Uthoo4phie2Oojohnge6vah3' }
    const own = await serve({ env: elsewhere })
    await apiKeyFor(own, elsewhere)
    await own.stop()
    const made = await tutti(['backup', without, '--data-dir', own.dir], { env: elsewhere })
    expect(made.err).toContain('does not contain the master secret')
    const restored = await tutti(['restore', without, '--data-dir', dir])
    expect(restored).toMatchObject({ code: 0, err: expect.stringContaining('Set TUTTI_SECRET') })
    await (await serve({ dir, env: elsewhere })).stop()
  }, 300_000)
})

let restored: Promise<string> | undefined
/** A folder with the restored backup: restored once, which takes seconds, and then copied. */
async function restoredCopy(): Promise<string> {
  restored ??= (async () => {
    const dir = join(folder(), 'data')
    expect((await tutti(['restore', saved, '--data-dir', dir])).code).toBe(0)
    return dir
  })()
  const dir = join(folder(), 'data')
  cpSync(await restored, dir, { recursive: true })
  chmodSync(dir, 0o700)
  return dir
}

/** Starts it, and kills it as soon as it says that some tables are done. */
async function killedMidway(args: string[], env: Record<string, string> = {}): Promise<void> {
  const child = Bun.spawn([BINARY, ...args, '--verbose'], {
    stdout: 'ignore',
    stderr: 'pipe',
    env: { ...bareEnv, HOME: home, DB_MIN_FREE_MB: '0', ...env },
  })
  let said = ''
  for await (const chunk of child.stderr) {
    said += new TextDecoder().decode(chunk)
    if (said.includes(' rows\n')) break
  }
  child.kill('SIGKILL')
  expect(await child.exited).not.toBe(0)
}

const refusal = (dir: string, env?: Record<string, string>) =>
  serve({ dir, env }).then(
    () => 'started',
    (error: Error) => error.message,
  )

describe('a killed restore or move', () => {
  test('continues with the same command, and no server starts before it is complete', async () => {
    const dir = join(folder(), 'data')
    await killedMidway(['restore', saved, '--data-dir', dir])
    expect(await refusal(dir)).toContain('is not complete')
    const other = await tutti(['restore', file('json.backup'), '--data-dir', dir])
    expect(other).toMatchObject({
      code: 5,
      err: expect.stringContaining('Another load into this database is incomplete'),
    })
    expect(await tutti(['backup', file('half.backup'), '--data-dir', dir])).toMatchObject({ code: 5 })
    expect(await tutti(['restore', saved, '--data-dir', dir])).toMatchObject({ code: 0 })
    expect(await contents(dir)).toEqual(await held(saved))
  }, 300_000)

  test('continues with --replace, with the earlier data in a file', async () => {
    const dir = await restoredCopy()
    await killedMidway(['restore', file('json.backup'), '--replace', '--data-dir', dir])
    expect(await refusal(dir)).toContain('is not complete')
    expect(await tutti(['restore', file('json.backup'), '--replace', '--data-dir', dir])).toMatchObject({ code: 0 })
    expect(await contents(dir)).toEqual(await held(file('json.backup')))
    const aside = readdirSync(dir).filter((name) => name.startsWith('replaced-'))
    expect(await held(join(dir, aside[0] as string))).toEqual(await held(saved))
  }, 300_000)
})

if (hasPostgres)
  describe('tutti db move', () => {
    test('moves all data there and back despite interruptions, and leaves the source unchanged', async () => {
      const dir = await restoredCopy()
      const env = await postgres()
      const expected = await held(saved)
      const there = ['db', 'move', '--to', env.DATABASE_URL, '--data-dir', dir]
      await killedMidway(there)
      expect(await refusal(dir, env)).toContain('is not complete')
      // The source may change between the attempts; the last attempt copies its current state.
      const between = await serve({ dir })
      expect((await note(between, key, 'between')).status).toBe(201)
      await between.stop()
      const now = await contents(dir)
      expect(now).not.toEqual(expected)
      const moved = await tutti([...there, '--json'])
      expect(moved.code).toBe(0)
      expect(Object.keys(JSON.parse(moved.out))).toEqual(['from', 'into', 'tables', 'rows', 'replaced', 'secret'])
      expect(moved.err).toContain('Set DATABASE_URL')
      // Not the data folder, which holds the secret that is still needed.
      expect(moved.err).toContain(`The data in ${join(dir, 'db')} was not changed`)
      expect(await contents(dir, env)).toEqual(now)
      expect(await contents(dir)).toEqual(now)
      expect(await tutti(there)).toMatchObject({
        code: 5,
        err: expect.stringContaining('This database already holds data'),
      })

      const serving = await serve({ dir, env })
      expect(await titles(serving, key)).toEqual(['between', 'one'])
      expect((await note(serving, key, 'three')).status).toBe(201)
      await serving.stop()
      const after = await contents(dir, env)
      const back = ['db', 'move', '--to', 'embedded', '--data-dir', dir]
      const refused = await tutti(back, { env })
      expect(refused).toMatchObject({ code: 5, err: expect.stringContaining('--replace') })
      await killedMidway([...back, '--replace'], env)
      expect(await refusal(dir)).toContain('is not complete')
      const shown = await onTerminal([...back, '--replace'], { env })
      expect(shown.code).toBe(0)
      expect(shown.shown).toContain('Remove DATABASE_URL')
      expect(await contents(dir)).toEqual(after)
      const aside = readdirSync(dir).filter((name) => name.startsWith('replaced-'))
      expect(await held(join(dir, aside[0] as string))).toEqual(now)
      const embedded = await serve({ dir })
      expect(await titles(embedded, key)).toEqual(['between', 'one', 'three'])
      await embedded.stop()
    }, 300_000)

    test('is refused, like a restore, while any server uses the Postgres database', async () => {
      const env = await postgres()
      const busy = await serve({ env })
      const dir = await restoredCopy()
      for (const args of [
        ['restore', saved, '--replace', '--data-dir', join(folder(), 'other')],
        ['db', 'move', '--to', 'embedded', '--data-dir', join(folder(), 'other')],
      ])
        expect(await tutti(args, { env })).toMatchObject({
          code: 5,
          err: expect.stringContaining('Another Tutti process uses this database'),
        })
      const into = ['db', 'move', '--to', env.DATABASE_URL, '--replace', '--data-dir', dir]
      expect(await tutti(into)).toMatchObject({
        code: 5,
        err: expect.stringContaining('Another Tutti process uses this database'),
      })
      expect((await fetch(`${busy.url}/health`)).status).toBe(200)
      await busy.kill()
      const told = ['db', 'move', '--to', '-', '--replace', '--data-dir', dir]
      expect(await tutti(told, { stdin: `${env.DATABASE_URL}\n` })).toMatchObject({ code: 0 })
      // The same place under another name.
      const same = env.DATABASE_URL.replace('postgres://', 'postgresql://')
      expect(await tutti(['db', 'move', '--to', same, '--replace', '--data-dir', dir], { env })).toMatchObject({
        code: 5,
      })
      expect(await contents(dir, env)).toEqual(await held(saved))
    }, 300_000)

    test('refuses an empty source and an unreachable target', async () => {
      const dir = join(folder(), 'data')
      const { DATABASE_URL } = await postgres()
      expect(await tutti(['db', 'move', '--to', DATABASE_URL, '--data-dir', dir])).toMatchObject({ code: 4 })
      expect(existsSync(join(dir, 'db'))).toBe(false)
      expect(await tutti(['db', 'move', '--to', 'mysql://x', '--data-dir', dir])).toMatchObject({ code: 2 })
      expect(await tutti(['db', 'move', '--to', 'embedded', '--data-dir', dir])).toMatchObject({ code: 2 })
    }, 300_000)
  })

describe('scheduled backups', () => {
  const due = "update jobs set run_at = now() - interval '1 minute' where id = 'cron:backups.keepUp'"
  const made = async (dir: string): Promise<string[]> => {
    const there = () => (existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith('.backup')) : [])
    while (there().length === 0) await Bun.sleep(50)
    return there()
  }

  test('are made by the server, which also makes up for missed ones', async () => {
    const into = join(folder(), 'scheduled')
    const dir = folder()
    const env = { BACKUP_DIR: into }
    const first = await serve({ dir, env })
    await apiKeyFor(first)
    await first.stop()
    const driver: Driver = await openEmbedded({ dir, minFreeBytes: 0 })
    await driver.exec(due)
    await driver.close()
    const second = await serve({ dir, env })
    const [name] = await made(into)
    expect(name).toMatch(/^tutti-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-[0-9a-f]{8}\.backup$/)
    expect((await held(join(into, name as string))).length).toBeGreaterThan(40)
    await second.stop()
    expect(second.output()).toContain('backup made')
  }, 300_000)

  test('log the reason when one fails', async () => {
    const blocked = join(folder(), 'a-file')
    writeFileSync(blocked, '')
    const dir = folder()
    const env = { BACKUP_DIR: join(blocked, 'below') }
    await (await serve({ dir, env })).stop()
    const driver = await openEmbedded({ dir, minFreeBytes: 0 })
    await driver.exec(due)
    await driver.close()
    const running = await serve({ dir, env })
    while (!running.output().includes('job failed')) await Bun.sleep(50)
    expect(running.output()).toContain('There is no folder')
    await running.stop()
  }, 300_000)

  if (hasPostgres)
    test('are made by one of several instances on a Postgres, one with BACKUP_DIR', async () => {
      const into = join(folder(), 'shared')
      const env = await postgres()
      const data = folder()
      const without = await serve({ dir: data, env })
      const secret = readFileSync(join(data, 'secret'), 'utf8').trim()
      const withFolder = { ...env, BACKUP_DIR: into, TUTTI_SECRET: secret }
      const two = [await serve({ env: withFolder }), await serve({ env: withFolder })]
      const driver = await openPostgres({ url: env.DATABASE_URL, poolSize: 1 })
      await driver.exec(due)
      await made(into)
      await driver.exec(due)
      for (;;) {
        const again = await driver.query(
          "select run_at > now() + interval '1 minute' from jobs where id = 'cron:backups.keepUp'",
        )
        if (String(again.rows[0]?.[0]).startsWith('t')) break
        await Bun.sleep(100)
      }
      expect(readdirSync(into).length).toBe(1)
      await driver.close()
      for (const running of [without, ...two]) await running.stop()
      expect(without.output()).not.toContain('backup made')
    }, 300_000)
})

test('tutti backup --help says what the file contains', async () => {
  const { out } = await tutti(['backup', '--help'])
  expect(out).toContain('master secret')
  expect((await tutti(['restore', '--help'])).out).toContain('--replace')
  expect((await tutti(['db', 'move', '--help'])).out).toContain('postgres://')
})
