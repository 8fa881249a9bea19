import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type Config, settings } from '../../../src/config.ts'
import { findRunningServer } from '../../../src/control/client.ts'
import { readMachine } from '../../api/tunnel-config.ts'
import { findRunningTunnel } from '../../api/tunnel-control.ts'
import { type ServiceKind, type ServiceManager, serviceManager } from '../../operating/service-managers.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { environmentOfTunnel } from '../../terminal/environment.ts'
import { printNote, printResult, recordLines } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'

interface Options extends CommonOptions {
  print?: boolean
  user?: string
  yes?: boolean
  json?: boolean
}

const currentManager = (what?: ServiceKind): ServiceManager =>
  serviceManager(process.platform, homedir(), userInfo().uid, what)

/** Registers the server with the system's service manager, which starts it now and after every restart. */
export async function installServer({ print: printOnly, user, yes, json, ...common }: Options): Promise<void> {
  const service = currentManager()
  const root = userInfo().uid === 0
  if (user && !root) throw new Refusal('Only root can run the service as another user.', 3)
  if (basename(process.execPath).startsWith('bun'))
    throw new Refusal('This command runs from source. Build and install the binary first: ./install.sh')
  const config = loadSettings(common)
  requireStoredSettings(config)
  const unit = service.unit(serveCommand(config), user)
  if (printOnly) return printResult(json, { file: service.file, unit }, unit.trimEnd())

  requireSameUnit(service, unit, yes)
  const server = await findRunningServer(config)
  if (server && server.pid !== pidOf(service))
    throw new Refusal(
      `A server is running on ${config.DATA_DIR}${server.pid ? ` (pid ${server.pid})` : ''}. Stop it first.`,
      5,
    )
  if (user) requireOwnFolder(config.DATA_DIR, user)
  writeUnit(service, unit)
  const up = await waitForServer(config)
  if (!up) throw new Refusal(`The server does not start. Check its log: ${service.log}`, 6)
  printResult(
    json,
    { file: service.file, url: up.url, pid: up.pid, version: up.version },
    `The server is running at ${up.url}, and starts again whenever this computer does.`,
  )
  for (const words of service.stay) tryCommand(words)
  if (root && !user)
    printNote(
      'The server runs as root. ' +
        'To run it as another user, install it with --user NAME and a --data-dir that belongs to them.',
    )
}

/** Registers the tunnel of this machine, with the file that `tutti tunnel up` has written. */
export async function installTunnel({
  print: printOnly,
  yes,
  json,
}: Pick<Options, 'print' | 'yes' | 'json'>): Promise<void> {
  const service = currentManager('tunnel')
  if (basename(process.execPath).startsWith('bun'))
    throw new Refusal('This command runs from source. Build and install the binary first: ./install.sh')
  if (!readMachine())
    throw new Refusal('This machine has no tunnel yet. Connect it once: tutti tunnel up --http web=3000')
  const unit = service.unit([process.execPath, 'tunnel', 'up'], undefined, environmentOfTunnel())
  if (printOnly) return printResult(json, { file: service.file, unit }, unit.trimEnd())
  requireSameUnit(service, unit, yes)
  const other = await findRunningTunnel()
  if (other && other.pid !== pidOf(service))
    throw new Refusal(
      `A tunnel is already running on this machine (pid ${other.pid}). Stop it first: tutti tunnel down`,
      5,
    )
  writeUnit(service, unit)
  const up = await waitForTunnel(service)
  if (!up) throw new Refusal(`The tunnel does not start. Check its log: ${service.log}`, 6)
  printResult(
    json,
    { file: service.file, tunnel: up.slug, pid: up.pid, online: up.online },
    up.online
      ? `${up.slug} is online, and connects again whenever this computer starts.`
      : `${up.slug} is running, but has not reached its server yet. It tries again by itself. Its log: ${service.log}`,
  )
  for (const words of service.stay) tryCommand(words)
}

/** Waits until the service has started, and for a while longer until it has reached its server. */
async function waitForTunnel(service: ServiceManager) {
  const deadline = Date.now() + 30_000
  for (;;) {
    const tunnel = await findRunningTunnel()
    const own = tunnel?.pid === pidOf(service) ? tunnel : undefined
    if (own?.online || Date.now() > deadline) return own
    await Bun.sleep(100)
  }
}

function requireSameUnit({ file }: ServiceManager, unit: string, yes: boolean | undefined): void {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  if (before !== undefined && before !== unit && !yes)
    throw new Refusal(
      `${file} already exists with other content. See the new content with --print; replace the file with --yes.`,
      5,
    )
}

/** Writes the unit file, and starts the service. */
function writeUnit({ file, install: commands }: ServiceManager, unit: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, unit)
  printNote(`Wrote ${file}`)
  for (const words of commands) runCommandLine(words)
}

