import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { splitLines } from '../../src/text/lines.ts'
import { Office } from '../binary/home.ts'
import { BINARY, bareEnv, folder, tutti } from '../support/binary.ts'
import { connectedBy, install, programs, run } from './install.ts'

/** What `tutti connect` writes is read by the programs themselves, in a home with nothing else in it and without a login. */
describe.if(process.env.FULL === '1')('tutti connect for third-party programs', () => {
  let office: Office
  let signedIn: string
  beforeAll(async () => {
    await install()
    office = await Office.open()
    const home = await office.signedIn()
    await home.run('projects', 'create', 'Tutti', '--key', 'TUT')
    signedIn = home.text
  }, 300_000)
  afterAll(() => office?.server.kill())

  async function connected(name: string, ...args: string[]) {
    const at = folder()
    const env = { HOME: at, XDG_CONFIG_HOME: join(at, '.config') }
    const file = (path: string, content: string) => {
      mkdirSync(dirname(join(at, path)), { recursive: true })
      writeFileSync(join(at, path), content, { mode: 0o600 })
    }
    file('.config/tutti/credentials.json', signedIn)
    const made = await tutti(['connect', name, ...args], { env, cwd: at })
    expect([made.code, made.err]).toEqual([0, ''])
    const more = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }
    return {
      at,
      env,
      file,
      run: (program: readonly string[], words: string[]) =>
        run([...program, ...words], { cwd: at, env: { ...env, ...more }, seconds: 240 }),
    }
  }

  const ways: [string, string[]][] = [
    ['over HTTP', []],
    ['over stdio', ['--stdio']],
  ]
  describe.each(ways)('%s', (_, args) => {
    test('Claude Code', async () => {
      const { run } = await connected('claude-code', ...args)
      const isConnected = /tutti: .* ✔ Connected/
      expect(await connectedBy(() => run(programs.claude, ['mcp', 'list']), isConnected)).toMatch(isConnected)
    }, 300_000)

    test('Codex', async () => {
      const { run } = await connected('codex', ...args)
      const { code, out } = await run(programs.codex, ['mcp', 'get', 'tutti', '--json'])
      expect([code, out]).toEqual([0, expect.stringContaining('"enabled": true')])
    }, 300_000)

    test('Gemini CLI', async () => {
      const { run, at, file } = await connected('gemini', ...args)
      file('.gemini/trustedFolders.json', JSON.stringify({ [at]: 'TRUST_FOLDER' }))
      const isConnected = /tutti: .* Connected/
      expect(await connectedBy(() => run(programs.gemini, ['mcp', 'list']), isConnected)).toMatch(isConnected)
    }, 300_000)

    test('opencode', async () => {
      const { run } = await connected('opencode', ...args)
      const isConnected = /tutti.*connected/
      expect(await connectedBy(() => run(programs.opencode, ['mcp', 'list']), isConnected)).toMatch(isConnected)
    }, 300_000)
  })

  describe('an MCP server behind a tunnel', () => {
    let machine: Bun.Subprocess
    let asked: string
    beforeAll(async () => {
      asked = join(folder(), 'asked')
      const at = folder()
      mkdirSync(join(at, '.config/tutti'), { recursive: true })
      writeFileSync(join(at, '.config/tutti/credentials.json'), signedIn, { mode: 0o600 })
      const server = `local=${process.execPath} ${join(import.meta.dir, '../tunnel/mcp-server.ts')} machine ${asked}`
      const child = Bun.spawn([BINARY, 'tunnel', 'up', '--json', '--name', 'Build', '--mcp', server], {
        env: { ...bareEnv, HOME: at, XDG_CONFIG_HOME: join(at, '.config') },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'inherit',
      })
      machine = child
      for await (const line of splitLines(child.stdout)) if (line.includes('"online"')) break
    }, 300_000)
    afterAll(async () => {
      machine.kill()
      await machine.exited
    })
    /** What the server on the machine was asked since the last time. */
    const methods = () => {
      const list = existsSync(asked) ? readFileSync(asked, 'utf8').split('\n') : []
      rmSync(asked, { force: true })
      return list
    }

    test('Claude Code', async () => {
      const { run } = await connected('claude-code', '--tunnel', 'build/local')
      const isConnected = /build-local: .* ✔ Connected/
      expect(await connectedBy(() => run(programs.claude, ['mcp', 'list']), isConnected)).toMatch(isConnected)
      expect(methods()).toContain('initialize')
    }, 300_000)

    test('opencode', async () => {
      const { run } = await connected('opencode', '--tunnel', 'build/local')
      const isConnected = /build-local.*connected/
      expect(await connectedBy(() => run(programs.opencode, ['mcp', 'list']), isConnected)).toMatch(isConnected)
      expect(methods()).toContain('tools/list')
    }, 300_000)

    test('Codex', async () => {
      const { run } = await connected('codex', '--tunnel', 'build/local')
      const provider = `model_providers.none={name="none",base_url="${office.url}/v1",wire_api="responses",request_max_retries=0,stream_max_retries=0}`
      const model = ['-c', provider, '-c', 'model_provider="none"', '-c', 'model="none"']
      await run(programs.codex, ['exec', '--skip-git-repo-check', ...model, 'hello'])
      expect(methods()).toContain('tools/list')
    }, 300_000)
  })

  describe('the hook at session start', () => {
    test('Claude Code reads the context', async () => {
      const { run, env, at } = await connected('claude-code')
      await tutti(['link', 'TUT'], { env, cwd: at })
      // Without a model it comes no further than this.
      const { out } = await run(programs.claude, ['-p', 'hello', '--output-format', 'stream-json', '--verbose'])
      const told = out.split('\n').find((line) => line.includes('"hook_response"')) ?? ''
      expect([told.includes('"outcome":"success"'), told.includes('created project Tutti')]).toEqual([true, true])
    }, 300_000)

    test('Codex reads the context', async () => {
      const { run, env, at } = await connected('codex')
      await tutti(['link', 'TUT'], { env, cwd: at })
      const provider = `model_providers.none={name="none",base_url="${office.url}/v1",wire_api="responses",request_max_retries=0,stream_max_retries=0}`
      const model = ['-c', provider, '-c', 'model_provider="none"', '-c', 'model="none"']
      const { out } = await run(programs.codex, [
        'exec',
        '--skip-git-repo-check',
        '--dangerously-bypass-hook-trust',
        ...model,
        'hello',
      ])
      expect(out).toContain('hook: SessionStart Completed')
    }, 300_000)
  })
})
