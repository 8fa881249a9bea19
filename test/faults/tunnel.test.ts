import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TunnelAction } from '../../src/features/tunnels/actions/action-schema.ts'
import type { TunnelClaimed, TunnelRegistered, TunnelStatus } from '../../src/features/tunnels/schema.ts'
import { TunnelAgent } from '../../src/tunnel/agent.ts'
import { apiKeyFor, folder, freePort, json, serve } from '../support/binary.ts'
import { until } from '../support/until.ts'

test('kill -9 with an open tunnel: waiting requests end, the machine reconnects, and its actions have a known result', async () => {
  const [dir, work, port, tunnelPort] = [folder(), folder(), String(freePort()), freePort()]
  const env = { TUNNEL_PORT: String(tunnelPort), EMBEDDINGS: 'off' }
  let server = await serve({ dir, env, port })
  const key = await apiKeyFor(server, env)
  const api = async <T>(method: string, path: string, body?: object, as: string | undefined = key): Promise<T> =>
    (await (await fetch(`${server.url}/api/tunnels${path}`, json(method, body, as))).json()) as T
  const { nonce, tunnel } = await api<TunnelRegistered>('POST', '/register', { name: 'Box' })
  const about = { hostname: 'box', os: 'linux', architecture: 'arm64', clientVersion: '1.0.0' }
  const claimed = await api<TunnelClaimed>('POST', '/claim', { nonce, ...about }, '')
  const held = Promise.withResolvers<void>()
  const service = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) =>
      url.endsWith('/held') ? new Promise<Response>(() => held.resolve()) : new Response('from the machine'),
  })
  const agent = new TunnelAgent({
    machine: {
      ...claimed,
      server: server.url,
      services: { web: { url: `http://127.0.0.1:${service.port}` } },
      commands: { later: { argv: ['sh', '-c', 'until [ -e go ]; do sleep 0.02; done; echo done'], folder: work } },
    },
    env: { PATH: process.env.PATH ?? '' },
    retryMs: [5, 50],
  })
  const ended = agent.run()
  const at = (path: string) =>
    fetch(`http://127.0.0.1:${tunnelPort}/t/${tunnel.slug}/web${path}`, {
      headers: { 'tutti-authorization': `Bearer ${key}` },
    })
  const isServed = async () => (await at('/').catch(() => undefined))?.status === 200
  await until(isServed)
  const { id } = await api<TunnelAction>('POST', `/${tunnel.id}/actions`, {
    type: 'run_command',
    params: { command: 'later' },
  })
  const action = () => api<TunnelAction>('GET', `/${tunnel.id}/actions/${id}`)
  await until(async () => (await action()).state === 'running')
  const status = () => api<TunnelStatus>('GET', `/${tunnel.id}/status`)
  const { generation } = await status()
  const waiting = at('/held').then(
    ({ status }) => status,
    () => 'cut',
  )
  await held.promise

  await server.kill()
  expect(await waiting).toBe('cut')
  server = await serve({ dir, env, port })
  await until(isServed)
  expect((await status()).status).toBe('online')
  expect((await status()).generation).toBeGreaterThan(generation)
  expect((await action()).state).toBe('running')
  writeFileSync(join(work, 'go'), '')
  await until(async () => (await action()).finishedAt !== null)
  expect(await action()).toMatchObject({ state: 'succeeded', output: 'done' })

  agent.stop()
  await ended
  await service.stop(true)
  expect(await server.stop()).toBe(0)
}, 300_000)