export async function uninstallService({ json, tunnel }: { json?: boolean; tunnel?: boolean }): Promise<void> {
  const service = currentManager(tunnel ? 'tunnel' : 'server')
  const { file, stop, remove, forget } = service
  if (!existsSync(file)) throw new Refusal(`The service is not installed: ${file} does not exist.`, 4)
  for (const words of remove) runCommandLine(words)
  try {
    runCommandLine(stop)
  } catch (error) {
    // A unit that cannot be loaded is not running.
    if (pidOf(service)) throw error
  }
  rmSync(file)
  for (const words of forget) runCommandLine(words)
  printResult(json, { file, removed: true }, `Stopped the service and removed ${file}. The data is unchanged.`)
}

export async function showServiceStatus({ json, ...common }: CommonOptions & { json?: boolean }): Promise<void> {
  const service = currentManager()
  const installed = existsSync(service.file)
  const pid = installed ? pidOf(service) : undefined
  const server = await findRunningServer(loadSettings(common))
  const own = pid !== undefined && server?.pid === pid ? server : undefined
  const found = {
    installed,
    running: pid !== undefined,
    file: installed ? service.file : null,
    pid: pid ?? null,
    version: own?.version ?? null,
    url: own?.url ?? null,
  }
  printResult(
    json,
    found,
    ...(installed ? recordLines({ ...found, installed: 'yes', running: found.running ? 'yes' : 'no' }) : []),
  )
  if (!installed) throw new Refusal('The service is not installed. Install it: tutti service install', 4)
  if (!found.running) throw new Refusal(`The service is not running. Check its log: ${service.log}`, 6)
}

/** Returns controls of the service if it runs the server with this process id. Used by `tutti upgrade`. */
export async function findService(pid: number | undefined) {
  const service = currentManager()
  if (pid === undefined || !existsSync(service.file) || pidOf(service) !== pid) return undefined
  return {
    stop: () => runCommandLine(service.stop),
    start: () => runCommandLine(service.start),
    log: service.log,
  }
}

/** Waits until the server responds on its control socket, and has this version if one is given. */
export async function waitForServer(config: Config, version?: string, seconds = 60) {
  const deadline = Date.now() + seconds * 1000
  while (Date.now() < deadline) {
    const server = await findRunningServer(config)
    if (server?.url && (!version || server.version === version)) return server
    await Bun.sleep(200)
  }
  return undefined
}

function serveCommand(config: Config): string[] {
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
    throw new Refusal('A path contains control characters, which unit files do not support. Choose another path.')
  return words
}

/**
 * Refuses settings that are only in the environment: a service does not inherit them, and would start on another
 * database without DATABASE_URL. They are not copied to the unit file, which others can read.
 */
function requireStoredSettings({ sources, DATA_DIR }: Config): void {
  const inUnit = new Set(['HOST', 'PORT', 'DATA_DIR'])
  const lost = (Object.keys(settings) as (keyof typeof settings)[]).filter(
    (name) => sources[name] === 'environment' && !inUnit.has(name),
  )
  if (lost.length === 0) return
  const them = lost.length > 1 ? 'them' : 'it'
  throw new Refusal(
    `A service does not inherit the environment of this shell, which sets ${lost.join(', ')}. ` +
      `Write ${them} as KEY=VALUE to ${join(DATA_DIR, 'config.env')} (chmod 600), ` +
      `unset ${them} here, and run this again.`,
  )
}

/** Creates a missing data folder for its future owner, and refuses one that belongs to someone else. */
function requireOwnFolder(path: string, user: string): void {
  const [uid, gid] = ['-u', '-g'].map((what) => Number(runCommandLine(['id', what, user]))) as [number, number]
  if (!existsSync(path)) {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    chownSync(path, uid, gid)
  }
  if (statSync(path).uid !== uid)
    throw new Refusal(`${path} does not belong to ${user}. Change its owner: chown -R ${user} '${path}'`, 3)
}

const pidOf = ({ pid }: ServiceManager): number | undefined => {
  const { exitCode, stdout } = Bun.which(pid[0] as string) ? Bun.spawnSync(pid) : { exitCode: 1, stdout: '' }
  return exitCode === 0
    ? Number(/\b(?:MainPID=|pid = )([1-9]\d*)/.exec(stdout.toString())?.[1]) || undefined
    : undefined
}

function runCommandLine(words: readonly string[]): string {
  const [name] = words as [string]
  if (!Bun.which(name))
    throw new Refusal(
      `${name} was not found. Start the server another way; to see the unit file: tutti service install --print`,
      6,
    )
  const { exitCode, stdout, stderr } = Bun.spawnSync([...words])
  if (exitCode !== 0) throw new Refusal(`${words.join(' ')} failed: ${stderr.toString().trim()}`, 6)
  return stdout.toString()
}

function tryCommand(words: readonly string[]): void {
  try {
    runCommandLine(words)
  } catch {
    console.error(`tutti: The server stops when you sign out, unless an administrator runs: ${words.join(' ')}`)
  }
}
