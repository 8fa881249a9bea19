import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as V1Stdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { offlineTools } from '../../cli/copy/offline/tools.ts'
import { tools } from '../../src/all-features.ts'
import { BINARY, folder, freePort, onTerminal, type Served, serve, tutti } from '../support/binary.ts'
import { allowing } from '../support/timing.ts'
import { type Home, Office } from './home.ts'

let office: Office
let home: Home
/** Linked to the project. */
const work = folder()

beforeAll(async () => {
  office = await Office.open()
  home = await office.signedIn()
  await home.run('projects', 'create', 'Tutti', '--key', 'TUT')
  await home.within(work, ['link', 'TUT'])
}, 300_000)
let restarted: Served | undefined
afterAll(async () => {
  await office.server.kill()
  await restarted?.kill()
})

describe('tutti mcp', () => {
  const info = { name: 'test', version: '1' }
  const started = (args: string[], env: Record<string, string>) => ({
    command: BINARY,
    args: ['mcp', ...args],
    cwd: work,
    env: { PATH: process.env.PATH ?? '', HOME: folder(), ...env },
    stderr: 'ignore' as const,
  })
  const v2 = async (args: string[] = [], env: Record<string, string> = home.env, mode: 'auto' | 'legacy' = 'auto') => {
    const client = new Client(info, { versionNegotiation: { mode } })
    await client.connect(new StdioClientTransport(started(args, env)))
    return client
  }
  const names = async (client: Client) =>
    (await client.listTools(undefined, { cacheMode: 'bypass' })).tools.map((t) => t.name)
  const note = (title: string) => ({ name: 'create_note', arguments: { title } })
  const slugOf = (answer: Record<string, unknown>) => (answer.structuredContent as { slug: string }).slug
  /** Matches the slug of a note with this title, which may end in a number if there are several. */
  const titled = (title: string) => expect.stringMatching(new RegExp(`^${title}(-|$)`)) as string

  test('works with the official clients of both protocol generations', async () => {
    for (const mode of ['auto', 'legacy'] as const) {
      const client = await v2([], home.env, mode)
      expect(await names(client)).toEqual(tools.map((t) => t.name))
      const answers = await Promise.all(['a', 'b', 'c'].map((title) => client.callTool(note(title))))
      expect(answers.map(slugOf)).toEqual(['a', 'b', 'c'].map(titled))
      await client.close()
    }
    const old = new V1Client(info)
    await old.connect(new V1Stdio(started([], home.env)))
    expect((await old.listTools()).tools).toHaveLength(tools.length)
    expect((await old.callTool(note('d'))).structuredContent).toMatchObject({ slug: titled('d') })
    await old.close()
  }, 300_000)

  test('mentions tutti wait, because its agents can run it', async () => {
    const { key } = JSON.parse((await home.run('tasks', 'create', 'Held', '--project', 'TUT', '--json')).out) as {
      key: string
    }
    expect((await home.run('tasks', 'claim', key)).code).toBe(0)
    const client = await v2()
    const read = await client.callTool({ name: 'get_task', arguments: { task: key } })
    expect(read.structuredContent).toMatchObject({ lease: { wait: `tutti wait ${key} --until done` } })
    const refused = await client.callTool({ name: 'claim_task', arguments: { task: key } })
    expect(JSON.stringify(refused.content)).toContain(`wait without polling: tutti wait ${key} --until done`)
    await client.close()
  }, 300_000)

  test('creates one private token for the folder, and offers only the chosen toolsets', async () => {
    const { items } = JSON.parse((await home.run('tokens', 'list', '--json')).out) as { items: { name: string }[] }
    expect(items.map(({ name }) => name)).toEqual([hostname()])
    const file = join(dirname(home.file), 'mcp-tokens.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const client = await v2(['--toolsets', 'notes', '--readonly'])
    expect(await names(client)).toEqual(
      tools.filter((t) => t.toolset === 'notes' && t.action.kind === 'read').map((t) => t.name),
    )
    await client.close()
  }, 300_000)

  test('answers all piped messages before it ends, and reports invalid ones', async () => {
    const line = (id: number, method: string, params = {}) => JSON.stringify({ jsonrpc: '2.0', id, method, params })
    const opening = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info }
    const piped = await home.within(
      work,
      ['mcp'],
      `${line(1, 'initialize', opening)}\n\nnonsense\n${line(2, 'tools/list')}\n`,
    )
    const told = piped.out
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text) as { id: number | null; error?: { code: number } })
    expect([piped.code, piped.err]).toEqual([0, ''])
    expect(told.map((m) => [m.id, m.error?.code]).toSorted()).toEqual(
      [
        [1, undefined],
        [2, undefined],
        [null, -32_700],
      ].toSorted(),
    )
  })

  test('reconnects to a restarted server, and reports pending requests as failed', async () => {
    const dir = folder()
    const port = String(freePort())
    restarted = await serve({ dir, port })
    const { url } = restarted
    const registered = await fetch(`${url}/api/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', name: 'Ada', password: 'violet anchor prefers rain' }),
    })
    const { token: session } = (await registered.json()) as { token: string }
    const ask = async <T>(method: string, path: string, body?: object) =>
      (await (
        await fetch(url + path, {
          method,
          headers: { 'content-type': 'application/json', authorization: `Bearer ${session}` },
          body: body && JSON.stringify(body),
        })
      ).json()) as T
    const { id: organizationId } = await ask<{ id: string }>('GET', '/api/team')
    const made = await ask<{ id: string; token: string }>('POST', '/api/mcp-tokens', { name: 'x', organizationId })
    const client = await v2(['--server', url], { TUTTI_MCP_TOKEN: made.token })
    // One that watches and says nothing more.
    const watching = new V1Client(info)
    await watching.connect(new V1Stdio(started(['--server', url], { TUTTI_MCP_TOKEN: made.token })))
    const watched = slugOf(await watching.callTool(note('watched')))
    const heard = Promise.withResolvers<string>()
    watching.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => heard.resolve(params.uri))
    await watching.subscribeResource({ uri: `tutti://note/${watched}` })
    expect((await client.callTool(note('before'))).structuredContent).toMatchObject({ slug: titled('before') })
    await restarted.kill()
    restarted = await serve({ dir, port })
    expect((await client.callTool(note('after'))).structuredContent).toMatchObject({ slug: titled('after') })
    expect(await names(client)).toHaveLength(tools.length)

    for (let n = 0, over = false; !over; n++) {
      await ask('PUT', `/api/notes/${watched}`, { title: `changed ${n}` })
      over = await Promise.race([heard.promise.then(() => true), Bun.sleep(200).then(() => n > 200)])
    }
    expect(await Promise.race([heard.promise, 'nothing'])).toContain('tutti://note/')
    await watching.close()

    await ask('DELETE', `/api/mcp-tokens/${made.id}`)
    const refused = await client.callTool(note('revoked')).catch((error: Error) => error)
    expect(refused).toBeInstanceOf(Error)
    expect((refused as Error).message).toContain('To replace a stored token')
    await client.close()
  }, 300_000)

  test('passes large messages both ways, and refuses too large ones', async () => {
    const client = await v2()
    const content = 'Größe und 漢字 '.repeat(5000)
    const made = await client.callTool({ name: 'create_note', arguments: { title: 'large', content } })
    const slug = slugOf(made)
    const read = await client.callTool({ name: 'get_note', arguments: { note: slug } })
    // An agent gets only the beginning of a long text.
    const got = (read.structuredContent as { content: string }).content
    expect([got.length > 50_000, content.startsWith(got)]).toEqual([true, true])
    const huge = { name: 'create_note', arguments: { title: 'huge', content: 'x'.repeat(2 << 20) } }
    const refused = await client.callTool(huge).catch((error: Error) => error)
    expect(refused).toBeInstanceOf(Error)
    expect((await client.callTool(note('afterwards'))).structuredContent).toMatchObject({ slug: titled('afterwards') })
    await client.close()
  }, 300_000)

  test('passes notifications of the server to the client', async () => {
    const client = new V1Client(info)
    await client.connect(new V1Stdio(started([], home.env)))
    const slug = slugOf(await client.callTool(note('watched')))
    const { promise, resolve } = Promise.withResolvers<string>()
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri))
    await client.subscribeResource({ uri: `tutti://note/${slug}` })
    await home.within(work, ['notes', 'update', slug, '--title', 'changed'])
    expect(await promise).toContain('tutti://note/')
    await client.close()
  }, 300_000)

  test('ends when the client closes standard input although the stream is open', async () => {
    const child = Bun.spawn([BINARY, 'mcp'], {
      cwd: work,
      env: started([], home.env).env,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`)
    const reader = child.stdout.getReader()
    await reader.read()
    const closed = performance.now()
    await child.stdin.end()
    expect([await child.exited, await new Response(child.stderr).text()]).toEqual([0, ''])
    expect(performance.now() - closed).toBeLessThan(allowing(3000))
  }, 300_000)

  test('tries again with the next message after a refused connection', async () => {
    let streams = 0
    let say = (_: string): void => undefined
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        if (request.method === 'GET' && ++streams === 1)
          return Response.json({ detail: 'Too many requests.' }, { status: 429 })
        if (request.method === 'POST') {
          const { id } = (await request.json()) as { id: number }
          if (id !== undefined) say(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n\n`)
          return new Response(null, { status: 202 })
        }
        const body = new ReadableStream<string>({
          start(stream) {
            say = (text) => stream.enqueue(text)
            say('event: endpoint\ndata: /mcp/messages?sessionId=1\n\n')
          },
        })
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      },
    })
    const ping = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })
    const { code, out, err } = await tutti(['mcp', '--server', server.url.origin], {
      env: { TUTTI_MCP_TOKEN: 'svc_live_x', XDG_CONFIG_HOME: folder() },
      stdin: `${ping(1)}\nnull\n42\n${ping(2)}\n`,
    })
    await server.stop(true)
    const told = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: number | null; error?: { code: number; message: string } })
    expect(told.map(({ id, error }) => [id, error?.code])).toEqual([[1, -32_000], [null, -32_600], [null, -32_600], [2, undefined]]) // biome-ignore format: a table
    expect([code, err, streams]).toEqual([0, 'tutti: Too many requests.\n', 2])
  }, 300_000)

  test('explains itself on a terminal', async () => {
    const { code, shown } = await onTerminal(['mcp'], { env: { ...home.env, NO_COLOR: '1' }, cwd: work, typed: '\x04' })
    expect([code, shown]).toEqual([0, expect.stringContaining('this command speaks MCP with programs')])
  })

  test('prints to standard error that the user is not signed in', async () => {
    const nobody = await tutti(['mcp'], { env: { XDG_CONFIG_HOME: folder() }, stdin: '{}' })
    expect(nobody).toMatchObject({ code: 3, out: '', err: expect.stringContaining('You are not signed in') as string })
  })
})

test('each tool that works offline has the toolset and the scope of the tool of the server', () => {
  const served = Object.keys(offlineTools).map((name) => {
    const { toolset, action } = tools.find((tool) => tool.name === name) ?? {}
    return [name, toolset, action?.rule.scope]
  })
  expect(served).toEqual(Object.entries(offlineTools).map(([name, { toolset, scope }]) => [name, toolset, scope]))
})
