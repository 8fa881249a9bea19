import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { $, SQL } from 'bun'
import { SMTPServer } from 'smtp-server'
import { migrations } from '../../migrations/index.ts'
import { secretFingerprint } from '../../src/auth/secrets.ts'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { apiKeyFor, folder, freePort, json, onTerminal, type Served, serve, tutti } from '../support/binary.ts'
import { EmbeddingServer } from '../support/embedding-server.ts'
import { mailServer } from '../support/mail.ts'
import { freshDatabase } from '../support/postgres.ts'

interface Finding {
  what: string
  ok: boolean
  warning?: true
  said: string
  advice?: string
}
interface Report {
  code: number
  findings: Finding[]
  of(what: string): Finding
  /** What is broken. */
  wrong: string[]
}

const stops: (() => Promise<unknown>)[] = []
afterAll(() => Promise.all(stops.map((stop) => stop())))

async function doctor(dir: string, env: Record<string, string> = {}): Promise<Report> {
  const { code, out, err } = await tutti(['doctor', '--json', '--data-dir', dir], {
    // A free port, so that whatever has 4242 on this machine is not what is found. Loading the model takes a second.
    env: { PORT: String(freePort()), DB_MIN_FREE_MB: '0', EMBEDDINGS: 'off', ...env },
  })
  expect(err).toBe('')
  const { ok, findings } = JSON.parse(out) as { ok: boolean; findings: Finding[] }
  const wrong = findings.filter((f) => !f.ok).map((f) => f.what)
  expect(ok).toBe(wrong.length === 0)
  for (const { ok: fine, warning, advice, what } of findings)
    if (!fine || warning) expect([what, (advice ?? '').length > 5 || what === 'migrations']).toEqual([what, true])
  const of = (what: string): Finding =>
    findings.find((f) => f.what === what) ?? { what, ok: true, said: '(not mentioned)' }
  return { code, findings, of, wrong }
}

/** A stopped installation with some notes in it, to be copied and spoilt. */
let sound: string
let made: Served
beforeAll(async () => {
  made = await serve()
  sound = made.dir
  const key = await apiKeyFor(made)
  for (let i = 0; i < 50; i++)
    await fetch(`${made.url}/api/notes`, json('POST', { title: `note ${i}`, content: `text ${i} `.repeat(100) }, key))
  await made.stop()
})
function copy(): string {
  const dir = join(folder(), 'data')
  cpSync(sound, dir, { recursive: true })
  chmodSync(dir, 0o700)
  return dir
}
async function query(dir: string, sql: string): Promise<unknown[][]> {
  const driver = await openEmbedded({ dir, minFreeBytes: 0 })
  try {
    return (await driver.query(sql)).rows
  } finally {
    await driver.close()
  }
}

test('doctor runs every check on a healthy server and changes nothing', async () => {
  const dir = copy()
  const before = await query(
    dir,
    `select (select count(*) from events), (select count(*) from pg_class), (select count(*) from pg_extension)`,
  )
  const { code, of, findings } = await doctor(dir, { EMBEDDINGS: 'on' })
  expect(code).toBe(0)
  expect(findings.map((f) => f.what)).toEqual([
    'data folder',
    'server',
    'port',
    'lock',
    'disk',
    'database',
    'migrations',
    'integrity',
    'readiness',
    'counts',
    'days',
    'clock',
    'tokens',
    'mail',
    'model',
    'backups',
  ])
  expect(of('integrity').said).toMatch(/^\d\d+ tables and \d\d+ indexes are intact$/)
  expect(of('model').said).toBe('built in, 384 dimensions')
  expect(of('mail')).toMatchObject({ ok: true, warning: true })
  expect(
    await query(
      dir,
      `select (select count(*) from events), (select count(*) from pg_class), (select count(*) from pg_extension)`,
    ),
  ).toEqual(before)
})

test('doctor creates nothing before the first start', async () => {
  const dir = join(folder(), 'data')
  const { code, of } = await doctor(dir)
  expect([code, of('data folder').warning, of('database').said]).toEqual([0, true, 'not created yet'])
  expect(() => statSync(dir)).toThrow()
})

