import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Program } from '../features/grants-support.ts'
import { folder, json, onTerminal, PASSWORD, tutti } from '../support/binary.ts'
import { type Home, Office } from './home.ts'

let office: Office
let home: Home
const work = folder()
beforeAll(async () => {
  office = await Office.open()
  home = await office.signedIn()
}, 300_000)
afterAll(() => office.server.kill())

const kept = (): Record<string, { token: string }> => {
  const file = join(dirname(home.file), 'mcp-tokens.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}
const line = (id: number, method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id, method, params })
const opening = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
const calls = (...args: [string, object]) =>
  `${line(1, 'initialize', opening)}\n${line(2, 'tools/call', { name: args[0], arguments: args[1] })}\n`
const works = async (token: string): Promise<number> =>
  (await fetch(`${office.url}/mcp`, { ...json('POST', { jsonrpc: '2.0', id: 1, method: 'ping' }, token) })).status

test('two users on one computer use their own tokens, and signing out revokes them', async () => {
  const alan = { email: 'alan@example.com', name: 'Alan Turing', password: PASSWORD }
  const made = await fetch(`${office.url}/api/auth/register`, json('POST', alan))
  const { token: alansToken } = (await made.json()) as { token: string }
  expect((await home.within(work, ['mcp'], calls('create_note', { title: 'of Grace' }))).out).toContain('of-grace')

  const { userCode, done } = await home.login([office.url, '--profile', 'alan'])
  await office.api('POST', '/api/auth/device/approve', { userCode }, alansToken)
  expect((await done).code).toBe(0)
  expect(
    (await home.within(work, ['mcp', '--profile', 'alan'], calls('create_note', { title: 'of Alan' }))).out,
  ).toContain('of-alan')
  const titles = async (as: string) =>
    (await office.api<{ items: { title: string }[] }>('GET', '/api/notes', undefined, as)).body.items.map(
      (n) => n.title,
    )
  expect(await titles(alansToken)).toEqual(['of Alan'])
  expect(await titles(office.token)).toEqual(['of Grace'])

  const tokens = Object.entries(kept())
  expect(tokens).toHaveLength(2)
  const [alans, graces] = ['alan', office.host].map(
    (name) => tokens.find(([key]) => key.includes(` ${name} `))?.[1].token as string,
  ) as [string, string]
  expect(await works(alans)).not.toBe(401)
  expect((await home.run('logout', '--profile', 'alan')).code).toBe(0)
  expect(await works(alans)).toBe(401)
  expect(await works(graces)).not.toBe(401)
  expect(Object.values(kept()).map(({ token }) => token)).toEqual([graces])
}, 300_000)

test('a new token revokes the token that it replaces', async () => {
  const [before] = Object.values(kept())
  const env = { ...home.env, HOME: folder() }
  expect(await tutti(['connect', 'cursor', '--stdio', '--profile', office.host], { env, cwd: work })).toMatchObject({
    code: 0,
  })
  const [now] = Object.values(kept())
  expect(now?.token).not.toBe(before?.token as string)
  expect(await works(before?.token as string)).toBe(401)
  expect(await works(now?.token as string)).not.toBe(401)
}, 300_000)

test('tokens create --project limits the token, and --default-project does not', async () => {
  const run = (...args: string[]) => home.run(...args, '--profile', office.host)
  for (const name of ['Lantern', 'Harbour']) expect((await run('projects', 'create', name)).code).toBe(0)
  const make = async (...args: string[]) =>
    JSON.parse((await run('tokens', 'create', ...args, '--json')).out) as {
      token: string
      projects: string[] | null
      defaultProject: string | null
    }
  const limited = await make('limited', '--project', 'lantern')
  expect([limited.projects, limited.defaultProject]).toEqual([[limited.defaultProject as string], expect.any(String)])
  const usual = await make('usual', '--default-project', 'lantern')
  expect([usual.projects, usual.defaultProject]).toEqual([null, limited.defaultProject])
  const get = { name: 'get_project', arguments: { project: 'harbour' } }
  const asked = async (token: string) => {
    const init = json('POST', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: get }, token)
    const headers = { ...init.headers, accept: 'application/json, text/event-stream' }
    return (await fetch(`${office.url}/mcp`, { ...init, headers })).text()
  }
  expect(await asked(limited.token)).toContain('not_found')
  expect(await asked(usual.token)).toContain('Harbour')
  expect((await run('tokens', 'show', 'limited')).out).toMatch(/^Projects +LAN$/m)
  expect((await run('tokens', 'list')).out).toContain('write, 1 project')
})

test('tutti mcp passes texts with every kind of line ending unchanged', async () => {
  const content = 'one\u2028two\u2029three\u0085four'
  const result = async (...args: [string, object]) => {
    const { out } = await home.within(work, ['mcp', '--profile', office.host], calls(...args))
    const messages = out.trim().split('\n')
    return messages.map((text) => JSON.parse(text)).find(({ id }) => id === 2).result
  }
  const made = await result('create_note', { title: 'ends', content })
  const read = await result('get_note', { note: made.structuredContent.slug })
  expect(JSON.stringify(read)).toContain(content)
}, 300_000)

