import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CALLBACK, Program } from '../features/grants-support.ts'
import { type Person, person, type TestApp, testApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { connectedBy, install, programs } from './install.ts'

/** Programs of others sign in at our server. The person at the browser is played by what the programs open. */
const home = mkdtempSync(join(tmpdir(), 'tutti-signing-in-'))
const opened = join(home, 'opened')
let t: TestApp
let ada: Person

/** What the person does at this address, up to where the browser is sent back to the program. */
async function allow(address: string): Promise<Response> {
  const url = new URL(address)
  const program = new Program(t, url.searchParams.get('client_id') as string)
  const { status, body } = await program.decide(ada, { request: url.search.slice(1) })
  expect([status, body]).toEqual([200, expect.objectContaining({ ticket: expect.any(String) })])
  const answer = await program.consent(ada, body.ticket)
  return fetch(answer.headers.get('location') as string)
}

/** Runs a program that opens a browser, and answers there. */
async function signIn(
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; out: string }> {
  rmSync(opened, { force: true })
  const path = `${join(home, 'bin')}:${process.env.PATH}`
  const child = Bun.spawn([...command], {
    cwd: home,
    env: { HOME: home, PATH: path, BROWSER: join(home, 'bin/xdg-open'), TERM: 'xterm', DISPLAY: ':9', ...env },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const said = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  await until(() => existsSync(opened) || child.exitCode !== null)
  if (existsSync(opened)) await allow(readFileSync(opened, 'utf8').trim())
  const code = await child.exited
  return { code, out: (await said).join('') }
}

const isUsedBy = async (name: RegExp): Promise<boolean> => {
  const { items } = (await ada.fetch<{ items: { name: string; useCount: number }[] }>('GET', '/api/settings/grants'))
    .body
  return items.some((grant) => name.test(grant.name) && grant.useCount > 0)
}

describe.if(process.env.FULL === '1')('OAuth sign-in', () => {
  beforeAll(async () => {
    await install()
    // Without a way out, where programs register themselves: their documents are on the Internet.
    t = await testApp({ TRUSTED_PROXIES: '127.0.0.1', OUTBOUND: 'off' })
    ada = await person(t)
    mkdirSync(join(home, 'bin'))
    for (const name of ['xdg-open', 'open', 'sensible-browser']) {
      // Written in one step, because the test reads the file as soon as it exists.
      writeFileSync(
        join(home, 'bin', name),
        `#!/bin/sh\nprintf '%s' "$1" > ${opened}.new && mv ${opened}.new ${opened}\n`,
      )
      chmodSync(join(home, 'bin', name), 0o755)
    }
  }, 300_000)
  afterAll(async () => {
    await t?.close()
    rmSync(home, { recursive: true, force: true })
  })

  test('passes the conformance suite without failures or warnings', async () => {
    const port = new URL(CALLBACK).port
    const program = await Program.registered(t, { redirect_uris: [CALLBACK] })
    const child = Bun.spawn(
      [...programs.conformance, 'authorization', '--url', `${t.url}/mcp`, '--client-id', program.clientId, '-p', port],
      { stdout: 'pipe', stderr: 'pipe', env: { ...process.env, PATH: `${join(home, 'bin')}:${process.env.PATH}` } },
    )
    let out = ''
    const read = async (stream: ReadableStream<Uint8Array>) => {
      for await (const chunk of stream) {
        out += new TextDecoder().decode(chunk)
        const address = /https?:\/\/\S*\/oauth\/authorize\?\S+/.exec(out)?.[0]
        if (address && !answered) {
          answered = true
          await allow(address)
        }
      }
    }
    let answered = false
    await Promise.all([read(child.stdout), read(child.stderr)])
    expect([await child.exited, out]).toEqual([0, expect.not.stringMatching(/✗|warning/i)])
  }, 300_000)

  test('Codex signs in', async () => {
    mkdirSync(join(home, '.codex'))
    writeFileSync(join(home, '.codex/config.toml'), `[mcp_servers.tutti]\nurl = "${t.url}/mcp"\n`)
    const { code, out } = await signIn([...programs.codex, 'mcp', 'login', 'tutti'])
    expect([code, out]).toEqual([0, expect.stringMatching(/Successfully logged in/i)])
  }, 300_000)

  test('opencode signs in and is connected', async () => {
    mkdirSync(join(home, '.config/opencode'), { recursive: true })
    const settings = { mcp: { tutti: { type: 'remote', url: `${t.url}/mcp`, enabled: true } } }
    writeFileSync(join(home, '.config/opencode/opencode.json'), JSON.stringify(settings))
    const { out } = await signIn([...programs.opencode, 'mcp', 'auth', 'tutti'])
    expect(out).toMatch(/success|authenticated/i)
    await until(() => isUsedBy(/opencode/i))
  }, 300_000)

  test('Claude Code signs in and is connected', async () => {
    const quiet = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }
    const claude = (...args: string[]) => [...programs.claude, 'mcp', ...args]
    await signIn(claude('add', '--transport', 'http', '--scope', 'user', 'tutti', `${t.url}/mcp`), quiet)
    // It signs in only where a person could answer.
    const line = claude('login', 'tutti').join(' ')
    const { out } = await signIn(['script', '-qec', line, '/dev/null'], quiet)
    const isConnected = /tutti: .* ✔ Connected/
    const listed = await connectedBy(() => signIn(claude('list'), quiet), isConnected)
    expect([listed, out]).toEqual([expect.stringMatching(isConnected), expect.any(String)])
    await until(() => isUsedBy(/claude/i))
  }, 300_000)
})