test('doctor names tokens that expire within a week, with their owners', async () => {
  const dir = copy()
  const token = (name: string, days: number, more = '') => `insert into mcp_tokens
    (id, created_at, updated_at, version, user_id, name, scopes, prefix, last4, hash, expires_at, organization_id, kind, toolsets${
      more && ', revoked_at'
    })
    select gen_random_uuid(), now(), now(), 1, u.id, '${name}', '{write}', 'svc_live_', 'abcd', '${name}',
      now() + interval '${days} days', m.organization_id, 'live', '{}'${more} from users u join memberships m on m.user_id = u.id`
  const ended = token('ended', 3, ', now()')
  await query(dir, `with a as (${token('laptop', 3)}), b as (${token('later', 30)}) ${ended}`)
  const { code, of } = await doctor(dir)
  expect(code).toBe(0)
  expect(of('tokens')).toMatchObject({ warning: true, said: 'expiring soon: "laptop" of ada@example.com in 3 d' })
})

test('doctor prints marks and advice, coloured on a terminal and plain in a pipe', async () => {
  const dir = copy()
  chmodSync(dir, 0o755)
  const args = ['doctor', '--verbose', '--data-dir', dir]
  const env = { PORT: String(freePort()), DB_MIN_FREE_MB: '0', EMBEDDINGS: 'off' }
  const terminal = await onTerminal(args, { env })
  const piped = await tutti(args, { env })
  expect([terminal.code, piped.code]).toEqual([6, 6])
  expect(terminal.shown).toContain('\x1b[1m')
  expect(piped.out).not.toContain('\x1b')
  expect(piped.out).toContain(
    `✗ data folder ${dir} can be accessed by others\n              Run: chmod 700 '${dir}'\n✓ server      not running\n`,
  )
  // Without --verbose: only what needs attention, and how many checks there were.
  const quiet = await tutti(['doctor', '--data-dir', dir], { env })
  const count = piped.out.match(/^[✓!✗] /gm)?.length
  expect(quiet.out).not.toContain('✓')
  expect(quiet.out).toContain('✗ data folder ')
  expect(quiet.out).toMatch(new RegExp(`^${count} checks: 1 problem, \\d warnings?\\.\\n$`, 'm'))
  // It is left for its owner to decide.
  expect(statSync(dir).mode & 0o777).toBe(0o755)
})

describe('doctor finds', () => {
  /** Overwrites the middle of a relation's file. */
  async function damage(dir: string, relation: string, page = 0): Promise<void> {
    const [[path]] = (await query(dir, `select pg_relation_filepath('${relation}')`)) as [[string]]
    const fd = openSync(join(dir, 'db', path), 'r+')
    writeSync(fd, Buffer.alloc(64, 0x5a), 0, 64, page * 8192 + 4000)
    closeSync(fd)
  }

  test('a table with flipped bytes', async () => {
    const dir = copy()
    await damage(dir, 'notes')
    const { code, of, wrong } = await doctor(dir)
    expect([code, wrong]).toEqual([6, ['integrity']])
    expect(of('integrity').said).toStartWith('notes is damaged: ')
    expect(of('integrity').advice).toContain('tutti restore')
  })

  test('a table whose file is missing, and reports it as damage', async () => {
    const dir = copy()
    const [[path]] = (await query(dir, `select pg_relation_filepath('notes')`)) as [[string]]
    rmSync(join(dir, 'db', path))
    const { code, of, wrong } = await doctor(dir)
    expect([code, wrong]).toEqual([6, ['integrity']])
    expect(of('integrity').said).toStartWith('notes is damaged: ')
  })

  test('an index with flipped bytes, also through the running server', async () => {
    const dir = copy()
    await damage(dir, 'events_subject', 1)
    const stopped = await doctor(dir)
    expect([stopped.code, stopped.wrong]).toEqual([6, ['integrity']])
    expect(stopped.of('integrity')).toMatchObject({
      said: expect.stringMatching(/^events_subject is damaged/),
      advice: expect.stringContaining('reindex'),
    })
    const server = await serve({ dir })
    stops.push(() => server.kill())
    const running = await doctor(dir)
    expect([running.code, running.of('integrity').said.slice(0, 25)]).toEqual([6, 'events_subject is damaged'])
  })

  test('an index that disagrees with its table although its pages are intact', async () => {
    const dir = copy()
    const [[index]] = (await query(dir, `select pg_relation_filepath('meta_pkey')`)) as [[string]]
    const earlier = readFileSync(join(dir, 'db', index))
    await query(dir, `insert into meta (key, value) values ('another', 'row')`)
    writeFileSync(join(dir, 'db', index), earlier)
    const { code, of, wrong } = await doctor(dir)
    expect([code, wrong]).toEqual([6, ['integrity']])
    expect(of('integrity').said).toStartWith('meta_pkey is damaged')
  })

  test('a folder that is no longer a database', async () => {
    const dir = copy()
    for (const name of readdirSync(join(dir, 'db'))) if (name === 'PG_VERSION') await $`rm ${join(dir, 'db', name)}`
    const { code, wrong, of } = await doctor(dir)
    expect([code, wrong]).toEqual([6, ['database']])
    expect(of('database').said).toContain('PG_VERSION is missing')
  })
})

