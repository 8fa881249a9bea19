import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseServer } from '../../cli/api/profiles.ts'
import { newSecret } from '../../src/auth/secrets.ts'
import { folder, tutti } from '../support/binary.ts'
import { EMAIL, Home, Office } from './home.ts'

let office: Office
beforeAll(async () => {
  office = await Office.open()
})
afterAll(() => office.server.kill())

describe('tutti login --with-token', () => {
  const withKey = (home: Home, stdin: string, ...args: string[]) =>
    tutti(['login', office.url, '--with-token', ...args], { env: home.env, stdin })

  test('reads the key from standard input; logout deletes it here without revoking it', async () => {
    const home = new Home(office)
    const key = await office.key()
    const login = await withKey(home, `${key}\n`)
    expect(login).toEqual({ code: 0, out: `Signed in to ${office.url} as Grace Hopper <${EMAIL}>.\n`, err: '' })
    expect((await home.run('whoami')).out).toContain('Signed in  with an API key')
    expect(statSync(home.file).mode & 0o777).toBe(0o600)
    expect((await home.run('logout')).out).toContain('The API key still works')
    expect((await office.api('GET', '/api/auth/me', undefined, key)).status).toBe(200)
  })

  test('accepts a key with few scopes', async () => {
    const home = new Home(office)
    expect(await withKey(home, await office.key(['notes:read']))).toMatchObject({
      code: 0,
      out: `Signed in to ${office.url} with an API key.\n`,
    })
    expect(JSON.parse((await home.run('whoami', '--json')).out)).toMatchObject({
      user: null,
      team: null,
      credential: { kind: 'api_key' },
    })
    expect((await home.run('status')).code).toBe(0)
  })

  test('refuses input that is not an API key, and stores nothing', async () => {
    const home = new Home(office)
    for (const [stdin, code, told] of [
      ['', 2, 'not a complete API key'],
      ['hunter2', 2, 'not a complete API key'],
      [newSecret('api_key').slice(0, -1), 2, 'not a complete API key'],
      [newSecret('refresh'), 2, 'not a complete API key'],
      [newSecret('mcp_live'), 2, 'MCP token'],
      [newSecret('api_key'), 3, 'not valid'],
    ] as const) {
      const refused = await withKey(home, stdin)
      expect([refused.code, refused.err.includes(told)]).toEqual([code, true])
      if (stdin) expect(refused.err).not.toContain(stdin)
    }
    expect(existsSync(home.file)).toBe(false)
  })
})

