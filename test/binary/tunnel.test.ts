import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tunnel, TunnelRegistered } from '../../src/features/tunnels/schema.ts'
import type { MachineConfig } from '../../src/tunnel/machine-config.ts'
import { BINARY, bareEnv, freePort, onTerminal, tutti } from '../support/binary.ts'
import { Home, Office } from './home.ts'

/** `tutti tunnel` with the built program: a machine, its service, and its users. */
let office: Office
let home: Home
let key: string
let service: ReturnType<typeof Bun.serve>
const port = freePort()
/** The service has got a request that it never responds to. */
const held = Promise.withResolvers<void>()

beforeAll(async () => {
  office = await Office.open({ TUNNEL_PORT: String(port), EMBEDDINGS: 'off' })
  home = new Home(office)
  key = await office.key()
  expect((await tutti(['login', office.url, '--with-token'], { env: home.env, stdin: key })).code).toBe(0)
  service = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request, server) {
      const { pathname } = new URL(request.url)
      if (pathname === '/held') return new Promise<Response>(() => held.resolve())
      const headers = { 'sec-websocket-protocol': 'second' }
      if (pathname === '/socket' && server.upgrade(request, { data: undefined, headers })) return undefined
      return new Response('from the machine')
    },
    websocket: {
      message(socket, message) {
        if (message === 'bye') socket.close(4321, 'as asked')
        else socket.send(message)
      },
    },
  })
}, 300_000)
afterAll(async () => {
  await service.stop(true)
  office.server.kill()
})