describe('doctor reports', () => {
  test('a data folder or secret that others can read, and does not open the database', async () => {
    const dir = copy()
    chmodSync(join(dir, 'secret'), 0o644)
    const { code, of, wrong } = await doctor(dir)
    expect([code, wrong]).toEqual([6, ['data folder']])
    expect(of('data folder').advice).toBe(`Run: chmod 600 '${join(dir, 'secret')}'`)
    expect(of('database').said).toBe('not checked')
  })

  test('a full disk', async () => {
    const root = folder('tutti-disk-')
    await $`mount -t tmpfs -o size=120m none ${root}`.quiet()
    try {
      const dir = join(root, 'data')
      cpSync(sound, dir, { recursive: true })
      chmodSync(dir, 0o700)
      await $`dd if=/dev/zero of=${join(root, 'other')} bs=1M`.quiet().nothrow()
      const { code, of, wrong } = await doctor(dir, { DB_MIN_FREE_MB: '50' })
      expect(code).toBe(6)
      expect(wrong).toContain('disk')
      expect(of('disk')).toMatchObject({ said: '0 MiB free', advice: expect.stringContaining('Free some space') })
    } finally {
      await $`umount -l ${root}`.quiet().nothrow()
    }
  })

  test('the process id of another process that uses the folder', async () => {
    const dir = copy()
    const other = await openEmbedded({ dir, minFreeBytes: 0 })
    try {
      const { code, of, wrong } = await doctor(dir)
      expect([code, wrong]).toEqual([6, ['lock']])
      expect(of('lock')).toMatchObject({
        said: expect.stringContaining(`(pid ${process.pid})`),
        advice: expect.stringContaining(`kill ${process.pid}`),
      })
    } finally {
      await other.close()
    }
  })

  test('a port in use, and the port that the running server listens on', async () => {
    const dir = copy()
    const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    const stopped = await doctor(dir, { PORT: String(taken.port) })
    expect([stopped.code, stopped.wrong, stopped.of('port').said]).toEqual([
      6,
      ['port'],
      `127.0.0.1:${taken.port} is used by another program`,
    ])
    const server = await serve({ dir })
    stops.push(() => server.kill())
    const running = await doctor(dir, { PORT: String(taken.port) })
    taken.stop(true)
    expect([running.code, running.of('port').said]).toEqual([0, `127.0.0.1:${new URL(server.url).port} responds`])
    expect(running.of('server').said).toContain(`(pid ${server.pid})`)
    expect(server.output()).not.toContain('"error"')
  })

  test('pending migrations, and a database of a newer version', async () => {
    const dir = copy()
    await query(dir, `insert into migrations (id) values ('9999_tomorrow')`)
    const newer = await doctor(dir)
    expect([newer.code, newer.wrong]).toEqual([6, ['migrations']])
    expect(newer.of('migrations').said).toContain('written by a newer Tutti')
    await query(dir, `delete from migrations where id in ('9999_tomorrow', '${migrations.at(-1)?.id}')`)
    const older = await doctor(dir)
    expect([older.code, older.of('migrations').said]).toEqual([0, '1 to apply'])
    expect(older.of('migrations').advice).toContain('tutti migrate')
  })

  test('a clock that was set back', async () => {
    const dir = copy()
    await query(dir, `update events set at = now() + interval '3 days' where seq = (select max(seq) from events)`)
    const { code, wrong, of } = await doctor(dir)
    expect([code, wrong]).toEqual([6, ['clock']])
    expect(of('clock').advice).toContain('NTP')
  })

  test('scheduled backups: none yet, a fresh one, an old one', async () => {
    const dir = copy()
    const BACKUP_DIR = folder()
    const env = { BACKUP_DIR, BACKUP_EVERY_HOURS: '6' }
    const mine = secretFingerprint(readFileSync(join(dir, 'secret'), 'utf8').trim()).slice(0, 8)
    const name = (hours: number, mark = mine) =>
      `tutti-${new Date(Date.now() - hours * 3_600_000).toISOString().replace(/\.\d+/, '').replaceAll(':', '-')}-${mark}.backup`
    writeFileSync(join(BACKUP_DIR, name(1, '00000000')), '')
    expect((await doctor(dir, env)).of('backups')).toMatchObject({
      warning: true,
      said: expect.stringContaining('none in'),
    })
    writeFileSync(join(BACKUP_DIR, name(13)), '')
    expect((await doctor(dir, env)).of('backups')).toMatchObject({ warning: true, said: 'the last one is 13 h old' })
    writeFileSync(join(BACKUP_DIR, name(5)), '')
    const { of } = await doctor(dir, env)
    expect([of('backups').warning, of('backups').said]).toEqual([undefined, 'the last one is 5 h old'])
  })

  test('settings that are probably mistakes', async () => {
    const dir = join(folder(), 'data')
    mkdirSync(dir, { mode: 0o700 })
    const said = async (env: Record<string, string>) =>
      (await doctor(dir, { EMBEDDINGS: 'off', ...env })).findings
        .filter((f) => f.what === 'settings')
        .map((f) => f.said)
    expect(await said({})).toEqual([])
    expect(await said({ APP_URL: 'http://tutti.example.com' })).toEqual(['http://tutti.example.com is not encrypted'])
    expect(await said({ HOST: '0.0.0.0' })).toEqual(['it listens on 0.0.0.0 without TLS'])
    expect(await said({ APP_URL: 'https://tutti.example.com' })).toEqual(['TRUSTED_PROXIES is not set'])
    expect(await said({ APP_URL: 'https://tutti.example.com', TRUSTED_PROXIES: '127.0.0.1' })).toEqual([])
  })
})

