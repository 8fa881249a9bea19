import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tools } from '../../src/all-features.ts'
import { mcpToken, person, sharedApp, type TestApp } from '../support/app.ts'
import { connectedBy, install, programs, run } from './install.ts'

/** The inspector and the agents that people use, each in a home of its own and without a login: they connect, and list our tools. */
let t: TestApp
let token: string
let url: string
let stop: () => Promise<unknown>
let home: string
/** What came in: `POST /mcp tools/list`. */
const seen: string[] = []

const agent = (program: readonly string[], args: readonly string[], env: Record<string, string> = {}) =>
  run([...program, ...args], {
    cwd: home,
    env: { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), TUTTI_TOKEN: token, ...env },
    seconds: 240,
  })
const file = (path: string, content: object): void => {
  mkdirSync(join(home, path, '..'), { recursive: true })
  writeFileSync(join(home, path), JSON.stringify(content))
}
const bearer = () => `Authorization: Bearer ${token}`

describe.if(process.env.FULL === '1')('third-party MCP clients', () => {
  beforeAll(async () => {
    await install()
    t = await sharedApp()
    token = await mcpToken(t, await person(t))
    home = mkdtempSync(join(tmpdir(), 'tutti-agents-'))
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 120,
      async fetch(request) {
        const { pathname } = new URL(request.url)
        // There is no model here: a request for one is refused.
        if (pathname.startsWith('/v1/')) return Response.json({ error: { message: 'no model here' } }, { status: 400 })
        const message = request.method === 'POST' ? ((await request.clone().json()) as { method?: string }) : {}
        seen.push(`${request.method} ${pathname} ${message.method ?? ''}`.trim())
        return t.server.handle(request)
      },
    })
    url = server.url.origin
    stop = () => server.stop(true)
  }, 300_000)

  afterAll(async () => {
    await stop?.()
    if (home) rmSync(home, { recursive: true, force: true })
  })

  describe('the MCP inspector', () => {
    const inspect = async (path: string, transport: string, ...args: string[]) => {
      const { code, out } = await agent(
        programs.inspector,
        [
          '--cli',
          url + path,
          '--transport',
          transport,
          '--header',
          bearer(),
          '--stored-auth-only',
          '--format',
          'json',
          ...args,
        ],
        { MCP_INSPECTOR_SECRET_STORE: 'memory' },
      )
      if (code !== 0) throw new Error(`${code}: ${out}`)
      return JSON.parse(out.slice(out.indexOf('{'))) as Record<string, unknown>
    }
    test.each([
      ['/mcp/sse', 'sse'],
      ['/mcp', 'http'],
    ])(
      'lists tools, calls them and reads resources on %s',
      async (path, transport) => {
        const [listed, called, templates, prompts] = await Promise.all([
          inspect(path, transport, '--method', 'tools/list', '--strict'),
          inspect(
            path,
            transport,
            '--method',
            'tools/call',
            '--tool-name',
            'list_projects',
            '--tool-args-json',
            '{"limit":5}',
          ),
          inspect(path, transport, '--method', 'resources/templates/list'),
          inspect(path, transport, '--method', 'prompts/list'),
        ])
        const of = (answer: Record<string, unknown>) => (answer.result ?? answer) as Record<string, unknown>
        expect((of(listed).tools as { name: string }[]).map((tool) => tool.name)).toEqual(
          tools.map((tool) => tool.name),
        )
        expect(of(called)).toMatchObject({ structuredContent: { items: [], total: 0 } })
        expect(of(templates).resourceTemplates).toHaveLength(10)
        expect(of(prompts).prompts).toEqual([])
      },
      300_000,
    )
  })

  test('Claude Code connects by SSE and by HTTP', async () => {
    const quiet = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }
    for (const [name, transport, path] of [
      ['tutti-sse', 'sse', '/mcp/sse'],
      ['tutti-http', 'http', '/mcp'],
    ] as const) {
      const added = await agent(
        programs.claude,
        ['mcp', 'add', '--transport', transport, '--scope', 'user', name, url + path, '--header', bearer()],
        quiet,
      )
      expect([added.code, added.out]).toEqual([0, expect.stringContaining(name)])
    }
    const out = await connectedBy(
      () => agent(programs.claude, ['mcp', 'list'], quiet),
      /tutti-sse: .* ✔ Connected[\s\S]*tutti-http: .* ✔ Connected/,
    )
    for (const name of ['tutti-sse', 'tutti-http']) expect(out).toMatch(new RegExp(`${name}: .* ✔ Connected`))
  }, 300_000)

  test('Codex connects and lists the tools', async () => {
    seen.length = 0
    const provider = `model_providers.none={name="none",base_url="${url}/v1",wire_api="responses",request_max_retries=0,stream_max_retries=0}`
    const server = `mcp_servers.tutti={url="${url}/mcp",bearer_token_env_var="TUTTI_TOKEN"}`
    const args = [
      'exec',
      '--skip-git-repo-check',
      '-c',
      provider,
      '-c',
      'model_provider="none"',
      '-c',
      'model="none"',
      '-c',
      server,
      'hello',
    ]
    const { out } = await agent(programs.codex, args)
    expect([seen, out]).toEqual([
      expect.arrayContaining(['POST /mcp initialize', 'POST /mcp tools/list']),
      expect.any(String),
    ])
  }, 300_000)

  test('Gemini CLI connects', async () => {
    file('.gemini/settings.json', {
      mcpServers: {
        'tutti-http': { httpUrl: `${url}/mcp`, headers: { Authorization: `Bearer ${token}` }, trust: true },
        'tutti-sse': { url: `${url}/mcp/sse`, headers: { Authorization: `Bearer ${token}` }, trust: true },
      },
    })
    file('.gemini/trustedFolders.json', { [home]: 'TRUST_FOLDER' })
    const isConnected = /tutti-http: .* Connected[\s\S]*tutti-sse: .* Connected/
    const out = await connectedBy(() => agent(programs.gemini, ['mcp', 'list']), isConnected)
    for (const name of ['tutti-http', 'tutti-sse']) expect(out).toMatch(new RegExp(`${name}: .* Connected`))
  }, 300_000)

  test('opencode connects and lists the tools', async () => {
    seen.length = 0
    const server = (path: string) => ({
      type: 'remote',
      url: url + path,
      enabled: true,
      oauth: false,
      headers: { Authorization: 'Bearer {env:TUTTI_TOKEN}' },
    })
    file('.config/opencode/opencode.json', {
      autoupdate: false,
      share: 'disabled',
      mcp: { tutti: server('/mcp'), 'tutti-sse': server('/mcp/sse') },
    })
    const out = await connectedBy(() => agent(programs.opencode, ['mcp', 'list']), /(connected[\s\S]*){2}/)
    expect(out.match(/connected/g)).toHaveLength(2)
    expect(seen).toContain('POST /mcp tools/list')
  }, 300_000)
})