test('tutti mcp sends messages only to the chosen server, not to an endpoint on another host', async () => {
  let stolen = 0
  const thief = Bun.serve({ port: 0, fetch: () => new Response(`${++stolen}`) })
  for (const answer of [
    () =>
      new Response(`event: endpoint\ndata: http://127.0.0.1:${thief.port}/take\n\n`, {
        headers: { 'content-type': 'text/event-stream' },
      }),
    () => new Response(null, { status: 307, headers: { location: `http://127.0.0.1:${thief.port}/take` } }),
  ]) {
    const sly = Bun.serve({ port: 0, fetch: answer })
    const env = { TUTTI_MCP_TOKEN: 'mcp_live_x' }
    const { out } = await tutti(['mcp', '--server', `http://127.0.0.1:${sly.port}`], {
      env,
      stdin: `${line(1, 'initialize', opening)}\n`,
    })
    expect(JSON.parse(out)).toMatchObject({ id: 1, error: { code: -32_000 } })
    sly.stop(true)
  }
  expect(stolen).toBe(0)
  thief.stop(true)
}, 300_000)

test('tutti connect does not write a token into settings in a git repository without --yes', async () => {
  const at = folder()
  const env = { ...home.env, HOME: at }
  const git = (...args: string[]) => Bun.spawnSync(['git', ...args], { cwd: join(at, 'dotfiles') })
  mkdirSync(join(at, 'dotfiles'))
  mkdirSync(join(at, '.cursor'))
  writeFileSync(join(at, 'dotfiles', 'mcp.json'), '{}')
  symlinkSync(join(at, 'dotfiles', 'mcp.json'), join(at, '.cursor', 'mcp.json'))
  git('init', '-q')
  git('add', '-A')
  const connect = (...more: string[]) =>
    tutti(['connect', 'cursor', '--profile', office.host, '--no-hooks', ...more], { env, cwd: work })
  const before = Object.keys((await office.api<{ items: object[] }>('GET', '/api/mcp-tokens')).body.items).length
  expect(await connect()).toMatchObject({ code: 5, err: expect.stringContaining('in a git repository') })
  expect(readFileSync(join(at, 'dotfiles', 'mcp.json'), 'utf8')).toBe('{}')
  expect(Object.keys((await office.api<{ items: object[] }>('GET', '/api/mcp-tokens')).body.items)).toHaveLength(before)
  expect(await connect('--stdio')).toMatchObject({ code: 0 })
  expect(readFileSync(join(at, 'dotfiles', 'mcp.json'), 'utf8')).not.toContain('svc_')
  expect(await connect('--yes')).toMatchObject({ code: 0 })
  // A file that git ignores is not committed, so a token in it needs no --yes.
  git('rm', '-q', '-f', '--cached', 'mcp.json')
  writeFileSync(join(at, 'dotfiles', '.gitignore'), 'mcp.json\n')
  writeFileSync(join(at, 'dotfiles', 'mcp.json'), '{}')
  expect(await connect()).toMatchObject({ code: 0 })
}, 300_000)

test('users list and end their authorized programs, and operators add and remove OAuth clients', async () => {
  const home = await office.signedIn()
  const dir = ['--data-dir', office.server.dir]
  const added = await tutti(['oauth', 'clients', 'add', 'Robot', 'http://127.0.0.1/callback', '--json', ...dir])
  const { id } = JSON.parse(added.out) as { id: string }
  expect((await tutti(['oauth', 'clients', 'list', ...dir])).out).toBe(
    `${id}  Robot (added by an administrator, authorized 0 times)\n`,
  )
  const wrong = await tutti(['oauth', 'clients', 'add', 'Robot', 'http://robot.example/', ...dir])
  expect(wrong.err).toContain('must begin with https://')
  expect(wrong.code).not.toBe(0)

  const { body: teams } = await office.api<{ items: { id: string }[] }>('GET', '/api/teams')
  const program = new Program(office, id)
  const grace = {
    token: office.token,
    organizationId: teams.items[0]?.id as string,
    fetch: async <T>(method: string, path: string, body?: unknown) => ({
      ...(await office.api<T>(method, path, body as object)),
      headers: new Headers(),
    }),
  }
  expect((await home.run('oauth', 'list')).err).toContain('No programs.')
  const { access_token } = await program.tokens(grace)
  expect(await works(access_token)).not.toBe(401)
  const shown = await onTerminal(['oauth', 'list'], { env: home.env, columns: 120 })
  expect(shown.shown).toMatch(/Robot +Robot \(Grace Hopper\) +write +/)
  expect((await home.run('oauth', 'end', 'Robot')).out).toBe('Permission ended.\n')
  expect(await works(access_token)).toBe(401)
  expect((await tutti(['oauth', 'clients', 'remove', id, ...dir])).out).toBe(
    'Removed the program and revoked its access.\n',
  )
  expect((await tutti(['oauth', 'clients', 'list', '--json', ...dir])).out).not.toContain(id)
}, 300_000)

test('tutti connect on a terminal creates no token for a program that can sign in', async () => {
  const [home, at] = [await office.signedIn(), folder()]
  const connect = (...more: string[]) =>
    onTerminal(['connect', 'codex', '--no-hooks', '--profile', office.host, ...more], {
      env: { ...home.env, HOME: at },
      columns: 200,
    })
  const settings = () => readFileSync(join(at, '.codex/config.toml'), 'utf8')
  expect((await connect()).shown).toContain('Sign in with: codex mcp login tutti')
  expect(settings()).toBe(`[mcp_servers.tutti]\nurl = "${office.url}/mcp"\n`)
  await connect('--token', '--yes')
  expect(settings()).toContain(`${office.url}/mcp/token`)
}, 300_000)
