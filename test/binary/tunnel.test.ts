import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Tunnel } from '../../src/features/tunnels/schema.ts'
import { BINARY, bareEnv, freePort, onTerminal, tutti } from '../support/binary.ts'
import { Home, Office } from './home.ts'

/** `tutti tunnel` with the built program: a machine, its service, and who opens it. */
let office: Office
let home: Home
let key: string
let service: ReturnType<typeof Bun.serve>
const port = freePort()

beforeAll(async () => {
  office = await Office.open({ TUNNEL_PORT: String(port), EMBEDDINGS: 'off' })
  home = new Home(office)
  key = await office.key()
  expect((await tutti(['login', office.url, '--with-token'], { env: home.env, stdin: key })).code).toBe(0)
  service = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('from the machine') })
}, 300_000)
afterAll(async () => {
  await service.stop(true)
  office.server.kill()
})

test('connects, serves, and is listed, changed and deleted', async () => {
  const { run } = home
  expect((await run('tunnel', 'list')).err).toContain('Connect this machine: tutti tunnel up --http web=3000')
  expect((await run('tunnel', 'add', 'api=8080')).err).toContain('This machine has no tunnel yet.')

  const child = Bun.spawn(
    [BINARY, 'tunnel', 'up', '--json', '--name', 'Build machine', '--http', `web=${service.port}`],
    {
      env: { ...bareEnv, ...home.env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  const lines = linesOf(child.stdout)
  expect(await lines.next()).toEqual({ state: 'online', tunnel: 'build-machine' })
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
}, 300_000)

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
