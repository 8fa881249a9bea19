import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { createApp } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import { runningServer } from '../../src/control/client.ts'
import { runControlAction } from '../../src/control/server.ts'
import { DbError } from '../../src/db/driver.ts'
import { lockDirectory } from '../../src/db/embedded/lock.ts'
import { hasDatabase } from '../../src/db/index.ts'
import { createLog } from '../../src/log.ts'
import { version } from '../../src/version.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'
import { note, print } from '../terminal/output.ts'
import { Refusal } from '../terminal/report.ts'
import { serviceOf, untilUp } from './service.ts'

interface Options extends CommonOptions {
  file: string
  sha256?: string
  wait?: string
  json?: boolean
}

/**
 * Puts another binary in the place of this one, once it has been seen to come up with this data. The one in place works at every moment:
 * it is replaced by one rename. An embedded database is tried as a copy, so that nothing has to be undone; a Postgres is tried itself, and
 * brought back from the backup if that goes wrong.
 */
export async function upgrade({ file, sha256, wait = '120', json, ...common }: Options): Promise<void> {
  const config = settingsOf(common)
  const seconds = Number(wait)
  if (!(seconds > 0)) throw new Refusal('--wait takes a number of seconds.')
  const here = process.execPath
  if (basename(here).startsWith('bun')) throw new Refusal('This runs from source. Pull and build instead.')
  const server = await runningServer(config)
  const service = await serviceOf(server?.pid)
  if (server && !service)
    throw new Refusal(
      `A server is running on this data folder${server.pid ? ` (pid ${server.pid})` : ''}, and not as a service of ours. Stop it, then run this again.`,
      5,
    )
  const fresh = `${here}.new`
  const old = `${here}.before-upgrade`
  const kept = `${old}.new`
  const place = join(config.DATA_DIR, 'upgrade')
  const embedded = config.DB_CONNECTION === 'pglite'
  const options = ['--data-dir', config.DATA_DIR, ...(config.file ? ['--config', config.file] : [])]
  const release = claim(here)
  const stopped = heedSignals()
  let way = ''
  try {
    const sum = bring(resolve(file), fresh, sha256)
    const to = versionOf(fresh, file)
    // All room that is needed is taken before anything is changed.
    copyFileSync(here, kept)
    for (const path of [fresh, kept]) sync(path)
    service?.stop()
    underWay('Saving all data …')
    const backup = await save(config, to, place)
    way = backup ? `All data as it was is in ${backup}.` : ''
    // Nobody ends this between two steps; after each it is asked.
    stopped.check()
    underWay(`Trying ${to} with it …`)
    const why = await tryOut(fresh, to, config, embedded ? place : config.DATA_DIR, seconds)
    if (why) {
      const data = embedded || !backup ? '' : bringBack(here, backup, options)
      throw new Refusal(`${to} did not come up: ${why}\n${version} stays in its place, with its data.${data}`, 6)
    }
    // A Postgres is the new one's by now.
    if (embedded) stopped.check()
    renameSync(kept, old)
    renameSync(fresh, here)
    if (service) {
      service.start()
      if (!(await untilUp(config, to, seconds))) {
        service.stop()
        renameSync(old, here)
        const data = backup ? bringBack(here, backup, options) : ''
        throw new Refusal(
          `${to} did not come up as a service. Its log: ${service.log}\n${version} is back in its place.${data}`,
          6,
        )
      }
    }
    print(
      json,
      {
        from: version,
        to,
        sha256: sum,
        binary: here,
        before: old,
        backup: backup ?? null,
        restarted: service !== undefined,
      },
      `${version} → ${to} in ${here}`,
      ...(way ? [way] : []),
      service ? 'The service runs again.' : 'It came up with this data. Start the server again.',
      `To go back, with the server stopped: mv '${old}' '${here}'${backup ? ` && '${here}' restore '${backup}' --replace ${options.map((o) => `'${o}'`).join(' ')}` : ''}`,
    )
  } catch (error) {
    // Whatever is in place now is what ran before.
    if (service && !(await runningServer(config))) service.start()
    throw error
  } finally {
    rmSync(fresh, { force: true })
    rmSync(kept, { force: true })
    rmSync(place, { recursive: true, force: true })
    release()
  }
}

/** It may take minutes, and somebody may be watching. */
function underWay(text: string): void {
  if (process.stderr.isTTY) note(text)
}

/** One at a time: another would change what this one has checked, or take away what it tries. */
function claim(here: string): () => void {
  const folder = `${here}.upgrading`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const lock = lockDirectory(folder)
    return () => {
      rmSync(folder, { recursive: true, force: true })
      lock.release()
    }
  } catch (error) {
    if (error instanceof DbError)
      throw new Refusal('Another upgrade of this binary is under way. Wait until it is done.', 5)
    throw unwritable(here, error)
  }
}

function unwritable(path: string, error: unknown): Refusal {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM')
    return new Refusal(`You may not write to ${dirname(path)}. Run this as its owner.`, 3)
  return new Refusal(`The new binary cannot be put beside the old one: ${message}`, 6)
}

/** Else a machine that loses its power right after the rename would have an empty file in the place of the binary. */
function sync(path: string): void {
  const fd = openSync(path, 'r+')
  fsyncSync(fd)
  closeSync(fd)
}

