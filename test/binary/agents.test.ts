import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { BINARY, folder, onTerminal, tutti } from '../support/binary.ts'
import { type Home, Office } from './home.ts'

let office: Office
let home: Home

beforeAll(async () => {
  office = await Office.open()
  home = await office.signedIn()
  await home.run('projects', 'create', 'Tutti', '--key', 'TUT')
}, 300_000)
afterAll(() => office.server.kill())

describe('tutti connect', () => {
  /** A home with nothing in it but the sign-in. */
  function newHome() {
    const at = folder()
    const env = { HOME: at, XDG_CONFIG_HOME: join(at, '.config') }
    mkdirSync(join(at, '.config', 'tutti'), { recursive: true, mode: 0o700 })
    writeFileSync(join(at, '.config', 'tutti', 'credentials.json'), home.text, { mode: 0o600 })
    const put = (name: string, text: string, mode = 0o644) => {
      mkdirSync(dirname(join(at, name)), { recursive: true })
      writeFileSync(join(at, name), text, { mode })
      chmodSync(join(at, name), mode)
    }
    return {
      at,
      put,
      text: (name: string) => readFileSync(join(at, name), 'utf8'),
      mode: (name: string) => statSync(join(at, name)).mode & 0o777,
      run: (...args: string[]) => tutti(['connect', ...args], { env, cwd: at }),
      typed: (text: string, ...args: string[]) => onTerminal(['connect', ...args], { env, cwd: at, typed: text }),
    }
  }
  const made = async () =>
    (JSON.parse((await home.run('tokens', 'list', '--json')).out) as { items: object[] }).items.length
  const bearer = { Authorization: expect.stringMatching(/^Bearer svc_live_/) as string }

  const settings: [string, string, string, string[], () => object, object][] = [
    ['claude-code', '.claude.json', '{"numStartups":3,"mcpServers":{"other":{"command":"x"}}}', ['mcpServers'],
      () => ({ type: 'http', url: `${office.url}/mcp/token`, headers: bearer }), { type: 'stdio', command: BINARY }],
    ['codex', '.codex/config.toml', '# mine\nmodel = "o5"\n\n[mcp_servers.other]\ncommand = "x" # stays\n', ['mcp_servers'],
      () => ({ url: `${office.url}/mcp/token`, http_headers: bearer }), { command: BINARY }],
    ['cursor', '.cursor/mcp.json', '{"mcpServers":{"other":{"command":"x"}}}', ['mcpServers'],
      () => ({ url: `${office.url}/mcp/token`, headers: bearer }), { command: BINARY }],
    ['vscode', '.config/Code/User/mcp.json', '{"inputs":[],"servers":{"other":{"command":"x"}}}', ['servers'],
      () => ({ type: 'http', url: `${office.url}/mcp/token`, headers: bearer }), { type: 'stdio', command: BINARY }],
    ['gemini', '.gemini/settings.json', '{"theme":"x","mcpServers":{"other":{"command":"x"}}}', ['mcpServers'],
      () => ({ httpUrl: `${office.url}/mcp/token`, headers: bearer }), { command: BINARY }],
    ['opencode', '.config/opencode/opencode.json', '{"$schema":"y","mcp":{"other":{"command":"x"}}}', ['mcp'],
      () => ({ type: 'remote', url: `${office.url}/mcp/token`, enabled: true, oauth: false, headers: bearer }), { type: 'local', enabled: true }],
    ['windsurf', '.codeium/windsurf/mcp_config.json', '{"mcpServers":{"other":{"command":"x"}}}', ['mcpServers'],
      () => ({ serverUrl: `${office.url}/mcp/token`, headers: bearer }), { command: BINARY }],
    ['zed', '.config/zed/settings.json', '{"theme":"x","context_servers":{"other":{"command":"x"}}}', ['context_servers'],
      () => ({ url: `${office.url}/mcp/token`, headers: bearer }), { command: BINARY }],
  ] // biome-ignore format: a table

  test.each(settings)(
    '%s: adds an entry, keeps other settings, and replaces an entry only with --yes',
    async (name, file, before, at, entry, stdio) => {
      const h = newHome()
      const parse = (text: string) =>
        (file.endsWith('.toml') ? Bun.TOML.parse(text) : JSON.parse(text)) as Record<string, never>
      const servers = (text: string) =>
        at.reduce<Record<string, never>>((value, key) => value[key] as never, parse(text)) as Record<string, object>

      h.put(file, before)
      expect((await h.run(name)).code).toBe(0)
      const written = h.text(file)
      expect(servers(written)).toEqual({ other: { command: 'x' }, tutti: entry() })
      expect(h.mode(file)).toBe(0o600)
      const { [at[0] as string]: _, hooks: __, ...rest } = parse(written)
      const { [at[0] as string]: ___, ...was } = parse(before)
      expect(rest).toEqual(was)
      if (file.endsWith('.toml')) expect(written).toStartWith(before)

      const tokens = await made()
      expect(await h.run(name)).toMatchObject({
        code: 5,
        err: expect.stringContaining('Use --yes to replace it') as string,
      })
      expect([h.text(file), await made()]).toEqual([written, tokens])
      expect((await h.run(name, '--yes', '--stdio')).code).toBe(0)
      expect(servers(h.text(file)).tutti).toMatchObject(stdio)
      expect(JSON.stringify(servers(h.text(file)).tutti)).toContain('"mcp","--server"')
      expect(h.text(file)).not.toContain('svc_')

      const existing = await made()
      const printed = await newHome().run(name, '--print')
      const [settings = '', hooks] = printed.out
        .replaceAll('YOUR_TOKEN', 'svc_live_x')
        .split(/^Add to .+:\n/m)
        .slice(1)
      expect(printed.out).toMatch(new RegExp(`^Add to /\\S+/${file.replaceAll('.', '\\.')}:\\n`))
      expect(servers(settings)).toEqual({ tutti: entry() })
      const hooked = ['claude-code', 'codex', 'cursor', 'vscode', 'gemini'].includes(name)
      expect(hooks !== undefined).toBe(hooked)
      const commands = JSON.stringify(hooks && JSON.parse(hooks))
      for (const what of hooked ? ['context', 'checkpoint'] : []) expect(commands).toContain(`tutti hook ${what}"`)
      expect(printed.err).toContain('tutti tokens create')
      // Neither the token that was replaced, nor one for --print.
      expect(await made()).toBe(existing)
    },
    300_000,
  )

  test('creates a missing settings file that only its owner can read, completely or not at all', async () => {
    const h = newHome()
    expect((await h.run('cursor')).code).toBe(0)
    expect(h.mode('.cursor/mcp.json')).toBe(0o600)
    const tokens = await made()
    for (const [name, file, text] of [
      ['vscode', '.config/Code/User/mcp.json', '[1]'],
      ['zed', '.config/zed/settings.json', '{"context_servers": ["x"]}'],
      ['codex', '.codex/config.toml', 'mcp_servers = { other = { command = "x" } }\n'],
      ['codex', '.codex/config.toml', 'model = '],
      ['claude-code', '.claude/settings.json', '{"hooks":'],
      ['claude-code', '.claude/settings.json', '{"hooks":{"SessionStart":"x"}}'],
    ] as const) {
      h.put(file, text)
      const refused = await h.run(name)
      expect([name, refused.code, /Use --|use --print/.test(refused.err)]).toEqual([name, 2, true])
      expect(h.text(file)).toBe(text)
    }
    expect([await made(), existsSync(join(h.at, '.claude.json'))]).toEqual([tokens, false])
  }, 300_000)

  test.each([
    ['zed', '.config/zed/settings.json', 'context_servers'],
    ['vscode', '.config/Code/User/mcp.json', 'servers'],
    ['opencode', '.config/opencode/opencode.jsonc', 'mcp'],
  ])(
    '%s: comments stay, and all else',
    async (name, file, at) => {
      const h = newHome()
      const before = `// my settings\n{\n    "theme": "x", // dark\n    "${at}": {\n        /* the other */\n        "other": { "command": "x" }, // stays\n    },\n    // "old": 1,\n}\n`
      h.put(file, before)
      expect((await h.run(name, '--no-hooks')).code).toBe(0)
      const first = h.text(file)
      const ours = /\n {8}"tutti": \{[\s\S]*?\n {8}\},/.exec(first)?.[0] as string
      expect(first.replace(ours, '')).toBe(before)
      expect((await h.run(name, '--no-hooks', '--yes', '--stdio')).code).toBe(0)
      const second = h.text(file)
      expect(second.replace(/\n {8}"tutti": \{[\s\S]*?\n {8}\},/, '')).toBe(before)
      expect(second).toContain('"--server"')
    },
    300_000,
  )

  test('prints its result as JSON, and sets the default project with --project', async () => {
    const h = newHome()
    const written = await h.run('cursor', '--json', '--project', 'TUT')
    const file = join(h.at, '.cursor/mcp.json')
    expect(JSON.parse(written.out)).toEqual({
      program: 'cursor',
      server: office.url,
      file,
      hooks: join(h.at, '.cursor/hooks.json'),
      expiresAt: expect.stringMatching(/^20/) as string,
    })
    expect(written.out).not.toContain('svc_')
    const printed = JSON.parse((await h.run('codex', '--print', '--json')).out) as {
      file: string
      settings: { mcp_servers: { tutti: object } }
      hooks: { file: string; settings: { hooks: object } }
    }
    expect(printed.file).toBe(join(h.at, '.codex/config.toml'))
    expect(printed.hooks.file).toStartWith(join(h.at, '.codex/'))
    expect(JSON.stringify(printed.hooks.settings.hooks)).toContain('tutti hook context')
    expect(printed.settings.mcp_servers.tutti).toEqual({
      url: `${office.url}/mcp/token`,
      http_headers: { Authorization: 'Bearer YOUR_TOKEN' },
    })
    expect(existsSync(join(h.at, '.codex'))).toBe(false)
    const { items } = JSON.parse((await home.run('tokens', 'list', '--json')).out) as {
      items: { agentName: string; projectId: string | null }[]
    }
    expect(items.find((t) => t.agentName.startsWith('Cursor (') && t.projectId)).toBeDefined()
    expect((await h.run('zed', '--project', 'nothing')).code).toBe(4)
  }, 300_000)

  test('revokes the replaced token, accepts --expires, and prints when the token expires', async () => {
    const h = newHome()
    const tokenIn = () => /svc_live_\w+/.exec(h.text('.cursor/mcp.json'))?.[0] as string
    const works = async (token: string) =>
      (await office.api('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, token)).status !== 401
    const first = await h.run('cursor', '--expires', '30d')
    expect(first.out).toMatch(
      /expires on 20\d\d-\d\d-\d\d \(30 days left\); to renew it: tutti connect cursor --yes\n$/,
    )
    const before = tokenIn()
    expect(await works(before)).toBe(true)
    expect((await h.run('cursor', '--yes', '--expires', '2w', '--toolsets', 'work')).out).toContain('(14 days left)')
    const tokens = (await home.run('tokens', 'list', '--json')).out
    expect(JSON.parse(tokens)).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ toolsets: ['work'] })]),
    })
    expect([await works(before), await works(tokenIn())]).toEqual([false, true])
    const last = tokenIn()
    expect((await h.run('cursor', '--yes', '--stdio', '--toolsets', 'core,notes')).code).toBe(0)
    expect(h.text('.cursor/mcp.json')).toContain('"core,notes"')
    expect(await works(last)).toBe(false)
    expect((await h.run('cursor', '--yes', '--expires', 'soon')).err).toContain('--expires must be')
    expect((await h.run('cursor', '--yes', '--toolsets', 'cores')).err).toContain('Toolsets: core, work, agents,')
  }, 300_000)

  test('asks before it replaces an entry on a terminal, and keeps a symbolic link', async () => {
    const h = newHome()
    h.put('dotfiles/mcp.json', '{"mcpServers":{"tutti":{"url":"x"}}}')
    mkdirSync(join(h.at, '.cursor'))
    symlinkSync(join(h.at, 'dotfiles/mcp.json'), join(h.at, '.cursor/mcp.json'))
    const no = await h.typed('n\n', 'cursor')
    expect([no.code, no.shown.includes('Replace it? [y/N]')]).toEqual([5, true])
    expect(h.text('.cursor/mcp.json')).toContain('"x"')
    expect((await h.typed('y\n', 'cursor')).code).toBe(0)
    expect(lstatSync(join(h.at, '.cursor/mcp.json')).isSymbolicLink()).toBe(true)
    expect(h.text('dotfiles/mcp.json')).toContain('svc_live_')
  }, 300_000)

  test('adds its hooks once beside other hooks, and none with --no-hooks', async () => {
    const h = newHome()
    const theirs = { matcher: 'startup', hooks: [{ type: 'command', command: 'echo hello' }] }
    h.put(
      '.claude/settings.json',
      JSON.stringify({ model: 'x', hooks: { SessionStart: [theirs], Stop: [theirs] } }),
      0o644,
    )
    await h.run('claude-code', '--no-hooks')
    expect(h.text('.claude/settings.json')).not.toContain('hook context')
    const own = (what: string) => ({ type: 'command', command: `${BINARY} hook ${what}` })
    const ours = (what: string) => ({ hooks: [own(what)] })
    for (let i = 0; i < 2; i++) {
      await h.run('claude-code', '--yes')
      expect(JSON.parse(h.text('.claude/settings.json'))).toEqual({
        model: 'x',
        hooks: { SessionStart: [theirs, ours('context')], Stop: [theirs], PreCompact: [ours('checkpoint')] },
      })
    }
    expect(h.mode('.claude/settings.json')).toBe(0o644)
    // One that was put among others, by a tutti that lay elsewhere.
    const moved = {
      matcher: '',
      hooks: [...theirs.hooks, { type: 'command', command: "'/old place/tutti' hook context", timeout: 9 }],
    }
    h.put('.claude/settings.json', JSON.stringify({ hooks: { SessionStart: [moved] } }))
    await h.run('claude-code', '--yes')
    expect(JSON.parse(h.text('.claude/settings.json'))).toEqual({
      hooks: {
        SessionStart: [{ matcher: '', hooks: [...theirs.hooks, { ...own('context'), timeout: 9 }] }],
        PreCompact: [ours('checkpoint')],
      },
    })
    await h.run('gemini')
    expect(JSON.parse(h.text('.gemini/settings.json'))).toMatchObject({
      hooks: { SessionStart: [ours('context')], PreCompress: [ours('checkpoint')] },
    })
    expect(h.mode('.gemini/settings.json')).toBe(0o600)
    expect((await h.run('codex')).out).toContain('/hooks')
    expect(JSON.parse(h.text('.codex/hooks.json'))).toEqual({
      hooks: { SessionStart: [ours('context')], PreCompact: [ours('checkpoint')] },
    })
    h.put('.cursor/hooks.json', '{\n  "version": 1,\n  "hooks": { "sessionStart": [{ "command": "./mine.sh" }] }\n}\n')
    for (let i = 0; i < 2; i++) await h.run('cursor', '--yes')
    expect(JSON.parse(h.text('.cursor/hooks.json'))).toEqual({
      version: 1,
      hooks: { sessionStart: [{ command: './mine.sh' }, own('context')], preCompact: [own('checkpoint')] },
    })
    await h.run('vscode')
    expect(JSON.parse(h.text('.copilot/hooks/tutti.json'))).toEqual({
      version: 1,
      hooks: { SessionStart: [own('context')], PreCompact: [own('checkpoint')] },
    })
  }, 300_000)
})
