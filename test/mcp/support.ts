import * as v2 from '@modelcontextprotocol/client'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport as V1Sse } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport as V1Http } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Rule } from '../../src/auth/policy.ts'
import { loadConfig } from '../../src/config.ts'
import { Guard } from '../../src/http/guard.ts'
import { createMcp, type Mcp } from '../../src/mcp/server.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { object, type TObject } from '../../src/schema.ts'
import type { TestApp } from '../support/app.ts'

export interface Result {
  isError?: boolean
  content: { type: string; text?: string }[]
  structuredContent?: Record<string, unknown>
}

/** Returns the facts of a result; throws what was refused. */
export function factsOf<T = Record<string, unknown>>({ isError, content, structuredContent }: Result): T {
  if (isError) throw new Error(content[0]?.text)
  return structuredContent as T
}

/** Returns the facts of a result, with the lines of a brief as one text. */
export function withBriefText<T = Record<string, unknown>>(facts: Record<string, unknown> | undefined): T {
  return (Array.isArray(facts?.brief) ? { ...facts, brief: { text: facts.brief.join('\n') } } : facts) as T
}

/** What the tests need of an official client, of either generation. */
export interface McpClient {
  readonly name: string
  readonly protocol: string | undefined
  instructions(): string | undefined
  list(): Promise<string[]>
  /** The same, whole. */
  tools(): Promise<object[]>
  call(name: string, args?: Record<string, unknown>): Promise<Result>
  onToolsChanged(tell: () => void): void
  close(): Promise<void>
}

const info = { name: 'test', version: '1' }
/** The limit of a test ends it; that of the client, a minute, would end it on a busy machine. */
const patiently = { timeout: 300_000 }
const withToken = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } })

type Connect = (base: string, token: string, query?: string) => Promise<McpClient>

async function connectV2(
  name: string,
  transport: v2.Transport,
  mode: v2.VersionNegotiationMode,
  only?: string,
): Promise<McpClient> {
  const client = new v2.Client(info, {
    versionNegotiation: { mode },
    ...(only && { supportedProtocolVersions: [only] }),
  })
  await client.connect(transport, patiently)
  return {
    name,
    protocol: client.getNegotiatedProtocolVersion(),
    instructions: () => client.getInstructions(),
    list: async () =>
      (await client.listTools(undefined, { cacheMode: 'bypass', ...patiently })).tools.map((t) => t.name),
    tools: async () => (await client.listTools(undefined, { cacheMode: 'bypass', ...patiently })).tools,
    call: async (tool, args = {}) => (await client.callTool({ name: tool, arguments: args }, patiently)) as Result,
    onToolsChanged: (tell) => client.setNotificationHandler('notifications/tools/list_changed', tell),
    close: async () => {
      if (transport instanceof v2.StreamableHTTPClientTransport) await transport.terminateSession()
      await client.close()
    },
  }
}

async function connectV1(name: string, transport: V1Sse | V1Http): Promise<McpClient> {
  const client = new V1Client(info)
  await client.connect(transport as V1Sse, patiently)
  return {
    name,
    protocol: transport instanceof V1Http ? transport.protocolVersion : undefined,
    instructions: () => client.getInstructions(),
    list: async () => (await client.listTools(undefined, patiently)).tools.map((t) => t.name),
    tools: async () => (await client.listTools(undefined, patiently)).tools,
    call: async (tool, args = {}) =>
      (await client.callTool({ name: tool, arguments: args }, undefined, patiently)) as Result,
    onToolsChanged: () => undefined,
    close: async () => {
      if (transport instanceof V1Http) await transport.terminateSession()
      await client.close()
    },
  }
}

