import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type Config, settings } from '../../src/config.ts'
import { runningServer } from '../../src/control/client.ts'
import { type Manager, manager } from '../service-managers.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'
import { note, print, record } from '../terminal/output.ts'
import { Refusal } from '../terminal/report.ts'

interface Options extends CommonOptions {
  print?: boolean
  user?: string
  yes?: boolean
  json?: boolean
}

const managed = (): Manager => manager(process.platform, homedir(), userInfo().uid)

/** Keeps the server running across logins and restarts, with what the system has for that. */
export async function install({ print: only, user, yes, json, ...common }: Options): Promise<void> {
  const service = managed()
  const root = userInfo().uid === 0
  if (user && !root) throw new Refusal('Only root can have it run as somebody else.', 3)
  if (basename(process.execPath).startsWith('bun'))
    throw new Refusal('This runs from source. Build and install the binary first: ./install.sh')
  const config = settingsOf(common)
  requireKept(config)
  const unit = service.unit(commandOf(config), user)
  if (only) return print(json, { file: service.file, unit }, unit.trimEnd())

  const before = existsSync(service.file) ? readFileSync(service.file, 'utf8') : undefined
  if (before !== undefined && before !== unit && !yes)
    throw new Refusal(
      `${service.file} is there and says something else. See what would be written with --print; replace it with --yes.`,
      5,
    )
  const server = await runningServer(config)
  if (server && server.pid !== pidOf(service))
    throw new Refusal(
      `A server is running on ${config.DATA_DIR}${server.pid ? ` (pid ${server.pid})` : ''}. Stop it first.`,
      5,
    )
  if (user) giveFolder(config.DATA_DIR, user)
  mkdirSync(dirname(service.file), { recursive: true })
  writeFileSync(service.file, unit)
  note(`Wrote ${service.file}`)
  for (const words of service.install) run(words)
  const up = await untilUp(config)
  if (!up) throw new Refusal(`It does not come up. Look into its log: ${service.log}`, 6)
  print(
    json,
    { file: service.file, url: up.url, pid: up.pid, version: up.version },
    `It runs at ${up.url}, and will again after a restart of the machine.`,
  )
  for (const words of service.stay) tryTo(words)
  if (root && !user)
    note('It runs as root. To have it run as somebody else, install it with --user NAME and a --data-dir of theirs.')
}

export async function uninstall({ json }: { json?: boolean }): Promise<void> {
  const service = managed()
  const { file, stop, remove, forget } = service
  if (!existsSync(file)) throw new Refusal(`${file} is not there: nothing is installed.`, 4)
  for (const words of remove) run(words)
  try {
    run(stop)
  } catch (error) {
    // One that cannot even be loaded has nothing to stop.
    if (pidOf(service)) throw error
  }
  rmSync(file)
  for (const words of forget) run(words)
  print(json, { file, removed: true }, `Stopped it and removed ${file}. The data is untouched.`)
}

export async function status({ json, ...common }: CommonOptions & { json?: boolean }): Promise<void> {
  const service = managed()
  const installed = existsSync(service.file)
  const pid = installed ? pidOf(service) : undefined
  const server = await runningServer(settingsOf(common))
  const own = pid !== undefined && server?.pid === pid ? server : undefined
  const found = {
    installed,
    running: pid !== undefined,
    file: installed ? service.file : null,
    pid: pid ?? null,
    version: own?.version ?? null,
    url: own?.url ?? null,
  }
  print(
    json,
    found,
    ...(installed ? record({ ...found, installed: 'yes', running: found.running ? 'yes' : 'no' }) : []),
  )
  if (!installed) throw new Refusal('It is not installed as a service. Install it: tutti service install', 4)
  if (!found.running) throw new Refusal(`It does not run. Its log: ${service.log}`, 6)
}

/** For `tutti upgrade`: the service, if it is the one that serves. */
export async function serviceOf(pid: number | undefined) {
  const service = managed()
  if (pid === undefined || !existsSync(service.file) || pidOf(service) !== pid) return undefined
  return {
    stop: () => run(service.stop),
    start: () => run(service.start),
    log: service.log,
  }
}

/** Waits until the server answers to its owner, as a version if told. */
export async function untilUp(config: Config, version?: string, seconds = 60) {
  const deadline = Date.now() + seconds * 1000
  while (Date.now() < deadline) {
    const server = await runningServer(config)
    if (server?.url && (!version || server.version === version)) return server
    await Bun.sleep(200)
  }
  return undefined
}

function commandOf(config: Config): string[] {
  const given = (name: 'HOST' | 'PORT') =>
    config.sources[name] === 'option' || config.sources[name] === 'environment' ? String(config[name]) : undefined
  const words = [process.execPath, 'serve', '--data-dir', config.DATA_DIR]
  if (config.file && config.file !== join(config.DATA_DIR, 'config.env')) words.push('--config', config.file)
  for (const [option, value] of [
    ['--host', given('HOST')],
    ['--port', given('PORT')],
  ] as const)
    if (value) words.push(option, value)
  if (words.some((word) => /\p{Cc}/u.test(word)))
    throw new Refusal('The paths hold characters that no unit can name. Choose others.')
  return words
}

/** A unit is no place for passwords, and a service that comes up without its DATABASE_URL comes up empty. */
function requireKept({ sources, DATA_DIR }: Config): void {
  const inUnit = new Set(['HOST', 'PORT', 'DATA_DIR'])
  const lost = (Object.keys(settings) as (keyof typeof settings)[]).filter(
    (name) => sources[name] === 'environment' && !inUnit.has(name),
  )
  if (lost.length > 0)
    throw new Refusal(
      `A service does not have the environment of this shell, which sets ${lost.join(', ')}. Write ${lost.length > 1 ? 'them' : 'it'} as KEY=VALUE into ${join(DATA_DIR, 'config.env')} (chmod 600), unset ${lost.length > 1 ? 'them' : 'it'} here, and run this again.`,
    )
}

/** A folder that is not there yet is made for whoever will own it. */
function giveFolder(path: string, user: string): void {
  const [uid, gid] = ['-u', '-g'].map((what) => Number(run(['id', what, user]))) as [number, number]
  if (!existsSync(path)) {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    chownSync(path, uid, gid)
  }
  if (statSync(path).uid !== uid)
    throw new Refusal(`${path} does not belong to ${user}. Give it to them: chown -R ${user} '${path}'`, 3)
}

const pidOf = ({ pid }: Manager): number | undefined => {
  const { exitCode, stdout } = Bun.which(pid[0] as string) ? Bun.spawnSync(pid) : { exitCode: 1, stdout: '' }
  return exitCode === 0
    ? Number(/\b(?:MainPID=|pid = )([1-9]\d*)/.exec(stdout.toString())?.[1]) || undefined
    : undefined
}

function run(words: readonly string[]): string {
  const [name] = words as [string]
  if (!Bun.which(name))
    throw new Refusal(
      `${name} is not on this machine. Start the server another way; what would be written shows: tutti service install --print`,
      6,
    )
  const { exitCode, stdout, stderr } = Bun.spawnSync([...words])
  if (exitCode !== 0) throw new Refusal(`${words.join(' ')} failed: ${stderr.toString().trim()}`, 6)
  return stdout.toString()
}

function tryTo(words: readonly string[]): void {
  try {
    run(words)
  } catch {
    console.error(`tutti: It ends when you sign out, unless an administrator runs: ${words.join(' ')}`)
  }
}
