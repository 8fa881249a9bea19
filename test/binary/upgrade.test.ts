import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, cpSync, existsSync, linkSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SQL } from 'bun'
import manifest from '../../package.json' with { type: 'json' }
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
} from '../support/binary.ts'
import { buildNext, NEXT, NEXT_MIGRATION, pretend, sha256 } from '../support/next.ts'
import { freshDatabase } from '../support/postgres.ts'
import { installed, Systemd } from '../support/systemd.ts'
import { allowing } from '../support/timing.ts'

const stops: (() => Promise<unknown>)[] = []
afterAll(() => Promise.all(stops.map((stop) => stop())))
let next: string
let sum: string
beforeAll(async () => {
  next = await buildNext()
  sum = sha256(next)
}, 300_000)

type Env = Record<string, string>
const command = (binary: string, dir: string, ...words: string[]) => [binary, 'upgrade', '--data-dir', dir, ...words]
async function run(words: string[], env: Env = {}): Promise<Run> {
  const child = Bun.spawn(words, {
    cwd: '/',
    env: { ...bareEnv, HOME: folder(), DB_MIN_FREE_MB: '0', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out, err }
}
const version = async (binary: string) => (await run([binary, '--version'])).out.trim()

/** Tells whether a file was replaced or written, without reading the whole of it. */
const identity = (path: string): string => {
  const { ino, size, mtimeNs } = statSync(path, { bigint: true })
  return [ino, size, mtimeNs].join()
}

interface Data {
  dir: string
  key: string
  note: string
}

/** Makes a data folder with one note in it, whose server has stopped. */
async function makeData(env: Env = {}): Promise<Data> {
  const server = await serve({ env })
  const key = await apiKeyFor(server, env)
  const made = await fetch(
    `${server.url}/api/notes`,
    json('POST', { title: 'kept', content: 'through everything' }, key),
  )
  const { id } = (await made.json()) as { id: string }
  await server.stop()
  return { dir: server.dir, key, note: id }
}

let prepared: Promise<Data> | undefined
/** Copies a data folder that is made once. */
async function embeddedData(): Promise<Data> {
  prepared ??= makeData()
  const data = await prepared
  const dir = join(folder(), 'data')
  cpSync(data.dir, dir, { recursive: true })
  chmodSync(dir, 0o700)
  return { ...data, dir }
}

/** Makes an installation with a binary that can be replaced, and data with one note in it. */
async function installation(env?: Env) {
  const binary = await installed()
  const { dir, key, note } = await (env ? makeData(env) : embeddedData())
  const status = async (with_ = binary) => run([with_, 'migrate', 'status', '--json', '--data-dir', dir], env)
  /** Starts whatever is in the place of the binary with this data, expects the note, and returns the version. */
  const works = async (): Promise<string> => {
    const child = Bun.spawn([binary, 'serve', '--port', '0', '--data-dir', dir], {
      env: { ...bareEnv, HOME: folder(), DB_MIN_FREE_MB: '0', EMBEDDINGS: 'off', ...env },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    try {
      let out = ''
      const decoder = new TextDecoder()
      for await (const chunk of child.stdout) {
        out += decoder.decode(chunk, { stream: true })
        if (/ running at (\S+)\n/.test(out)) break
      }
      const url = / running at (\S+)\n/.exec(out)?.[1]
      const found = await fetch(`${url}/api/notes/${note}`, { headers: { authorization: `Bearer ${key}` } })
      expect([found.status, ((await found.json()) as { title: string }).title]).toEqual([200, 'kept'])
      return /Tutti (\S+) is running at/.exec(out)?.[1] as string
    } finally {
      child.kill('SIGTERM')
      await child.exited
    }
  }
  return { binary, dir, status, works, left: () => readdirSync(dirname(binary)).sort() }
}

describe('a refused upgrade changes nothing', () => {
  let home: Awaited<ReturnType<typeof installation>>
  beforeAll(async () => {
    home = await installation()
  })
  const refused = async (code: number, said: string | RegExp, ...words: string[]) => {
    const before = [identity(home.binary), readdirSync(home.dir).sort()]
    const answer = await run(command(home.binary, home.dir, ...words))
    expect([answer.code, answer.out]).toEqual([code, ''])
    expect(answer.err).toMatch(said)
    expect([identity(home.binary), readdirSync(home.dir).sort()]).toEqual(before)
    expect(home.left()).toEqual(['tutti'])
  }

  test('if the file or checksum is missing or wrong, or the file is no program', async () => {
    await refused(4, 'not found', '--file', '/no/such/file')
    const lone = join(folder(), 'tutti')
    linkSync(next, lone)
    await refused(2, `--sha256 ${sum}`, '--file', lone)
    await refused(
      2,
      'Checksum mismatch',
      '--file',
      lone,
      '--sha256',
      sum.replace(/^./, (c) => (c === '0' ? '1' : '0')),
    )
    writeFileSync(`${lone}.sha256`, `${'0'.repeat(64)}  tutti\n`)
    await refused(2, 'Checksum mismatch', '--file', lone)
    const text = join(folder(), 'tutti')
    writeFileSync(text, 'not a program')
    await refused(2, 'does not run on this computer', '--file', text, '--sha256', sha256(text))
    const rude = pretend('', 'hello')
    await refused(2, 'does not run on this computer', '--file', rude, '--sha256', sha256(rude))
    await refused(2, 'number of seconds', '--file', next, '--sha256', sum, '--wait', 'long')
  })

  test('if a server runs that is not a service', async () => {
    const server: Served = await serve({ dir: home.dir })
    stops.push(() => server.kill())
    await refused(5, `pid ${server.pid}`, '--file', next, '--sha256', sum)
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    await server.stop()
  })

  test('and prints the same on a terminal', async () => {
    const { code, shown } = await onTerminal(['upgrade', '--file', '/no/such/file', '--data-dir', home.dir])
    expect([code, Bun.stripANSI(shown)]).toEqual([4, 'tutti: File /no/such/file not found.\n'])
  })

  test.skipIf(process.getuid?.() !== 0)('a folder that one may not write to', async () => {
    const place = dirname(home.binary)
    chmodSync(place, 0o755)
    chmodSync(dirname(place), 0o755)
    const theirs = join(folder(), 'data')
    mkdirSync(theirs)
    chmodSync(dirname(theirs), 0o755)
    await run(['chown', 'daemon', theirs])
    const as = ['setpriv', '--reuid=daemon', '--regid=daemon', '--clear-groups']
    const copy = join(folder(), 'tutti')
    linkSync(next, copy)
    chmodSync(dirname(copy), 0o755)
    const answer = await run([...as, ...command(home.binary, theirs, '--file', copy, '--sha256', sum)])
    expect([answer.code, answer.out]).toEqual([3, ''])
    expect(answer.err).toContain('Run this as its owner.')
  })
})

describe('an upgrade', () => {
  test('tries the new version on a copy of the data, replaces the binary, and can be reversed', async () => {
    const { binary, dir, works, left, status } = await installation()
    writeFileSync(join(dirname(next), 'SHA256SUMS'), `${'0'.repeat(64)}  other\n${sum} *tutti\n`)
    const done = await run(command(binary, dir, '--file', next, '--json'))
    expect([done.code, done.err]).toEqual([0, ''])
    const told = JSON.parse(done.out)
    expect(told).toMatchObject({ from: manifest.version, to: NEXT, sha256: sum, binary, restarted: false })
    expect([sha256(binary), left()]).toEqual([sum, ['tutti', 'tutti.before-upgrade']])
    expect(existsSync(join(dir, 'upgrade'))).toBe(false)
    // The data itself is changed by the first start and not before.
    expect(JSON.parse((await status(BINARY)).out).pending).toEqual([])
    expect(await works()).toBe(NEXT)
    expect((await status(BINARY)).code).toBe(5)
    expect((await run(['mv', told.before, binary])).code).toBe(0)
    const back = await run([binary, 'restore', told.backup, '--replace', '--data-dir', dir])
    expect([back.code, back.err.includes('tutti:')]).toEqual([0, false])
    expect(await works()).toBe(manifest.version)
  })

  test('keeps the old version and its data if the new one crashes, hangs or fails', async () => {
    const { binary, dir, works, left, status } = await installation()
    const before = identity(binary)
    const bad: [string, string][] = [
      [pretend('echo "cannot go on" >&2; exit 3'), 'it ended with exit code 3\ncannot go on'],
      [pretend('exec sleep 600'), 'it was not ready after 1 s'],
      [pretend('exit 0'), 'it ended with exit code 0'],
      [
        pretend(
          `while [ "$1" != --data-dir ]; do shift; done; ${next} migrate --data-dir "$2" >&2 && echo "broken after all" >&2; exit 1`,
        ),
        `Applied: ${NEXT_MIGRATION}\nbroken after all`,
      ],
    ]
    for (const [file, why] of bad) {
      const answer = await run(
        command(binary, dir, '--file', file, '--sha256', sha256(file), '--wait', why.includes('ready') ? '1' : '120'),
      )
      expect([answer.code, answer.out]).toEqual([6, ''])
      expect(answer.err).toContain(`${NEXT} did not start: `)
      expect(answer.err).toContain(why)
      expect(answer.err).toContain(`${manifest.version} stays in place, with its data.`)
      expect([identity(binary), left(), existsSync(join(dir, 'upgrade'))]).toEqual([before, ['tutti'], false])
    }
    expect((await status()).code).toBe(0)
    expect(await works()).toBe(manifest.version)
  }, 300_000)

  test('works before there is any data', async () => {
    const binary = await installed()
    const dir = join(folder(), 'data')
    const done = await run(command(binary, dir, '--file', next, '--sha256', sum))
    expect([done.code, done.err]).toEqual([0, ''])
    expect(done.out).toContain(`${manifest.version} → ${NEXT} in ${binary}`)
    expect([await version(binary), readdirSync(dir)]).toEqual([NEXT, []])
  })

  test('is refused while another one runs', async () => {
    const { binary, dir, left } = await installation()
    const mayEnd = join(folder(), 'may-end')
    const slow = pretend(`until [ -e ${mayEnd} ]; do sleep 0.1; done; exit 1`)
    const first = run(command(binary, dir, '--file', slow, '--sha256', sha256(slow)))
    while (!existsSync(join(dir, 'upgrade', 'errors'))) await Bun.sleep(20)
    const second = await run(command(binary, dir, '--file', next, '--sha256', sum))
    expect([second.code, second.err]).toEqual([
      5,
      'tutti: Another upgrade of this binary is running. Wait until it has finished.\n',
    ])
    expect(left()).toContain('tutti.new')
    writeFileSync(mayEnd, '')
    expect((await first).code).toBe(6)
    expect(left()).toEqual(['tutti'])
  }, 300_000)

  test('leaves a working binary and all data after kill -9 at any moment', async () => {
    for (let round = 0; round < (process.env.SOAK ? 40 : 4); round++) {
      // A new one each time, because the trial that an earlier round left behind may still be stopping in its folder.
      const { binary, dir, works } = await installation()
      const beside = (name: string) => () => existsSync(join(dirname(binary), name))
      // The steps of an upgrade, by what each leaves: the copies, the backup, the trial, and the replacement.
      const steps: (() => boolean)[] = [
        beside('tutti.new'),
        () => readdirSync(dir).some((name) => name.startsWith('before-')),
        () => existsSync(join(dir, 'upgrade', 'errors')),
        beside('tutti.before-upgrade'),
      ]
      const child = Bun.spawn(command(binary, dir, '--file', next, '--sha256', sum), {
        env: { ...bareEnv, HOME: folder(), DB_MIN_FREE_MB: '0' },
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'ignore',
      })
      const reached = steps[round % steps.length] as () => boolean
      while (!reached() && child.exitCode === null) await Bun.sleep(2)
      // The sleep is the moment of the fault, not synchronisation.
      if (process.env.SOAK) await Bun.sleep(Math.random() * 1000)
      child.kill('SIGKILL')
      await child.exited
      expect([manifest.version, NEXT]).toContain(await works())
    }
  }, 600_000)
})

/** Ctrl-C while it is tried; how it was called is written to `seen`. */
const interrupting = (seen = '/dev/null') =>
  pretend(`case "$*" in *--trial*) echo "$@" >${seen}; kill -INT $PPID ;; esac; exec ${next} "$@"`)

test('an upgrade stopped during the trial keeps the old version and its data', async () => {
  const { binary, dir, works, left } = await installation()
  const seen = join(folder(), 'arguments')
  const file = interrupting(seen)
  const answer = await run(command(binary, dir, '--file', file, '--sha256', sha256(file)))
  expect([answer.code, answer.err]).toEqual([1, 'tutti: Stopped. Nothing was changed.\n'])
  // While it is tried it sends nothing and works on nothing.
  expect(await Bun.file(seen).text()).toMatch(
    /^serve --trial --host 127\.0\.0\.1 --port \d+ --data-dir \S+\/upgrade\n$/,
  )
  expect([await works(), left()]).toEqual([manifest.version, ['tutti']])
}, 300_000)

describe.skipIf(!process.env.TEST_DATABASE_URL)('an upgrade on Postgres', () => {
  test('finishes despite a signal once the new version has migrated the database', async () => {
    const { url, drop } = await freshDatabase()
    stops.push(drop)
    const env = { DATABASE_URL: url }
    const { binary, dir, works } = await installation(env)
    const file = interrupting()
    expect(await run(command(binary, dir, '--file', file, '--sha256', sha256(file)), env)).toMatchObject({ code: 0 })
    expect(await works()).toBe(NEXT)
  }, 300_000)

  test('restores all data if the new version fails after it migrated the database', async () => {
    const { url, drop } = await freshDatabase()
    stops.push(drop)
    const env = { DATABASE_URL: url }
    const { binary, dir, works, status } = await installation(env)
    const bad = pretend(`while [ "$1" != --data-dir ]; do shift; done; ${next} migrate --data-dir "$2" >&2; exit 1`)
    const answer = await run(command(binary, dir, '--file', bad, '--sha256', sha256(bad)), env)
    expect([answer.code, answer.out]).toEqual([6, ''])
    expect(answer.err).toContain(`Applied: ${NEXT_MIGRATION}`)
    expect(answer.err).toContain('The data was restored from ')
    expect((await status()).code).toBe(0)
    expect(await works()).toBe(manifest.version)

    const done = await run(command(binary, dir, '--file', next, '--sha256', sum), env)
    expect([done.code, done.err]).toEqual([0, ''])
    expect(await works()).toBe(NEXT)
    const sql = new SQL(url, { max: 1 })
    expect([...(await sql`select id from migrations where id = ${NEXT_MIGRATION}`)]).toHaveLength(1)
    await sql.close()
  }, 300_000)
})

describe.skipIf(process.getuid?.() !== 0 || !Bun.which('systemctl') || !Bun.which('unshare'))(
  'an upgrade of a service, with a real systemd',
  () => {
    test('stops, upgrades and starts the service, and goes back to the old version if it does not start', async () => {
      const { binary, dir } = await installation()
      writeFileSync(join(dir, 'config.env'), 'DB_MIN_FREE_MB=0\n', { mode: 0o600 })
      const systemd = await Systemd.start()
      stops.push(() => systemd.stop())
      const at = ['--data-dir', dir]
      const status = async () =>
        JSON.parse((await systemd.tutti(['service', 'status', '--json', ...at], {}, binary)).out)
      expect((await systemd.tutti(['service', 'install', '--port', '0', ...at], {}, binary)).code).toBe(0)
      expect(await status()).toMatchObject({ running: true, version: manifest.version })

      const crash = pretend('echo no >&2; exit 3')
      const failed = await systemd.tutti(['upgrade', ...at, '--file', crash, '--sha256', sha256(crash)], {}, binary)
      expect([failed.code, failed.err.includes('stays in place')]).toEqual([6, true])
      expect(await until(status, (s) => s.url)).toMatchObject({ running: true, version: manifest.version })

      // It passes the trial and then does not serve. The trial must be over in the time for which the service is awaited.
      const trial = join(folder(), 'trial.ts')
      writeFileSync(
        trial,
        `const port = Number(process.argv[process.argv.indexOf('--port') + 1])
         Bun.serve({ port, fetch: () => Response.json({ version: '${NEXT}' }) })`,
      )
      const moody = pretend(`[ "$2" = --trial ] && exec ${process.execPath} ${trial} "$@"; exit 3`)
      const wait = String(Math.ceil(allowing(3000) / 1000))
      const moodyFailed = await systemd.tutti(
        ['upgrade', ...at, '--file', moody, '--sha256', sha256(moody), '--wait', wait],
        {},
        binary,
      )
      expect([moodyFailed.code, moodyFailed.err.includes('is back in place')]).toEqual([6, true])
      expect(await until(status, (s) => s.url)).toMatchObject({ running: true, version: manifest.version })

      const done = await systemd.tutti(['upgrade', ...at, '--file', next, '--sha256', sum], {}, binary)
      expect([done.code, done.err]).toEqual([0, ''])
      expect(done.out).toContain('The service is running again.')
      expect(await status()).toMatchObject({ running: true, version: NEXT })
    }, 300_000)
  },
)

async function until<T>(ask: () => Promise<T>, good: (answer: T) => unknown): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (good(answer)) return answer
    await Bun.sleep(200)
  }
}