/** Every way in that a client may take. */
export const ways: Record<string, Connect> = {
  'v2 client, SSE': (base, token, query = '') =>
    connectV2('v2 sse', new v2.SSEClientTransport(new URL(`${base}/mcp/sse${query}`), withToken(token)), 'legacy'),
  'v2 client, SSE, asking for the newest': (base, token, query = '') =>
    connectV2('v2 sse auto', new v2.SSEClientTransport(new URL(`${base}/mcp/sse${query}`), withToken(token)), 'auto'),
  'v2 client, HTTP 2025': (base, token, query = '') =>
    connectV2(
      'v2 http',
      new v2.StreamableHTTPClientTransport(new URL(`${base}/mcp${query}`), withToken(token)),
      'legacy',
    ),
  'v2 client, HTTP 2025-06-18': (base, token, query = '') =>
    connectV2(
      'v2 2025-06-18',
      new v2.StreamableHTTPClientTransport(new URL(`${base}/mcp${query}`), withToken(token)),
      'legacy',
      '2025-06-18',
    ),
  'v2 client, HTTP 2026-07-28': (base, token, query = '') =>
    connectV2('v2 modern', new v2.StreamableHTTPClientTransport(new URL(`${base}/mcp${query}`), withToken(token)), {
      pin: '2026-07-28',
    }),
  'v2 client, HTTP at the address of SSE': (base, token, query = '') =>
    connectV2(
      'v2 http at sse',
      new v2.StreamableHTTPClientTransport(new URL(`${base}/mcp/sse${query}`), withToken(token)),
      'auto',
    ),
  'v1 client, SSE': (base, token, query = '') =>
    connectV1('v1 sse', new V1Sse(new URL(`${base}/mcp/sse${query}`), withToken(token))),
  'v1 client, HTTP': (base, token, query = '') =>
    connectV1('v1 http', new V1Http(new URL(`${base}/mcp${query}`), withToken(token))),
}

// ---- the raw protocol

interface Incoming {
  jsonrpc: '2.0'
  id?: string | number
  method?: string
  result?: Result & Record<string, unknown>
  error?: { code: number; message: string }
}

export interface RawStream {
  /** Path and query that messages go to. */
  readonly endpoint: string
  readonly comments: number
  readonly first: string
  /** The answer with this id, or the first message that passes. */
  wait(match: string | number | ((m: Incoming) => boolean)): Promise<Incoming>
  post(message: unknown, token?: string): Promise<Response>
  call(id: string | number, name: string, args?: unknown): Promise<Incoming>
  /** Resolves when the server ends the stream. */
  readonly ended: Promise<void>
  abort(): void
}

export async function openRaw(base: string, token: string, query = ''): Promise<RawStream> {
  const abort = new AbortController()
  const response = await fetch(`${base}/mcp/sse${query}`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    signal: abort.signal,
  })
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  const seen: Incoming[] = []
  const waiting = new Set<() => void>()
  const state = { comments: 0, first: '' }
  let buffer = ''
  const opened = Promise.withResolvers<string>()
  const ended = (async () => {
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        buffer += decoder.decode(value, { stream: true })
        for (let at = buffer.indexOf('\n\n'); at >= 0; at = buffer.indexOf('\n\n')) {
          const event = buffer.slice(0, at)
          buffer = buffer.slice(at + 2)
          state.first ||= event
          if (event.startsWith(':')) state.comments++
          const data = /^data: (.*)$/m.exec(event)?.[1]
          if (data === undefined) continue
          if (/^event: endpoint$/m.test(event)) opened.resolve(data)
          else seen.push(JSON.parse(data) as Incoming)
          for (const wake of [...waiting]) wake()
        }
      }
    } catch {
      // Cut off.
    }
  })()
  const endpoint = await opened.promise
  const post = (message: unknown, as = token) =>
    fetch(base + endpoint, {
      method: 'POST',
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      body: typeof message === 'string' ? message : JSON.stringify(message),
    })
  const wait: RawStream['wait'] = (match) => {
    const passes = typeof match === 'function' ? match : (m: Incoming) => m.id === match
    return new Promise((resolve) => {
      const look = () => {
        const at = seen.findIndex(passes)
        if (at < 0) return
        waiting.delete(look)
        resolve(seen.splice(at, 1)[0] as Incoming)
      }
      waiting.add(look)
      look()
    })
  }
  return {
    endpoint,
    get comments() {
      return state.comments
    },
    get first() {
      return state.first
    },
    wait,
    post,
    async call(id, name, args = {}) {
      const answer = wait(id)
      const response = await post({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })
      if (response.status !== 202) throw new Error(`${response.status}: ${await response.text()}`)
      return answer
    },
    ended,
    abort: () => abort.abort(),
  }
}

