import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as V1Http } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import type { TunnelAction } from '../../src/features/tunnels/actions/action-schema.ts'
import type { Tunnel } from '../../src/features/tunnels/schema.ts'
import type { MachineConfig } from '../../src/tunnel/machine-config.ts'
import { apiKey, call, mcpToken, member, type Person, person, type TestApp, testApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { Program } from './grants-support.ts'
import { watch } from './support.ts'
import { type ConnectedMachine, connectMachine } from './tunnel-support.ts'

const script = join(import.meta.dir, '../tunnel/mcp-server.ts')
const program = (name: string) => [process.execPath, script, name]
const patiently = { timeout: 300_000 }

let t: TestApp
let owner: Person
let colleague: Person
let viewer: Person
let stranger: Person
let machine: ConnectedMachine
let local: ReturnType<typeof Bun.serve>
const folder = mkdtempSync(join(tmpdir(), 'tutti-mcp-'))
/** What the server `slow` was asked for. */
const log = join(folder, 'log')

beforeAll(async () => {
  t = watch(await testApp({ TUNNEL_PORT: '0' }))
  owner = await person(t)
  colleague = await member(t, owner, 'member')
  viewer = await member(t, owner, 'viewer')
  stranger = await person(t)
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'over http', version: '1' })
    server.registerTool('add', { description: 'adds' }, () => ({ content: [{ type: 'text', text: '42' }] }))
    server.registerTool('hidden', { description: 'hides' }, () => ({ content: [{ type: 'text', text: 'secret' }] }))
    return server
  })
  local = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => handler.fetch(request) })
  const mcp: MachineConfig['mcp'] = {
    mine: { argv: program('mine'), env: { GIVEN: '1' } },
    team: { argv: program('team'), who: ['members'], tools: ['echo', 'progress'] },
    web: { url: `http://127.0.0.1:${local.port}/mcp`, tools: ['add'], who: ['members'] },
    slow: { argv: [...program('slow'), log] },
    broken: { argv: ['/no/such/program'] },
  }
  machine = await connectMachine(t, owner, { mcp, access: 'organization', options: { env: { FROM_AGENT: '1' } } })
})
afterAll(async () => {
  await machine.stop()
  await local.stop(true)
  await t.close()
  rmSync(folder, { recursive: true, force: true })
})

const address = (server: string, slug = machine.tunnel.slug) => `${t.url}/mcp/tunnels/${slug}/${server}`
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function connected(server: string, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(address(server)), {
    requestInit: { headers: bearer(token) },
  })
  await client.connect(transport, patiently)
  return client
}
const names = async (client: Client) => (await client.listTools(undefined, patiently)).tools.map(({ name }) => name)
const textOf = (result: object) => (result as { content: { text: string }[] }).content[0]?.text

describe('an agent with a tunneled MCP server', () => {
  test('lists and calls the tools of a program on another machine, and leaves an entry for each call', async () => {
    const token = await mcpToken(t, owner)
    const client = await connected('mine', token)
    expect(client.getServerVersion()?.name).toBe('mine')
    expect(await names(client)).toEqual(['echo', 'environment', 'progress', 'end', 'secret'])
    const said = await client.callTool({ name: 'echo', arguments: { say: 'grüße' } }, patiently)
    expect(textOf(said)).toBe('grüße')
    const seen = textOf(await client.callTool({ name: 'environment', arguments: {} }, patiently)) ?? ''
    // Nothing of the environment of whoever runs the agent.
    expect(seen.split(' ').filter((name) => !/^(BUN|JSC)_/.test(name))).toEqual(['FROM_AGENT', 'GIVEN'])
    const [row] = (
      await t.app.driver.query(
        `select data::text from events where type = 'tunnel.tool_called' and subject_id = $1 order by at limit 1`,
        [machine.tunnel.id],
      )
    ).rows
    expect(JSON.parse(String(row?.[0]))).toMatchObject({ server: 'mine', tool: 'echo', slug: machine.tunnel.slug })
    expect(JSON.stringify(row)).not.toContain('grüße')
    await client.close()
  })

  test('that uses the first generation of the client receives progress during a call', async () => {
    const client = new V1Client({ name: 'test', version: '1' })
    const transport = new V1Http(new URL(address('team')), {
      requestInit: { headers: bearer(await mcpToken(t, colleague)) },
    })
    await client.connect(transport, patiently)
    expect((await client.listTools(undefined, patiently)).tools.map(({ name }) => name)).toEqual(['echo', 'progress'])
    const heard: number[] = []
    await client.callTool({ name: 'progress', arguments: {} }, undefined, {
      ...patiently,
      onprogress: ({ progress }) => heard.push(progress),
    })
    expect(heard).toEqual([1])
    await transport.terminateSession()
    await client.close()
  })

  test('sees and calls only the tools that the machine allows', async () => {
    const token = await mcpToken(t, colleague)
    for (const [server, allowed, other] of [
      ['team', ['echo', 'progress'], 'secret'],
      ['web', ['add'], 'hidden'],
    ] as const) {
      const client = await connected(server, token)
      expect(await names(client)).toEqual([...allowed])
      await expect(client.callTool({ name: other, arguments: {} }, patiently)).rejects.toThrow(`Unknown tool: ${other}`)
      expect(client.getServerCapabilities()?.resources).toBeUndefined()
      await client.close()
    }
    const web = await connected('web', token)
    expect(textOf(await web.callTool({ name: 'add', arguments: {} }, patiently))).toBe('42')
    await web.close()
  })

  test('has a process of its own for each session, which ends with it', async () => {
    const token = await mcpToken(t, owner)
    const [one, two] = await Promise.all([connected('mine', token), connected('mine', token)])
    const pid = async (client: Client) =>
      Number(
        textOf(await client.callTool({ name: 'echo', arguments: {} }, patiently))
          ?.split(' ')
          .at(-1),
      )
    const [first, second] = [await pid(one), await pid(two)]
    expect(first).not.toBe(second)
    const transport = one.transport as StreamableHTTPClientTransport
    const { sessionId } = transport
    await transport.terminateSession()
    await one.close()
    await until(() => !isAlive(first))
    expect(isAlive(second)).toBe(true)
    // A session that has ended, or is somebody else's, does not exist.
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const ask = (who: string, id: string | undefined) =>
      call(t, 'POST', new URL(address('mine')).pathname, ping, { ...bearer(who), 'mcp-session-id': id ?? '' })
    expect((await ask(token, sessionId)).status).toBe(404)
    expect((await ask(token, (two.transport as StreamableHTTPClientTransport).sessionId)).status).toBe(200)
    // A server that ends during a call is an error of that call, not a call without an end.
    await expect(two.callTool({ name: 'end', arguments: {} }, patiently)).rejects.toThrow('The server has ended')
    await two.close()
  })
})

