import { afterAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../../migrations/index.ts'
import { routines } from '../../seeds/demo/life/routines.ts'
import { settings } from '../../src/config.ts'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import {
  BINARY,
  bareEnv,
  EMAIL,
  folder,
  json,
  onTerminal,
  PASSWORD,
  type Served,
  serve,
  tutti,
} from '../support/binary.ts'
import { freshDatabase } from '../support/postgres.ts'

const stops: (() => Promise<unknown>)[] = []
afterAll(() => Promise.all(stops.map((stop) => stop())))
const kept = (server: Served): Served => {
  stops.push(() => server.kill())
  return server
}
const createAdmin = (dir: string) =>
  tutti(['admin', 'create', '--email', EMAIL, '--name', 'Ada', '--password-stdin', '--data-dir', dir], {
    stdin: PASSWORD,
  })
const all = migrations.map(({ id }) => id)
const newest = all.at(-1) as string

/** Changes a stopped embedded database. */
async function inside(dir: string, sql: string): Promise<void> {
  const driver = await openEmbedded({ dir, minFreeBytes: 0 })
  await driver.exec(sql)
  await driver.close()
}

describe('tutti serve --demo', () => {
  /** Starts a demo in this folder, and waits until it has printed the link to sign in. */
  async function demo(
    cwd: string,
    ...options: string[]
  ): Promise<{ child: Bun.Subprocess; url: string; secret: string }> {
    const child = Bun.spawn([BINARY, 'serve', '--demo', '--port', '0', ...options], {
      cwd,
      env: { ...bareEnv, HOME: folder(), DB_MIN_FREE_MB: '0', EMBEDDINGS: 'off' },
      stdout: 'pipe',
      stderr: 'ignore',
    })
    stops.push(async () => {
      child.kill('SIGKILL')
      await child.exited
    })
    let out = ''
    const decoder = new TextDecoder()
    for await (const chunk of child.stdout) {
      out += decoder.decode(chunk, { stream: true })
      if (/\n\n {2}\S[\s\S]*\n\n$/.test(out)) break
    }
    const [, url = '', secret = ''] = /\n {2}(http\S+)\/magic#(\S+)\n/.exec(out) ?? []
    return { child, url, secret }
  }
  const follow = (url: string, secret: string) =>
    fetch(`${url}/api/auth/magic-link/verify`, json('POST', { token: secret }))

  test('uses its own folder and prints a sign-in link; later starts change only the link', async () => {
    const cwd = folder()
    const at = '2026-11-17T16:12:00.000Z'
    const first = await demo(cwd, '--at', at)
    expect(readdirSync(cwd)).toEqual(['tutti-demo'])
    const answer = await follow(first.url, first.secret)
    expect(answer.status).toBe(200)
    const { token } = (await answer.json()) as { token: string }
    const read = async <T>(url: string, path: string): Promise<T[]> =>
      (
        (await (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).json()) as {
          items: T[]
        }
      ).items
    const projects = await read<{ id: string; name: string }>(first.url, '/api/projects')
    expect(projects.map((p) => p.name).sort()).toEqual(['Field notes', 'Harbour', 'Lantern'])
    // The clock stands still.
    expect((await read<{ createdAt: string }>(first.url, '/api/notifications'))[0]?.createdAt).toBe(at)
    const gone = projects.find((p) => p.name === 'Field notes') as { id: string }
    await fetch(`${first.url}/api/projects/${gone.id}`, json('DELETE', {}, token))
    first.child.kill('SIGTERM')
    expect(await first.child.exited).toBe(0)

    const second = await demo(cwd, '--at', at)
    expect((await follow(second.url, first.secret)).status).toBe(410)
    expect((await follow(second.url, second.secret)).status).toBe(200)
    expect((await read<{ name: string }>(second.url, '/api/projects')).map((p) => p.name).sort()).toEqual([
      'Harbour',
      'Lantern',
    ])
  })

  test('lets its agents work from every start on', async () => {
    const cwd = folder()
    const titles = Object.values(routines).flatMap((list) => list.map(({ title }) => title))
    for (let start = 1; start <= 2; start++) {
      const { child, url, secret } = await demo(cwd)
      const { token } = (await (await follow(url, secret)).json()) as { token: string }
      const answer = await fetch(`${url}/api/now`, { headers: { authorization: `Bearer ${token}` } })
      const { lanes } = (await answer.json()) as { lanes: { task: { title: string } | null }[] }
      expect([start, lanes.filter(({ task }) => task && titles.includes(task.title)).length]).toEqual([start, 2])
      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
    }
    const driver = await openEmbedded({ dir: join(cwd, 'tutti-demo'), minFreeBytes: 0 })
    expect((await driver.query(`select name from jobs where id = 'cron:demo.life'`)).rows).toEqual([['demo.life']])
    await driver.close()
  }, 120_000)

  test('is the only mode that accepts --at', async () => {
    const refused = await tutti(['serve', '--at', '2026-11-17T16:12:00Z', '--data-dir', folder()])
    expect([refused.code, refused.out]).toEqual([2, ''])
    expect(refused.err).toContain('--at needs --demo')
  })

  test('refuses to run on a data folder of a real server', async () => {
    const dir = folder()
    expect((await createAdmin(dir)).code).toBe(0)
    const refused = await tutti(['serve', '--demo', '--port', '0', '--data-dir', dir])
    expect([refused.code, refused.out]).toEqual([5, 'Preparing the demo…\n'])
    expect(refused.err).toContain('no demo was created')
    const server = kept(await serve({ dir }))
    const { token } = (await (
      await fetch(`${server.url}/api/auth/login`, json('POST', { email: EMAIL, password: PASSWORD }))
    ).json()) as {
      token: string
    }
    const users = (await (
      await fetch(`${server.url}/api/admin/users`, { headers: { authorization: `Bearer ${token}` } })
    ).json()) as {
      items: { email: string }[]
    }
    expect(users.items.map((u) => u.email)).toEqual([EMAIL])
  })
})

describe('tutti migrate', () => {
  test('creates no database with --dry-run, and one without it', async () => {
    const dir = folder()
    const at = ['--data-dir', dir]
    for (const words of [['status'], ['--dry-run'], ['up', '--dry-run']]) {
      const looked = await tutti(['migrate', ...words, '--json', ...at])
      expect([looked.code, JSON.parse(looked.out)]).toEqual([0, { applied: [], pending: all, done: [] }])
    }
    expect(readdirSync(dir)).toEqual([])
    expect(await tutti(['migrate', ...at])).toEqual({ code: 0, out: `Up to date (${newest}).\n`, err: '' })
    expect(JSON.parse((await tutti(['migrate', 'up', '--json', ...at])).out)).toEqual({
      applied: all,
      pending: [],
      done: [],
    })
  })

  test('applies pending migrations once', async () => {
    const dir = folder()
    const at = ['--data-dir', dir]
    // The last one, whatever it does, as if it had never run: its guard is its row.
    await inside(
      dir,
      `drop schema public cascade; create schema public;
       create extension if not exists vector; create extension if not exists pg_trgm`,
    )
    expect(await tutti(['migrate', 'status', ...at])).toMatchObject({ code: 0, out: `Pending: ${all.join(', ')}\n` })
    expect(JSON.parse((await tutti(['migrate', 'up', '--dry-run', '--json', ...at])).out)).toMatchObject({
      pending: all,
      done: [],
    })
    const applied = await tutti(['migrate', '--json', ...at])
    expect([applied.code, JSON.parse(applied.out)]).toEqual([0, { applied: all, pending: [], done: all }])
    expect(JSON.parse((await tutti(['migrate', 'status', '--json', ...at])).out)).toEqual({
      applied: all,
      pending: [],
      done: [],
    })
  })

  test('asks a running server instead of opening its files', async () => {
    const server = kept(await serve())
    const at = ['--data-dir', server.dir]
    for (const words of [[], ['up'], ['status'], ['--dry-run']])
      expect(await tutti(['migrate', ...words, ...at])).toEqual({ code: 0, out: `Up to date (${newest}).\n`, err: '' })
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    expect(server.output()).not.toContain('"error"')
  })

  test('reports a newer database, with and without a running server', async () => {
    const dir = folder()
    await inside(dir, `insert into migrations (id) values ('9999_tomorrow')`)
    for (const words of [[], ['status'], ['--dry-run']]) {
      const refused = await tutti(['migrate', ...words, '--data-dir', dir])
      expect([refused.code, refused.out]).toEqual([5, ''])
      expect(refused.err).toMatch(/^tutti: This database was written by a newer Tutti \(it has 9999_tomorrow\)\. .*\n$/)
    }
    expect(await tutti(['serve', '--port', '0', '--data-dir', dir])).toMatchObject({
      code: 5,
      err: expect.stringContaining('written by a newer Tutti'),
    })
  })

  test('prints the same on a terminal', async () => {
    const dir = folder()
    expect(await onTerminal(['migrate', '--data-dir', dir])).toEqual({ code: 0, shown: `Up to date (${newest}).\n` })
  })
})

test('tutti seed prints what it created and what existed, and needs an administrator', async () => {
  const dir = folder()
  const refused = await tutti(['seed', '--data-dir', dir])
  expect([refused.code, refused.out]).toEqual([5, ''])
  expect(refused.err).toContain('Create an administrator first')
  await createAdmin(dir)
  const made = JSON.parse((await tutti(['seed', '--demo', '--json', '--data-dir', dir])).out)
  expect(made.kept).toEqual([])
  expect(made.made).toContain('project Lighthouse API')
  const server = kept(await serve({ dir }))
  const again = await tutti(['seed', '--demo', '--data-dir', server.dir])
  expect([again.code, again.err, again.out]).toEqual([
    0,
    '',
    `${made.made.map((what: string) => `already exists: ${what}`).join('\n')}\n`,
  ])
  expect((await onTerminal(['seed', '--data-dir', server.dir])).shown).toMatch(
    /^already exists: project Getting started\n/,
  )
})

describe('tutti config', () => {
  const SECRET = 'Zq8vX2mR7tK4wB9nY3hJ6cL1'
  const secretUrl = (scheme: string) => `${scheme}://user-${SECRET}:pass-${SECRET}@host.example/base?key=${SECRET}`
  /** A value for every setting there is, with a secret wherever one fits. */
  const values: Record<string, string> = {}
  for (const [name, { about, fallback }] of Object.entries(settings)) {
    if (name === 'DATABASE_WAIT') values[name] = '5'
    else if (name === 'LISTEN_URL' || name.startsWith('DATABASE_')) values[name] = secretUrl('postgres')
    else if (name === 'SMTP_URL') values[name] = secretUrl('smtps')
    else if (name === 'APP_URL' || name === 'INSTANCE_URL') values[name] = 'https://tutti.example.com'
    else if (name.endsWith('_URL') || name === 'GOOGLE_ISSUER') values[name] = secretUrl('http')
    else if (name === 'DB_CONNECTION') values[name] = 'pgsql'
    else if (name === 'EMBEDDINGS_DIMENSIONS') values[name] = '512'
    else if (name === 'TUNNEL_PORT' || name === 'TUNNEL_PROXY_PORT') values[name] = '4343'
    else if (name === 'TUNNEL_DOMAIN') values[name] = 'tunnels.example'
    else if (name === 'CODEHOST_PROVIDER') values[name] = 'gitea'
    else if (name === 'HOST') values[name] = '127.0.0.9'
    else if (name === 'TRUSTED_PROXIES') values[name] = '10.0.0.1,10.0.0.2'
    else if (name === 'ALLOWED_HOSTS') values[name] = 'a.example,b.example'
    else if (name === 'TUTTI_SECRET' || name === 'METRICS_TOKEN') values[name] = `${SECRET}${SECRET}`
    else if (/(_KEY|_SECRET)$/.test(name)) values[name] = SECRET
    else if (typeof fallback === 'number')
      values[name] = String(fallback === 1 << 20 ? 2048 : Math.max(1, fallback - 1))
    else if (typeof fallback === 'string' && name !== 'DATA_DIR') {
      const choices = /\b(\w+): /.exec(about)?.[1]
      values[name] = choices && name !== 'DB_SHARED_BUFFERS' ? choices : fallback
    } else if (name !== 'DATA_DIR') values[name] = 'something'
  }

  test('shows every setting from the environment, without secrets', async () => {
    const dir = folder()
    const shown = await tutti(['config', '--json', '--data-dir', dir], { env: values })
    expect(shown.err).toBe('')
    const { items } = JSON.parse(shown.out) as { items: { name: string; value: string; from: string; about: string }[] }
    expect(items.map((i) => i.name)).toEqual(Object.keys(settings))
    for (const { name, value, from, about } of items) {
      expect([name, from]).toEqual([name, name === 'DATA_DIR' ? 'option' : 'environment'])
      expect([name, about.length > 10, value === null]).toEqual([name, true, false])
      expect([name, value.includes(SECRET)]).toEqual([name, false])
      if (!values[name]?.includes(SECRET) && name !== 'DATA_DIR')
        expect([name, value]).toEqual([name, values[name] as string])
    }
    const of = (name: string) => items.find((i) => i.name === name)?.value
    expect(of('DATABASE_URL')).toBe('postgres://(hidden)@host.example/base?(hidden)')
    expect(of('EMBEDDINGS_URL')).toBe('http://(hidden)@host.example/base?(hidden)')
    expect(of('TUTTI_SECRET')).toBe('(hidden)')
    const forPeople = await tutti(['config', '--data-dir', dir], { env: values })
    expect(forPeople.out).not.toContain(SECRET)
    expect(forPeople.out.split('\n')).toHaveLength(Object.keys(settings).length + 2)
  })

  test('shows the source of each value: option before environment before file', async () => {
    const dir = folder()
    writeFileSync(join(dir, 'config.env'), 'PORT=1111\nLOG_LEVEL=warn\nBACKUP_KEEP=3\n')
    const { out } = await tutti(['config', '--json', '--data-dir', dir], { env: { LOG_LEVEL: 'error' } })
    const { file, items } = JSON.parse(out) as { file: string; items: { name: string; value: string; from: string }[] }
    expect(file).toBe(join(dir, 'config.env'))
    const of = (name: string) => items.find((i) => i.name === name)
    expect([of('PORT'), of('LOG_LEVEL'), of('BACKUP_EVERY_HOURS')]).toMatchObject([
      { value: '1111', from: 'file' },
      { value: 'error', from: 'environment' },
      { value: '24', from: 'default' },
    ])
    expect(JSON.parse((await tutti(['config', '--json', '--data-dir', folder()])).out).file).toBeNull()
  })

  test('reports all invalid settings at once, without the content of a bad address', async () => {
    const env = { PORT: 'many', EMBEDDINGS_URL: `ftp://me:${SECRET}@host`, DATABASE_URL: `mysql://me:${SECRET}@host` }
    const bad = await tutti(['config', '--data-dir', folder()], { env })
    expect([bad.code, bad.out]).toEqual([2, ''])
    for (const name of Object.keys(env)) expect(bad.err).toContain(name)
    expect(bad.err).not.toContain(SECRET)
  })

  test('fits a narrow terminal in colour', async () => {
    const { shown, code } = await onTerminal(['config', '--data-dir', folder()], { columns: 70 })
    expect(code).toBe(0)
    expect(shown).toContain('\x1b[2m')
    for (const line of Bun.stripANSI(shown).split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(70)
    expect((await onTerminal(['config', '--data-dir', folder()], { env: { NO_COLOR: '1' } })).shown).not.toContain(
      '\x1b',
    )
    expect((await tutti(['config', '--data-dir', folder()])).out).not.toContain('\x1b')
  })
})

test('a data folder that others can write to is refused with exit code 3', async () => {
  const dir = join(folder(), 'data')
  mkdirSync(dir)
  chmodSync(dir, 0o777)
  for (const words of [['migrate'], ['seed'], ['serve', '--port', '0']]) {
    const refused = await tutti([...words, '--data-dir', dir])
    expect([refused.code, refused.out, refused.err]).toEqual([
      3,
      '',
      `tutti: Others can write to ${dir}. Run: chmod 700 ${dir}\n`,
    ])
  }
  expect(existsSync(join(dir, 'db'))).toBe(false)
})

test.skipIf(!process.env.TEST_DATABASE_URL)(
  'a second server on the same folder leaves the control socket of the first alone',
  async () => {
    const { url, drop } = await freshDatabase()
    const [dir, env] = [folder(), { DATABASE_URL: url, EMBEDDINGS: 'off' }]
    const first = await serve({ dir, env })
    try {
      const second = await serve({ dir, env })
      await second.stop()
      expect(second.output()).toContain('another server already has the control socket')
      const { out } = await tutti(['doctor', '--data-dir', dir, '--json'], { env })
      const { findings } = JSON.parse(out) as { findings: { what: string; said: string }[] }
      expect(findings.find(({ what }) => what === 'server')?.said).toContain(`pid ${first.pid}`)
    } finally {
      await first.stop()
      await drop()
    }
  },
  300_000,
)
