import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BINARY, folder, tutti } from '../support/binary.ts'
import { makeHostile } from '../support/hostile-repository.ts'
import { allowing } from '../support/timing.ts'
import { Office } from './home.ts'

let office: Office
afterAll(() => office.server.kill())

describe('tutti hook', () => {
  /** As the program itself works: with the token in its settings, over MCP. */
  let call: (name: string, args?: object) => Promise<Record<string, unknown>>
  const at = folder()
  const env = { HOME: at, XDG_CONFIG_HOME: join(at, '.config') }
  const repository = folder()
  const told = (more: object = {}) =>
    JSON.stringify({ session_id: 'x', cwd: repository, hook_event_name: 'SessionStart', ...more })
  /** Somewhere else, since programs start hooks where they like. */
  const hook = (what: string, stdin: string, cwd = at) => tutti(['hook', what], { env, cwd, stdin })
  const contextOf = ({ out }: { out: string }) =>
    (JSON.parse(out) as { hookSpecificOutput: { additionalContext: string } }).hookSpecificOutput.additionalContext

  beforeAll(async () => {
    office = await Office.open()
    const home = await office.signedIn()
    await home.run('projects', 'create', 'Tutti', '--key', 'TUT')
    mkdirSync(join(at, '.config', 'tutti'), { recursive: true, mode: 0o700 })
    writeFileSync(join(at, '.config', 'tutti', 'credentials.json'), home.text, { mode: 0o600 })
    expect((await tutti(['connect', 'claude-code'], { env, cwd: at })).code).toBe(0)
    const { mcpServers } = JSON.parse(readFileSync(join(at, '.claude.json'), 'utf8')) as {
      mcpServers: { tutti: { url: string; headers: Record<string, string> } }
    }
    const { url, headers } = mcpServers.tutti
    call = async (name, args = {}) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
      const accept = 'application/json, text/event-stream'
      const answer = await (
        await fetch(url, { method: 'POST', headers: { ...headers, 'content-type': 'application/json', accept }, body })
      ).text()
      const { result } = JSON.parse(answer.slice(answer.indexOf('{'))) as {
        result: { structuredContent: Record<string, unknown>; isError?: boolean }
      }
      expect([name, result.isError ?? false, answer.slice(0, result.isError ? 500 : 0)]).toEqual([name, false, ''])
      return result.structuredContent
    }
    await tutti(['link', 'TUT'], { env, cwd: repository })
    const git = (...args: string[]) =>
      Bun.spawnSync(['git', '-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], { cwd: repository })
    writeFileSync(join(repository, 'lock.ts'), '1')
    git('init', '-q', '-b', 'lock-folder')
    git('add', '-A')
    git('commit', '-q', '-m', 'x')
    writeFileSync(join(repository, 'lock.ts'), '2')
  }, 300_000)

  test('returns at session start the checkpoint that was saved before compaction', async () => {
    expect(contextOf(await hook('context', told({ source: 'startup' })))).toContain('Tutti')
    // Without a session there is nothing to save.
    expect(await hook('checkpoint', told({ trigger: 'auto' }))).toEqual({ code: 0, out: '', err: '' })
    await call('create_session', { goals: ['finish the lock'], project: 'TUT' })
    await call('get_context', {
      checkpoint: { nextStep: 'Make the second process exit', commands: ['bun test test/db'] },
    })
    expect(
      await hook('checkpoint', told({ hook_event_name: 'PreCompact', trigger: 'auto', custom_instructions: '' })),
    ).toEqual({
      code: 0,
      out: '',
      err: '',
    })
    const restored = contextOf(await hook('context', told({ source: 'compact' })))
    for (const kept of [
      'finish the lock',
      'Make the second process exit',
      'bun test test/db',
      'lock-folder',
      'lock.ts',
    ])
      expect(restored).toContain(kept)
    // A repository that came from elsewhere may name programs to be started.
    const started = makeHostile(repository)
    await hook('checkpoint', told({ trigger: 'manual', custom_instructions: 'keep the plan' }))
    expect(started()).toEqual([])
    expect(contextOf(await hook('context', told()))).toContain('keep the plan')
    // In the words of Cursor.
    const { cwd: _, ...cursor } = JSON.parse(told({ cursor_version: '3.1', workspace_roots: [repository] })) as {
      cwd: string
    }
    expect(JSON.parse((await hook('context', JSON.stringify(cursor))).out)).toEqual({
      additional_context: expect.stringContaining('keep the plan') as string,
    })
    // The current folder is enough.
    expect(contextOf(await hook('context', '', repository))).toContain('keep the plan')
  }, 300_000)

  test('renews an expired session and stores the new credential', async () => {
    const file = join(at, '.config', 'tutti', 'credentials.json')
    const { profiles, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as {
      profiles: Record<string, { token: string; expiresAt: string }>
    }
    for (const profile of Object.values(profiles))
      Object.assign(profile, { token: 'stale', expiresAt: '2020-01-01T00:00:00.000Z' })
    writeFileSync(file, JSON.stringify({ ...rest, profiles }), { mode: 0o600 })
    for (let i = 0; i < 2; i++) expect(contextOf(await hook('context', told()))).toContain('keep the plan')
    expect(readFileSync(file, 'utf8')).not.toContain('stale')
  }, 300_000)

  test('prints nothing in a folder without a linked project', async () => {
    for (const what of ['context', 'checkpoint'])
      expect(await hook(what, told({ cwd: at }))).toEqual({ code: 0, out: '', err: '' })
    expect(await tutti(['hook', 'context'], { env: { XDG_CONFIG_HOME: folder() }, cwd: at })).toEqual({
      code: 0,
      out: '',
      err: '',
    })
  })

  test('always exits quickly with code 0, and prints at most one line to standard error', async () => {
    const quiet = (line: string) => ({
      code: 0,
      out: '',
      err: expect.stringMatching(new RegExp(`^tutti: .*${line}.*\\n$`)) as string,
    })
    // Signed out, a missing folder, a broken link file, arguments of another version.
    expect(await tutti(['hook', 'context'], { env: { XDG_CONFIG_HOME: folder() }, cwd: repository })).toEqual(
      quiet('not signed in'),
    )
    expect(await hook('context', told({ cwd: join(at, 'gone') }))).toEqual(quiet('gone'))
    const broken = folder()
    writeFileSync(join(broken, '.tutti.json'), '{')
    expect(await hook('context', told({ cwd: broken }))).toEqual(quiet(''))
    for (const args of [['hook'], ['hook', 'future', '--of', 'another']])
      expect(await tutti(args, { env, cwd: at })).toEqual({ code: 0, out: '', err: '' })

    /** Signed in to something that is no server. */
    const elsewhere = (server: string) => {
      const where = folder()
      mkdirSync(join(where, 'tutti'), { mode: 0o700 })
      writeFileSync(join(where, '.tutti.json'), JSON.stringify({ server, team: 't', project: 'p', slug: 's' }))
      const profiles = { x: { server, kind: 'api_key', token: 'svc_key_x' } }
      writeFileSync(join(where, 'tutti', 'credentials.json'), JSON.stringify({ current: 'x', profiles }), {
        mode: 0o600,
      })
      return { env: { XDG_CONFIG_HOME: where }, cwd: where }
    }
    const started = performance.now()
    for (const what of ['context', 'checkpoint'])
      expect(await tutti(['hook', what], elsewhere('http://127.0.0.1:1'))).toEqual(quiet('cannot be reached'))
    expect(performance.now() - started).toBeLessThan(allowing(3000))
    using silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
    expect(await tutti(['hook', 'context'], elsewhere(`http://127.0.0.1:${silent.port}`))).toEqual(
      quiet('did not respond within 5 seconds'),
    )
    expect(performance.now() - started).toBeLessThan(allowing(12_000))
    // A pipe that stays open.
    const child = Bun.spawn([BINARY, 'hook', 'context'], {
      env: { PATH: process.env.PATH, ...env },
      cwd: at,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    expect(await child.exited).toBe(0)
  }, 300_000)
})