describe('a wrong or hostile server', () => {
  test('is reported as such, not as a bug', async () => {
    const home = new Home(office)
    const seen: string[] = []
    const other = Bun.serve({
      port: 0,
      fetch(request) {
        const { pathname } = new URL(request.url)
        seen.push(`${request.headers.get('user-agent')} ${request.headers.get('authorization')} ${pathname}`)
        return pathname.startsWith('/api/auth/me')
          ? Response.redirect(`${office.url}/api/auth/me`)
          : new Response('<h1>Hello</h1>')
      },
    })
    const address = `http://localhost:${other.port}`
    expect(await home.run('login', address)).toMatchObject({
      code: 6,
      err: expect.stringContaining('is not a Tutti server') as string,
    })
    const moved = await tutti(['login', address, '--with-token'], { env: home.env, stdin: newSecret('api_key') })
    expect(moved).toMatchObject({ code: 6, err: expect.stringContaining(`redirects to ${office.url}`) as string })
    expect(await home.run('status', '--server', address)).toMatchObject({ code: 6, out: '' })
    expect(seen[0]).toMatch(/^tutti\/\d+\.\d+\.\d+ null /)
    await other.stop(true)
    expect(await home.run('login', address)).toMatchObject({
      code: 6,
      err: expect.stringContaining('cannot be reached') as string,
    })
    for (const bad of ['ftp://x', 'https://x/path', 'https://u:p@x', 'not a office.host', 'https://', ''])
      expect([bad, (await home.run('login', bad)).code]).toEqual([bad, 2])
    expect(existsSync(home.file)).toBe(false)
  })

  test.each([
    ['tutti.example.com', 'https://tutti.example.com'],
    ['localhost:4242', 'http://localhost:4242'],
    ['127.0.0.1', 'http://127.0.0.1'],
    ['[::1]:4242', 'http://[::1]:4242'],
    ['localhost.example.com', 'https://localhost.example.com'],
    ['127.example.com', 'https://127.example.com'],
    ['http://tutti.lan', 'http://tutti.lan'],
  ])('%s is %s: only this machine is spoken to in the clear', (typed, server) => {
    expect(parseServer(typed)).toBe(server)
  })

  const evil = (answers: Record<string, (asked: number) => object>) => {
    const asked: Record<string, number[]> = {}
    const stub = Bun.serve({
      port: 0,
      fetch(request) {
        const { pathname } = new URL(request.url)
        asked[pathname] ??= []
        asked[pathname].push(performance.now())
        const body = answers[pathname]?.(asked[pathname].length) ?? {}
        const wrong = 'code' in body
        return Response.json(body, {
          status: wrong ? 400 : 200,
          headers: { 'content-type': `application/${wrong ? 'problem+' : ''}json` },
        })
      },
    })
    return { address: `http://localhost:${stub.port}`, asked, stop: () => stub.stop(true) }
  }
  const started = {
    deviceCode: 'x',
    userCode: 'BCDF-GHJK',
    verificationUri: 'http://localhost/device',
    expiresIn: 600,
    interval: 1,
  }
  const problem = (error: string) => ({ code: 'invalid.device', status: 400, detail: 'no', error })

  test('can slow the polling down by five seconds; polling ends when the code expires', async () => {
    const slow = evil({
      // After 1, 2 and 8 seconds, with five to spare; the fourth would come after 14.
      '/api/auth/device/request': () => ({ ...started, expiresIn: 13 }),
      '/api/auth/device/poll': (n) =>
        problem(n === 1 ? 'authorization_pending' : n === 2 ? 'slow_down' : 'authorization_pending'),
    })
    expect(await new Home(office).run('login', slow.address)).toMatchObject({
      code: 5,
      err: expect.stringContaining('The code expired') as string,
    })
    const polls = slow.asked['/api/auth/device/poll'] as [number, number, number]
    expect(polls).toHaveLength(3)
    expect(polls[1] - polls[0]).toBeGreaterThan(990)
    expect(polls[2] - polls[1]).toBeGreaterThan(5990)
    await slow.stop()
    const gone = evil({
      '/api/auth/device/request': () => started,
      '/api/auth/device/poll': () => problem('expired_token'),
    })
    expect((await new Home(office).run('login', gone.address)).code).toBe(5)
    await gone.stop()
  }, 300_000)

  test('cannot control the terminal, and only web pages are opened', async () => {
    const home = new Home(office)
    for (const verificationUri of ['file:///etc/passwd', 'javascript:alert(1)', 'x-evil://go', ''])
      await using({ '/api/auth/device/request': () => ({ ...started, verificationUri }) }, async (address) =>
        expect(await home.run('login', address)).toMatchObject({
          code: 6,
          err: expect.stringContaining('returned no page') as string,
        }),
      )
    const bell = '\x1b]0;mine\x07\u202e'
    await using(
      { '/api/auth/device/request': () => ({ code: 'forbidden', status: 403, detail: `${bell}no` }) },
      async (address) =>
        expect(await home.run('login', address)).toEqual({ code: 3, out: '', err: 'tutti: ]0;mine no\n' }),
    )
    expect(existsSync(home.file)).toBe(false)
  })

  test('with invalid answers is polled with pauses and not forever', async () => {
    const home = new Home(office)
    for (const nonsense of [{ expiresIn: undefined }, { expiresIn: 'x' }, { userCode: 1 }])
      await using({ '/api/auth/device/request': () => ({ ...started, ...nonsense }) }, async (address) =>
        expect(await home.run('login', address)).toMatchObject({
          code: 6,
          err: expect.stringContaining('returned no valid code') as string,
        }),
      )
    const hasty = evil({
      '/api/auth/device/request': () => ({ ...started, interval: -1, expiresIn: 2 }),
      '/api/auth/device/poll': () => problem('authorization_pending'),
    })
    expect((await home.run('login', hasty.address)).code).toBe(5)
    expect(hasty.asked['/api/auth/device/poll']).toBeUndefined()
    await hasty.stop()
  })

  async function using(
    answers: Parameters<typeof evil>[0],
    work: (address: string) => Promise<unknown>,
  ): Promise<void> {
    const { address, stop } = evil(answers)
    await work(address)
    await stop()
  }
})