test('results of tunneled tools are marked as foreign text, whatever the server says', async () => {
  const ask = (type: string, params: object) =>
    owner.fetch<TunnelAction>('POST', `/api/tunnels/${machine.tunnel.id}/actions?wait=25`, { type, params })
  const source = { kind: 'mcp_server', author: `mine on ${machine.tunnel.slug}`, trust: 'other' }
  const listed = (await ask('list_tools', { server: 'mine' })).body
  expect(listed).toMatchObject({ state: 'succeeded', result: { _source: source } })
  const called = (await ask('call_tool', { server: 'mine', tool: 'echo', arguments: { say: 'hi', source: true } })).body
  expect(called.result).toMatchObject({ content: [{ text: 'hi' }], _source: source })
  const seen = await owner.fetch<TunnelAction>('GET', `/api/tunnels/${machine.tunnel.id}/actions/${called.id}`)
  expect(seen.body.result).toMatchObject({ _source: source })
  const past = await owner.fetch<{ items: TunnelAction[] }>('GET', `/api/tunnels/${machine.tunnel.id}/actions/history`)
  for (const { result } of past.body.items) expect(result ?? { _source: source }).toMatchObject({ _source: source })
})

test('cancelling a tunneled call as an action stops it at the MCP server', async () => {
  const path = `/api/tunnels/${machine.tunnel.id}/actions`
  const ask = (body: object, query = '') => owner.fetch<TunnelAction>('POST', `${path}${query}`, body)
  const said = async () => ((await Bun.file(log).exists()) ? (await Bun.file(log).text()).split('\n') : [])
  const { id } = (await ask({ type: 'call_tool', params: { server: 'slow', tool: 'hang' } })).body
  await until(async () => (await said()).includes('tools/call'))
  expect((await ask({ type: 'cancel', params: { actionId: id } }, '?wait=25')).body.state).toBe('succeeded')
  await until(async () => (await said()).includes('notifications/cancelled'))
  const { body } = await until(async () => {
    const found = await owner.fetch<TunnelAction>('GET', `${path}/${id}`)
    return found.body.finishedAt !== null && found
  })
  expect(body.state).toBe('cancelled')
  // The server goes on with others.
  const again = await ask({ type: 'call_tool', params: { server: 'slow', tool: 'echo' } }, '?wait=25')
  expect(again.body.state).toBe('succeeded')
})