test('a tunnel connects, serves, and can be listed, changed and deleted', async () => {
  const { run } = home
  expect((await run('tunnel', 'list')).err).toContain('Connect this machine: tutti tunnel up --http web=3000')
  expect((await run('tunnel', 'add', 'api=8080')).err).toContain('This machine has no tunnel yet.')

  const child = up('--name', 'Build machine', '--http', `web=${service.port}`)
  const lines = linesOf(child.stdout)
  expect(await lines.next()).toEqual({ state: 'online', tunnel: 'build-machine' })
  const url = `http://web--build-machine.localhost:${port}`
  expect(await lines.next()).toEqual({ services: [{ name: 'web', url }] })
  const file = join(home.env.XDG_CONFIG_HOME, 'tutti', 'tunnel.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)

  const opened = await fetch(`http://127.0.0.1:${port}/t/build-machine/web/hello`, {
    headers: { 'tutti-authorization': `Bearer ${key}` },
  })
  expect([opened.status, await opened.text()]).toEqual([200, 'from the machine'])
  expect(await lines.next()).toMatchObject({ service: 'web', target: '/hello', status: 200, user: 'grace@example.com' })

  expect((await run('tunnel', 'list')).out).toMatch(/^build-machine +Build machine +online +private +web +/m)
  expect((await onTerminal(['tunnel', 'status', 'build-machine'], { env: home.env })).shown).toContain('Build machine')
  expect((await run('tunnel', 'status', 'build-machine')).out).toMatch(
    /web {2}http:\/\/web--build-machine\.localhost:\d+ {2}for owner/,
  )
  expect((await run('tunnel', 'update', 'build-machine', '--pause', '--access', 'organization')).out).toBe(
    'Updated build-machine.\n',
  )
  const { body } = await office.api<Tunnel>('GET', '/api/tunnels/build-machine')
  expect(body).toMatchObject({ paused: true, access: 'organization', status: 'online' })

  expect((await run('tunnel', 'add', 'api=8080', '--who', 'members')).out).toContain('Added api')
  chmodSync(file, 0o644)
  expect((await run('tunnel', 'add', 'api=8080')).err).toContain(`Run: chmod 600 ${file}`)
  expect((await run('tunnel', 'add', 'evil=http://10.0.0.1:80')).code).not.toBe(0)

  expect((await run('tunnel', 'rm', 'build-machine')).out).toContain('Deleted build-machine.')
  expect(await child.exited).not.toBe(0)
  expect(await new Response(child.stderr).text()).toContain('refused the credential')
  rmSync(file)
}, 300_000)

test('a tunnel runs commands, opens services locally, and shows its log', async () => {
  const { run } = home
  const port2 = freePort()
  const child = up('--name', 'Workshop', '--http', `web=${service.port}`)
  const lines = linesOf(child.stdout)
  expect(await lines.next()).toEqual({ state: 'online', tunnel: 'workshop' })
  const file = join(home.env.XDG_CONFIG_HOME, 'tutti', 'tunnel.json')
  expect((await run('tunnel', 'down')).out).toBe('Stopped the tunnel of this machine.\n')
  expect(await child.exited).toBe(0)
  expect((await run('tunnel', 'logs')).err).toContain('No tunnel is running on this machine.')
  const offline = 'workshop is offline, last seen just now. Connect it: run "tutti tunnel up" on its machine.'
  const opening = await run('tunnel', 'open', 'workshop/web')
  expect([opening.code, opening.err]).toEqual([6, expect.stringContaining(offline)])
  expect((await run('tunnel', 'run', 'workshop')).err).toContain(offline)

  const machine = JSON.parse(readFileSync(file, 'utf8')) as MachineConfig
  const params = { name: { type: 'string' as const }, times: { type: 'integer' as const, optional: true } }
  machine.commands = {
    greet: { description: 'Greet somebody', argv: ['echo', 'hello', '{name}', '{times}'], folder: '/tmp', params },
    fail: { argv: ['sh', '-c', 'echo no; exit 7'], folder: '/tmp' },
    careful: { argv: ['echo', 'sure'], folder: '/tmp', confirm: true },
  }
  machine.mcp = { local: { argv: [process.execPath, join(import.meta.dir, '../tunnel/mcp-server.ts')] } }
  writeFileSync(file, JSON.stringify(machine), { mode: 0o600 })
  const again = up()
  const said = linesOf(again.stdout)
  expect(await said.next()).toEqual({ state: 'online', tunnel: 'workshop' })
  expect(await said.next()).toMatchObject({ services: [{ name: 'web' }] })
  expect((await run('tunnel', 'up')).err).toContain('A tunnel is already running on this machine.')

  expect((await run('tunnel', 'run', 'workshop')).out).toContain('greet  Greet somebody\n')
  expect(await run('tunnel', 'run', 'workshop', 'greet', 'name=Ada Lovelace', 'times=2')).toMatchObject({
    code: 0,
    out: 'hello Ada Lovelace 2\n',
  })
  expect(await said.next()).toMatchObject({ type: 'run_command', state: 'succeeded', user: 'grace@example.com' })
  expect(await run('tunnel', 'run', 'workshop', 'fail')).toMatchObject({ code: 7, out: 'no\n' })
  await said.next()
  expect((await run('tunnel', 'run', 'workshop', 'greet', 'name=-x')).code).toBe(3)
  await said.next()
  expect((await run('tunnel', 'run', 'workshop', 'nothing')).err).toContain('Its commands: greet, fail, careful.')
  const listed = await run('tunnel', 'tools', 'workshop/local')
  const { tools } = JSON.parse(listed.out) as { tools: { name: string }[] }
  expect(tools.map(({ name }) => name)).toContain('echo')
  await said.next()
  expect((await run('tunnel', 'call', 'workshop/local', 'echo', 'say=hello there')).out).toContain('hello there')
  await said.next()
  expect((await run('tunnel', 'tools', 'workshop/nothing')).code).not.toBe(0)
  await said.next()

  const asked = run('tunnel', 'run', 'workshop', 'careful')
  const { confirm } = (await said.next()) as { confirm: string }
  expect((await run('tunnel', 'confirm')).out).toBe(`${confirm}  grace@example.com  echo sure\n`)
  expect((await run('tunnel', 'confirm', confirm)).out).toBe('Allowed.\n')
  expect(await asked).toMatchObject({ code: 0, out: 'sure\n' })
  await said.next()

  const opener = Bun.spawn([BINARY, 'tunnel', 'open', 'workshop/web', '--json', '--port', String(port2)], {
    env: { ...bareEnv, ...home.env },
    stdout: 'pipe',
  })
  expect(await linesOf(opener.stdout).next()).toMatchObject({ url: `http://127.0.0.1:${port2}`, service: 'web' })
  const here = (headers: Record<string, string> = {}) => fetch(`http://127.0.0.1:${port2}/a?b=1`, { headers })
  expect(await (await here()).text()).toBe('from the machine')
  expect((await here({ origin: 'https://evil.example.com' })).status).toBe(403)
  expect((await here({ 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  expect((await here({ host: 'evil.example.com' })).status).toBe(403)
  expect(await said.next()).toMatchObject({ target: '/a?b=1', status: 200 })
  expect(await spoken(`ws://127.0.0.1:${port2}/socket`)).toEqual(['second', 'hello', '900000 bytes', 4321, 'as asked'])
  expect(await said.next()).toMatchObject({ target: '/socket', status: 101 })
  // What the service refuses is refused here too, and no page of elsewhere gets in.
  expect(await spoken(`ws://127.0.0.1:${port2}/a`)).toEqual([1006])
  expect(await spoken(`ws://127.0.0.1:${port2}/socket`, { origin: 'https://evil.example.com' })).toEqual([1006])
  opener.kill()

  expect((await run('tunnel', 'logs')).out).toMatch(/^1 .* web {2}GET \/a\?b=1 {2}200 /)
  expect((await run('tunnel', 'replay', '1')).out).toBe('200\nfrom the machine\n')
  expect((await run('tunnel', 'replay', '99')).code).toBe(4)
  const unit = await run('service', 'install', '--tunnel', '--print')
  expect(unit.out).toContain('"tunnel" "up"')

  const follower = Bun.spawn([BINARY, 'tunnel', 'logs', '--follow', '--json'], {
    env: { ...bareEnv, ...home.env },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const followed = linesOf(follower.stdout)
  expect(await followed.next()).toMatchObject({ n: 1, target: '/a?b=1' })
  expect(await followed.next()).toMatchObject({ n: 2, target: '/socket', status: 101 })
  const at = (path: string) =>
    fetch(`http://127.0.0.1:${port}/t/workshop/web${path}`, { headers: { 'tutti-authorization': `Bearer ${key}` } })
  expect((await at('/followed')).status).toBe(200)
  for (let line = await followed.next(); ; line = await followed.next())
    if ((line as { target: string }).target === '/followed') break

  // If the machine dies, waiting requests end, watchers are notified, and it can reconnect.
  const waiting = at('/held')
  await held.promise
  again.kill('SIGKILL')
  expect((await waiting).status).toBe(502)
  expect((await at('/')).status).toBe(502)
  expect(await follower.exited).toBe(0)
  expect(await new Response(follower.stderr).text()).toContain('has stopped')
  const third = up()
  expect(await linesOf(third.stdout).next()).toEqual({ state: 'online', tunnel: 'workshop' })
  expect((await at('/')).status).toBe(200)

  expect((await run('tunnel', 'down')).code).toBe(0)
  expect(await third.exited).toBe(0)

  // A command waits for a machine that is offline, and says so.
  const queued = Bun.spawn([BINARY, 'tunnel', 'run', 'workshop', 'greet', 'name=Ada'], {
    env: { ...bareEnv, ...home.env },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  expect(await textOf(queued.stderr, 'Waiting')).toContain('workshop is offline')
  const fourth = Bun.spawn([BINARY, 'tunnel', 'up', '--access', 'public'], {
    env: { ...bareEnv, ...home.env },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  expect(await new Response(queued.stdout).text()).toBe('hello Ada\n')
  expect(await queued.exited).toBe(0)
  fourth.kill('SIGINT')
  expect(await fourth.exited).toBe(0)
  const printed = await new Response(fourth.stderr).text()
  expect(printed).toContain('Use: tutti tunnel update workshop')
  expect(printed).not.toContain('The connection was lost')
  await run('tunnel', 'rm', 'workshop')
  rmSync(file)
}, 300_000)

test('tutti tunnel up --claim - reads the nonce from standard input', async () => {
  const { body } = await office.api<TunnelRegistered>('POST', '/api/tunnels/register', { name: 'Claimed' })
  const child = Bun.spawn([BINARY, 'tunnel', 'up', '--json', '--claim', '-', '--server', office.url], {
    env: { ...bareEnv, ...home.env },
    stdin: new Blob([`${body.nonce}\n`]),
    stdout: 'pipe',
  })
  expect(await linesOf(child.stdout).next()).toEqual({ state: 'online', tunnel: body.tunnel.slug })
  const words = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').split('\0')
  expect(words).toContain('--claim')
  expect(words).not.toContain(body.nonce)
  child.kill()
  await child.exited
}, 300_000)

/** Reads until this text has come. */
async function textOf(stream: ReadableStream<Uint8Array>, end: string): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true })
    if (text.includes(end)) break
  }
  return text
}

/** Speaks with a WebSocket: its subprotocol, what comes back, and how it ends. */
async function spoken(url: string, headers: Record<string, string> = {}): Promise<unknown[]> {
  const socket = new WebSocket(url, { protocols: ['first', 'second'], headers })
  socket.binaryType = 'arraybuffer'
  const said: unknown[] = []
  const closed = Promise.withResolvers<unknown[]>()
  socket.onopen = () => {
    said.push(socket.protocol)
    socket.send('hello')
    socket.send(new Uint8Array(900_000))
  }
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    said.push(typeof data === 'string' ? data : `${data.byteLength} bytes`)
    if (said.length === 3) socket.send('bye')
  }
  socket.onclose = ({ code, reason }) => closed.resolve(said.length > 0 ? [...said, code, reason] : [code])
  return closed.promise
}

const up = (...words: string[]) =>
  Bun.spawn([BINARY, 'tunnel', 'up', '--json', ...words], {
    env: { ...bareEnv, ...home.env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })

/** Reads one line of JSON after the other. */
function linesOf(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let text = ''
  return {
    async next(): Promise<unknown> {
      while (!text.includes('\n')) {
        const { done, value } = await reader.read()
        if (done) throw new Error(`ended: ${text}`)
        text += decoder.decode(value, { stream: true })
      }
      const [line = '', ...rest] = text.split('\n')
      text = rest.join('\n')
      return JSON.parse(line)
    },
  }
}