describe('the credentials file', () => {
  test('is refused if others can read it or if it is damaged', async () => {
    const home = new Home(office)
    await tutti(['login', office.url, '--with-token'], { env: home.env, stdin: await office.key() })
    for (const mode of [0o644, 0o640, 0o604]) {
      chmodSync(home.file, mode)
      for (const command of ['whoami', 'status', 'login', 'logout', 'profiles'])
        expect(await home.run(command)).toEqual({
          code: 2,
          out: '',
          err: `tutti: ${home.file} contains your credentials and can be read by others. Run: chmod 600 ${home.file}\n`,
        })
    }
    chmodSync(home.file, 0o600)
    expect((await home.run('whoami')).code).toBe(0)
    writeFileSync(home.file, '{"current"')
    expect(await home.run('whoami')).toMatchObject({ code: 2, err: expect.stringContaining('is damaged') as string })
  })

  test('holds several servers, one of which is the default', async () => {
    const home = new Home(office)
    const other = await Office.open()
    const keys = [await office.key(), await other.key()] as const
    const login = (url: string, stdin: string, ...more: string[]) =>
      tutti(['login', url, '--with-token', ...more], { env: home.env, stdin })
    // At the same time: neither takes away what the other has written.
    const both = await Promise.all([login(office.url, keys[0]), login(other.url, keys[1], '--profile', 'work')])
    expect(both.map((r) => r.code)).toEqual([0, 0])
    const where = async (...args: string[]) =>
      (JSON.parse((await home.run('whoami', '--json', ...args)).out) as { server: string }).server
    expect((await home.run('profiles', 'use', 'work')).code).toBe(0)
    expect(await where()).toBe(other.url)
    expect(await where('--profile', office.host)).toBe(office.url)
    expect(await where('--server', office.url)).toBe(office.url)
    const list = JSON.parse((await home.run('profiles', '--json')).out) as {
      current: string
      items: { name: string }[]
    }
    expect([list.current, list.items.map((p) => p.name).sort()]).toEqual(['work', [office.host, 'work'].sort()])
    expect((await home.run('profiles')).out).toMatch(/^work +http\S+ +\S+ +yes$/m)
    expect((await home.run('whoami', '--profile', 'nowhere')).code).toBe(4)
    expect((await home.run('profiles', 'use', 'nowhere')).code).toBe(4)
    expect((await home.run('whoami', '--profile', 'work', '--server', office.url)).code).toBe(2)
    expect((await home.run('whoami', '--server', 'tutti.invalid')).code).toBe(3)
    // Signing out of one makes no other one the one that is meant.
    expect((await home.run('logout')).code).toBe(0)
    expect((await home.run('whoami')).code).toBe(3)
    expect(await where('--profile', office.host)).toBe(office.url)
    await other.server.kill()
  }, 300_000)
})

test('credentials are stored in the home folder by default', async () => {
  const home = folder()
  mkdirSync(join(home, '.config', 'tutti'), { recursive: true, mode: 0o755 })
  expect(
    (await tutti(['login', office.url, '--with-token'], { env: { HOME: home }, stdin: await office.key() })).code,
  ).toBe(0)
  expect(statSync(join(home, '.config', 'tutti')).mode & 0o777).toBe(0o700)
  expect(statSync(join(home, '.config', 'tutti', 'credentials.json')).mode & 0o777).toBe(0o600)
})