describe('doctor checks', () => {
  const dir = join(folder(), 'data')
  const MAIL_FROM = 'Tutti <tutti@example.com>'

  test('that the mail server responds to SMTP', async () => {
    const server = await mailServer()
    const fine = await doctor(dir, { ...server.settings, EMBEDDINGS: 'off' })
    expect([fine.code, fine.of('mail')]).toMatchObject([
      0,
      { ok: true, said: expect.stringContaining('accepts mail from this server') },
    ])
    expect(fine.of('mail').warning).toBeUndefined()
    expect(server.received).toEqual([])
    const port = new URL(server.url).port
    await server.close()
    const dead = await doctor(dir, { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM, EMBEDDINGS: 'off' })
    expect([dead.code, dead.wrong]).toEqual([6, ['mail']])
    expect(dead.of('mail').advice).toContain('SMTP_URL')
    const rude = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { open: (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), data() {} },
    })
    const wrong = await doctor(dir, { SMTP_URL: `smtp://127.0.0.1:${rude.port}`, MAIL_FROM, EMBEDDINGS: 'off' })
    rude.stop(true)
    expect(wrong.wrong).toEqual(['mail'])
  })

  test('the mail password, and does not print it', async () => {
    const server = new SMTPServer({
      allowInsecureAuth: true,
      disabledCommands: ['STARTTLS'],
      logger: false,
      closeTimeout: 100,
      onAuth: (_auth, _session, done) => done(new Error('Authentication failed')),
    })
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    stops.push(() => new Promise<void>((gone) => server.close(() => gone())))
    const { port } = server.server.address() as { port: number }
    const { wrong, of } = await doctor(dir, {
      SMTP_URL: `smtp://somebody:not-the-password@127.0.0.1:${port}?requireTLS=false&ignoreTLS=true`,
      MAIL_FROM,
      EMBEDDINGS: 'off',
    })
    expect(wrong).toEqual(['mail'])
    expect(of('mail').advice).toStartWith('Correct the user and password in SMTP_URL.')
    expect(JSON.stringify(of('mail'))).not.toContain('not-the-password')
  })

  test('that the embeddings server returns a vector', async () => {
    const server = new EmbeddingServer()
    const env = { EMBEDDINGS: 'on', EMBEDDINGS_URL: server.url, EMBEDDINGS_MODEL: 'small', EMBEDDINGS_DIMENSIONS: '3' }
    expect((await doctor(dir, env)).of('model')).toMatchObject({
      ok: true,
      said: `${new URL(server.url).host}, 3 dimensions`,
    })
    server.answer = () => new Response('no such model', { status: 404 })
    const broken = await doctor(dir, env)
    expect([broken.code, broken.wrong]).toEqual([6, ['model']])
    expect(broken.of('model')).toMatchObject({
      said: expect.stringContaining('404'),
      advice: expect.stringContaining('words only'),
    })
    expect((await doctor(dir, { EMBEDDINGS: 'off' })).of('model').said).toBe('off: search by words only')
  })
})