/** A copy beside the one in place, so that no other disk and nobody who may write to `from` comes between check and use. */
function bring(from: string, fresh: string, given: string | undefined): string {
  if (!existsSync(from)) throw new Refusal(`There is no file ${from}.`, 4)
  try {
    accessSync(dirname(fresh), constants.W_OK)
    copyFileSync(from, fresh)
  } catch (error) {
    throw unwritable(fresh, error)
  }
  const sum = new Bun.CryptoHasher('sha256').update(readFileSync(fresh)).digest('hex')
  const expected = (given ?? sumBeside(from))?.toLowerCase()
  if (!expected)
    throw new Refusal(
      `There is nothing to check ${from} against. Its SHA-256 is ${sum}: compare that with what was published, then add --sha256 ${sum}`,
    )
  if (sum !== expected)
    throw new Refusal(`${from} is not what it should be: its SHA-256 is ${sum}, not ${expected}. Nothing was changed.`)
  chmodSync(fresh, 0o755)
  return sum
}

function sumBeside(path: string): string | undefined {
  const name = basename(path)
  const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
  // `sum  name` or `sum *name`, as sha256sum writes them; a file for one binary may hold the sum alone.
  const parse = (line: string) => /^([0-9a-f]{64})(?:\s+\*?(.+?))?\s*$/i.exec(line)
  const alone = read(`${path}.sha256`)
    .map(parse)
    .find((found) => found)
  const listed = read(join(dirname(path), 'SHA256SUMS'))
    .map(parse)
    .find((found) => found?.[2] === name)
  return (alone ?? listed)?.[1]
}

function versionOf(fresh: string, file: string): string {
  let said = ''
  try {
    const { exitCode, stdout, stderr } = Bun.spawnSync([fresh, '--version'], { timeout: 30_000 })
    said = stdout.toString().trim()
    if (exitCode === 0 && /^\d+\.\d+\.\d+\S*$/.test(said)) return said
    said = stderr.toString().trim() || said
  } catch (error) {
    said = (error as Error).message
  }
  throw new Refusal(
    `${file} does not run on this machine${said ? ` (${said.slice(0, 200)})` : ''}. Nothing was changed.`,
  )
}

/** A backup to go back to, and for the embedded database a copy to try. Undefined where there is no data yet. */
async function save(config: Config, to: string, place: string): Promise<string | undefined> {
  rmSync(place, { recursive: true, force: true })
  if (!hasDatabase(config)) {
    mkdirSync(place, { recursive: true, mode: 0o700 })
    return undefined
  }
  const app = await createApp(config, { background: false, log: createLog('warn') })
  try {
    mkdirSync(place, { mode: 0o700 })
    const path = join(config.DATA_DIR, `before-${to}-${new Date().toISOString().replaceAll(':', '-')}.backup`)
    await runControlAction(app, 'backups.make', { path })
    await app.driver.snapshot?.(join(place, 'db'))
    const secret = join(config.DATA_DIR, 'secret')
    if (existsSync(secret)) copyFileSync(secret, join(place, 'secret'))
    return path
  } finally {
    await app.close()
  }
}

/** Starts it where nobody reaches it, without background work: no mail is sent. Why it did not come up, if so. */
async function tryOut(
  binary: string,
  to: string,
  config: Config,
  dataDir: string,
  seconds: number,
): Promise<string | undefined> {
  const port = freePort()
  const errors = join(config.DATA_DIR, 'upgrade', 'errors')
  const child = Bun.spawn(
    [
      binary,
      'serve',
      '--trial',
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--data-dir',
      dataDir,
      ...(config.file ? ['--config', config.file] : []),
    ],
    { stdin: 'pipe', stdout: 'ignore', stderr: Bun.file(errors) },
  )
  const deadline = Date.now() + seconds * 1000
  let code: number | undefined
  let ended: number | undefined
  void child.exited.then((exit) => {
    code = exit
  })
  try {
    while (code === undefined && Date.now() < deadline) {
      if (await isReady(port, to)) return undefined
      await Bun.sleep(100)
    }
    ended = code
  } finally {
    child.kill('SIGTERM')
    const impatient = setTimeout(() => child.kill('SIGKILL'), 20_000)
    await child.exited
    clearTimeout(impatient)
  }
  const said = existsSync(errors) ? readFileSync(errors, 'utf8').trim().split('\n').slice(-5).join('\n') : ''
  return `${ended === undefined ? `it was not ready after ${seconds} s` : `it ended with ${ended}`}${said ? `\n${said}` : ''}`
}

async function isReady(port: number, to: string): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(2000) })
    return answer.status === 200 && ((await answer.json()) as { version?: string }).version === to
  } catch {
    return false
  }
}

function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = listener
  listener.stop(true)
  return port
}

/** Only where the new one has changed the database's shape: else the data is as it was. */
function bringBack(here: string, backup: string, options: string[]): string {
  if (Bun.spawnSync([here, 'migrate', 'status', ...options]).exitCode === 0) return ''
  const { exitCode, stderr } = Bun.spawnSync([here, 'restore', backup, '--replace', ...options])
  return exitCode === 0
    ? `\nThe data was brought back from ${backup}.`
    : `\nIts data could not be brought back (${stderr.toString().trim()}). Do it with: tutti restore '${backup}' --replace`
}

/** Ctrl-C in the middle must not leave a service stopped. */
function heedSignals(): { check(): void } {
  let asked = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      asked = true
    })
  return {
    check() {
      if (asked) throw new Refusal('Stopped. Nothing was changed.', 1)
    },
  }
}