describe('access to a tunneled MCP server', () => {
  const hello = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  }
  const tried = async (token: string | undefined, server = 'mine', slug = machine.tunnel.slug) => {
    const headers = { accept: 'application/json, text/event-stream', ...(token && bearer(token)) }
    const answer = await call(t, 'POST', `/mcp/tunnels/${slug}/${server}`, hello, headers)
    return answer
  }

  test('needs an MCP token with the scope, and the toolset if the token is restricted', async () => {
    const bare = await tried(undefined)
    expect([bare.status, bare.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="tutti"'])
    expect((await tried(owner.token)).status).toBe(401)
    expect((await tried(await apiKey(t, owner))).status).toBe(401)
    expect((await tried(await mcpToken(t, owner, { scopes: ['tasks:write'] }))).status).toBe(403)
    expect((await tried(await mcpToken(t, owner, { scopes: ['tunnels:read'] }))).status).toBe(403)
    expect((await tried(await mcpToken(t, owner, { toolsets: ['core'] }))).status).toBe(403)
    expect((await tried(await mcpToken(t, owner, { scopes: ['tunnels:write'] }))).status).toBe(200)
    expect((await tried(await mcpToken(t, owner, { toolsets: ['core', 'tunnels'] }))).status).toBe(200)
  })

  test('is part of the permission of a program, until it is withdrawn', async () => {
    const program = await Program.registered(t)
    const { access_token: full } = await program.tokens(owner, { scopes: ['tunnels:write'] })
    const { access_token: narrow } = await program.tokens(owner, { scopes: ['tasks:write'] })
    expect([(await tried(full)).status, (await tried(narrow)).status]).toEqual([200, 403])
    const client = await connected('mine', full)
    expect(textOf(await client.callTool({ name: 'echo', arguments: { say: 'granted' } }, patiently))).toBe('granted')
    const { items } = (await owner.fetch<{ items: { id: string }[] }>('GET', '/api/settings/grants')).body
    for (const { id } of items) await owner.fetch('DELETE', `/api/settings/grants/${id}`)
    expect((await tried(full)).status).toBe(401)
    await client.close().catch(() => undefined)
  })

  test('needs the consent of both the tunnel and the machine', async () => {
    const [mine, theirs, seen, foreign] = await Promise.all([
      mcpToken(t, owner),
      mcpToken(t, colleague),
      mcpToken(t, viewer),
      mcpToken(t, stranger),
    ])
    expect((await tried(theirs)).status).toBe(403)
    expect((await tried(seen, 'team')).status).toBe(403)
    expect((await tried(foreign, 'team')).status).toBe(404)
    expect((await tried(mine, 'nothing')).status).toBe(404)
    expect((await tried(mine, 'mine', 'no-such')).status).toBe(404)
    await owner.fetch('PUT', `/api/tunnels/${machine.tunnel.id}`, { access: 'private' })
    expect((await tried(theirs, 'team')).status).toBe(403)
    await owner.fetch('PUT', `/api/tunnels/${machine.tunnel.id}`, { access: 'organization', paused: true })
    expect((await tried(mine)).status).toBe(503)
    await owner.fetch('PUT', `/api/tunnels/${machine.tunnel.id}`, { paused: false })
    // The program of a server that cannot be started.
    expect((await tried(mine, 'broken')).body).toMatchObject({ error: { message: 'The server has ended.' } })
  })

  test('is listed with the addresses of the servers, and no answer can be a page of this server', async () => {
    const seen = (await owner.fetch<Tunnel>('GET', `/api/tunnels/${machine.tunnel.id}`)).body
    expect(seen.mcpServers).toContainEqual({
      name: 'team',
      who: ['members'],
      url: `${t.app.url}/mcp/tunnels/${machine.tunnel.slug}/team`,
    })
    const { headers } = await tried(await mcpToken(t, owner))
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    const page = await fetch(address('mine'), { headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('content-security-policy')?.includes('default-src')]).not.toContain(200)
    expect((await fetch(address('mine'), { method: 'PUT', headers: bearer(await mcpToken(t, owner)) })).status).toBe(
      405,
    )
  })
})

test('a person speaks JSON-RPC with a tunneled server over a WebSocket', async () => {
  const { ticket } = (await owner.fetch<{ ticket: string }>('POST', '/api/ws/ticket')).body
  const base = `${t.url.replace('http', 'ws')}/api/tunnels/${machine.tunnel.slug}/ws`
  const socket = new WebSocket(`${base}?mcp=mine&ticket=${ticket}`)
  const got: Record<string, unknown>[] = []
  const closed = Promise.withResolvers<number>()
  socket.onmessage = ({ data }) => got.push(JSON.parse(String(data)))
  socket.onclose = ({ code }) => closed.resolve(code)
  await new Promise((resolve) => {
    socket.onopen = resolve
  })
  const ask = async (id: number, method: string, params: object) => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return until(() => got.find((message) => message.id === id))
  }
  const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  expect(await ask(1, 'initialize', initialize)).toMatchObject({ result: { serverInfo: { name: 'mine' } } })
  expect(await ask(2, 'tools/call', { name: 'echo', arguments: { say: 'hi' } })).toMatchObject({
    result: { content: [{ text: 'hi' }] },
  })
  socket.send('not json')
  await until(() => got.find(({ error }) => (error as { code?: number } | undefined)?.code === -32_700))
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'end' } }))
  expect(await closed.promise).toBe(1000)
  const upgrade = { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '13' }
  const tried = async (who: Person, query: string) =>
    (await who.fetch('GET', `/api/tunnels/${machine.tunnel.id}/ws?${query}`, undefined, upgrade)).status
  expect(await tried(owner, '')).toBe(422)
  expect(await tried(owner, 'mcp=mine&service=web')).toBe(422)
  expect(await tried(owner, 'mcp=nothing')).toBe(403)
  expect(await tried(colleague, 'mcp=mine')).toBe(403)
})

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