describe.skipIf(!process.env.TEST_DATABASE_URL)('doctor on Postgres', () => {
  test('checks tables and indexes, and leaves no extension behind', async () => {
    const { url, drop } = await freshDatabase()
    stops.push(drop)
    const dir = folder()
    expect((await tutti(['migrate', '--data-dir', dir], { env: { DATABASE_URL: url } })).code).toBe(0)
    const { code, of, wrong } = await doctor(dir, { DATABASE_URL: url, EMBEDDINGS: 'off' })
    expect([code, wrong]).toEqual([0, []])
    expect(of('integrity').said).toMatch(/^\d\d+ tables and \d\d+ indexes are intact$/)
    const sql = new SQL(url, { max: 1 })
    expect([...(await sql`select extname from pg_extension where extname = 'amcheck'`)]).toEqual([])
    await sql.close()
  })

  test('says which user can run the checks that need more rights', async () => {
    const { url, drop } = await freshDatabase()
    stops.push(drop)
    const dir = folder()
    const sql = new SQL(url, { max: 1 })
    const role = `plain_${process.pid}`
    await sql.unsafe(
      `create extension vector; create extension pg_trgm; create role ${role} login password 'x'; grant all on schema public to ${role}`,
    )
    try {
      const plain = new URL(url)
      Object.assign(plain, { username: role, password: 'x' })
      const env = { DATABASE_URL: plain.href, EMBEDDINGS: 'off' }
      expect(await tutti(['migrate', '--data-dir', dir], { env })).toMatchObject({ code: 0, err: '' })
      expect((await doctor(dir, env)).of('integrity')).toMatchObject({ ok: true, warning: true, said: 'not checked' })
    } finally {
      await sql.unsafe(`drop owned by ${role} cascade; drop role ${role}`)
      await sql.close()
    }
  })

  test('reports an unreachable server, and a wrong password without printing it', async () => {
    const { code, of, wrong } = await doctor(folder(), {
      DATABASE_URL: 'postgres://me:hidden-word@127.0.0.1:1/x',
      EMBEDDINGS: 'off',
    })
    expect([code, wrong]).toEqual([6, ['database']])
    expect(of('database').advice).toContain('DATABASE_URL')
    expect(JSON.stringify(of('database'))).not.toContain('hidden-word')
  })
})