// ---- a server with tools of its own

export const anyTool = (
  name: string,
  run: (ctx: TestCtx, input: Record<string, unknown>) => Promise<unknown>,
  more: Partial<Tool> = {},
): Tool => ({
  name,
  title: name,
  description: name,
  toolset: 'test',
  input: object({}) as TObject,
  action: {
    id: `test.${name}`,
    kind: 'read',
    rule: { kinds: ['mcp_token'], scope: 'test:read', role: 'viewer' } satisfies Rule,
    hints: {},
  },
  run: (async (ctx: TestCtx, input: Record<string, unknown>) => {
    const result = await run(ctx, input)
    return { result, shown: result }
  }) as Tool['run'],
  ...more,
})
export type TestCtx = Parameters<Tool['run']>[0] & { signal: AbortSignal }

/** Plain Bun.serve, as the layer must not need more. */
export function serveTools(
  t: TestApp,
  tools: readonly Tool[],
  settings: Record<string, string> = {},
): { url: string; mcp: Mcp; stop(): Promise<void> } {
  const limits = Object.fromEntries(
    ['PER_MINUTE', 'BURST', 'ANONYMOUS', 'MCP'].map((n) => [`RATE_LIMIT_${n}`, '1000000']),
  )
  const guard = new Guard(loadConfig({ env: { DATA_DIR: t.app.config.DATA_DIR, ...limits, ...settings } }))
  const mcp = createMcp(t.app, guard, tools)
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 30,
    development: false,
    fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/mcp/messages') return mcp.message(request)
      if (pathname === '/mcp/sse' && request.method === 'GET') return mcp.openStream(request)
      return mcp.streamable(request)
    },
  })
  guard.attach(server)
  return {
    url: `http://127.0.0.1:${server.port}`,
    mcp,
    async stop() {
      await mcp.close()
      await server.stop(true)
    },
  }
}

/** Fails when it takes longer than a test should. */
export async function until(what: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!what()) {
    if (Date.now() > deadline) throw new Error('it never came true')
    await Bun.sleep(2)
  }
}

/** Waits until the server knows, for the task and its session, that the connection which claimed this task has closed. */
export async function connectionClosed({ app }: TestApp, key: string): Promise<void> {
  const open = `select count(*)::int from tasks t join projects p on p.id = t.project_id
    left join sessions s on s.connection = t.lease_connection and s.connection_closed_at is null and s.status <> 'ended'
    where p.key || '-' || t.number = $1 and lease_connection is not null
      and (lease_closed_at is null or s.id is not null)`
  const deadline = Date.now() + 60_000
  while ((await app.driver.query(open, [key])).rows[0]?.[0] !== 0) {
    if (Date.now() > deadline) throw new Error('the connection stayed open')
    await Bun.sleep(5)
  }
}

/** Waits until the server knows that every connection has closed which worked in a session of this person. */
export async function connectionsClosed({ app }: TestApp, userId: string): Promise<void> {
  const open = `select count(*)::int from sessions
    where user_id = $1::uuid and connection is not null and connection_closed_at is null`
  const deadline = Date.now() + 60_000
  while ((await app.driver.query(open, [userId])).rows[0]?.[0] !== 0) {
    if (Date.now() > deadline) throw new Error('the connection stayed open')
    await Bun.sleep(5)
  }
}

/** Waits until the server knows that the connection which works in this session has closed. */
export async function sessionClosed({ app }: TestApp, id: string): Promise<void> {
  const open = 'select count(*)::int from sessions where id = $1::uuid and connection_closed_at is null'
  const deadline = Date.now() + 60_000
  while ((await app.driver.query(open, [id])).rows[0]?.[0] !== 0) {
    if (Date.now() > deadline) throw new Error('the connection stayed open')
    await Bun.sleep(5)
  }
}

export const big = anyTool('big', async () => ({ text: 'x'.repeat(70_000) }))
