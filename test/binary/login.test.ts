import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BINARY, folder, freePort, serve, tutti } from '../support/binary.ts'
import { until } from '../support/until.ts'
import { EMAIL, Home, Office } from './home.ts'

let office: Office
/** Signed-in users, one for each test that needs one. Created in parallel: a sign-in by a code waits five seconds. */
const homes: Home[] = []
const signedIn = (): Home => homes.pop() as Home
beforeAll(async () => {
  office = await Office.open()
  homes.push(...(await Promise.all(Array.from({ length: 5 }, () => office.signedIn()))))
}, 300_000)
afterAll(() => office.server.kill())

describe('tutti login with a code', () => {
  test('prints the code to standard error, the result to standard output, and never the credential', async () => {
    const home = new Home(office)
    const { userCode, done, shown } = await home.login([office.url, '--json'])
    expect(shown()).toContain(`${office.url}/device\n`)
    expect((await office.answer(userCode)).status).toBe(200)
    const { code, out, err } = await done
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual({
      profile: office.host,
      server: office.url,
      user: { id: expect.any(String) as string, name: 'Grace Hopper', email: EMAIL },
      credential: { kind: 'device' },
    })
    for (const secret of ['\x1b', 'eyJ', 'svc_']) expect(out + err).not.toContain(secret)
    expect(statSync(home.file).mode & 0o777).toBe(0o600)
    expect(statSync(join(home.file, '..')).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(join(home.file, '..')))
      expect(statSync(join(home.file, '..', name)).mode & 0o077).toBe(0)

    const who = await home.run('whoami', '--json')
    expect(JSON.parse(who.out)).toEqual({
      profile: office.host,
      server: office.url,
      user: { id: expect.any(String) as string, name: 'Grace Hopper', email: EMAIL, handle: 'grace', role: 'user' },
      team: { id: expect.any(String) as string, name: "Grace Hopper's space", slug: 'grace', role: 'owner' },
      credential: { kind: 'device', device: expect.stringMatching(/^tutti on ./) as string },
    })
    const told = await home.run('whoami')
    expect(told.out).toContain(
      `Grace Hopper <${EMAIL}>\nServer     ${office.url}\nTeam       Grace Hopper's space\nSigned in  as tutti on `,
    )
    const status = await home.run('status', '--json')
    expect(status.code).toBe(0)
    expect(JSON.parse(status.out)).toEqual({
      profile: office.host,
      server: office.url,
      reachable: true,
      status: 'ok',
      version: (await tutti(['--version'])).out.trim(),
      signedIn: true,
      user: { id: expect.any(String) as string, name: 'Grace Hopper', email: EMAIL },
    })
    // The command line is a device, and signs in no others.
    const other = await new Home(office).login()
    expect(
      (await office.api('POST', '/api/auth/device/approve', { userCode: other.userCode }, home.stored?.token)).status,
    ).toBe(403)
    other.child.kill()
    await other.done
  }, 300_000)

  test('stores nothing if the sign-in is denied or not allowed', async () => {
    const home = new Home(office)
    const { userCode, done } = await home.login()
    await office.answer(userCode, { deny: true })
    expect(await done).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringContaining('The sign-in was denied.') as string,
    })
    const off = await serve({ env: { DEVICE_FLOW: 'off' } })
    expect(await home.run('login', off.url)).toMatchObject({
      code: 3,
      err: expect.stringContaining('Run: tutti login --with-token') as string,
    })
    await off.kill()
    expect(existsSync(home.file)).toBe(false)
  }, 300_000)

  test('succeeds although the server was restarted while it waited', async () => {
    const first = await Office.open({}, String(freePort()))
    const { userCode, done } = await new Home(first).login()
    await first.server.kill()
    const again = await serve({ dir: first.server.dir, port: new URL(first.url).port })
    expect((await first.answer(userCode)).status).toBe(200)
    const told = expect.stringContaining(`Signed in to ${first.url} as Grace Hopper <${EMAIL}>`) as string
    expect(await done).toMatchObject({ code: 0, out: told })
    await again.kill()
  }, 300_000)

  test('ends the earlier session of the profile', async () => {
    const home = signedIn()
    const before = home.stored?.token
    const team = (await office.api<{ id: string }>('GET', '/api/team')).body.id
    home.edit({ team })
    const { userCode, done } = await home.login([])
    await office.answer(userCode)
    expect((await done).code).toBe(0)
    expect(home.stored?.token).not.toBe(before)
    // The team that commands are about stays.
    expect(home.stored?.team).toBe(team)
    expect((await office.api('GET', '/api/auth/me', undefined, before)).status).toBe(401)
    expect((await home.run('whoami')).code).toBe(0)
  }, 300_000)
})

describe('the login session', () => {
  test('is renewed once for all processes when the access token has expired or is refused', async () => {
    const home = signedIn()
    const first = home.stored
    home.edit({ token: 'eyJ.garbage' })
    expect((await home.run('whoami')).code).toBe(0)
    const second = home.stored
    expect(second?.token).toStartWith('eyJ')
    expect(second?.refreshToken).not.toBe(first?.refreshToken)
    // Before the server has to say so.
    home.edit({ expiresAt: new Date(Date.now() - 1000).toISOString() })
    expect((await home.run('whoami')).code).toBe(0)
    const third = home.stored
    expect(third?.refreshToken).not.toBe(second?.refreshToken)
    let refreshed = 0
    const counting = Bun.serve({
      port: 0,
      async fetch(request) {
        const { pathname } = new URL(request.url)
        if (pathname === '/api/auth/refresh') refreshed++
        const headers = {
          'content-type': 'application/json',
          authorization: request.headers.get('authorization') ?? 'Bearer none',
        }
        return fetch(office.url + pathname, {
          method: request.method,
          headers,
          body: (await request.text()) || undefined,
        })
      },
    })
    for (const change of [{ token: 'eyJ.garbage' }, { expiresAt: new Date(0).toISOString() }]) {
      home.edit({ ...change, server: `http://localhost:${counting.port}` })
      refreshed = 0
      const runs = await Promise.all(Array.from({ length: 6 }, () => home.run('whoami', '--json')))
      expect(runs.map((r) => [r.code, r.err])).toEqual(runs.map(() => [0, '']))
      expect(refreshed).toBe(1)
      expect((await home.run('whoami')).code).toBe(0)
    }
    await counting.stop(true)
    home.edit({ server: office.url })
    // An old refresh token is what a thief would have: the session ends, and the command line says so.
    expect((await office.api('POST', '/api/auth/refresh', { refreshToken: first?.refreshToken })).status).toBe(401)
    const ended = await home.run('whoami')
    expect(ended).toMatchObject({
      code: 3,
      err: `tutti: Your session on ${office.url} has ended. Run: tutti login ${office.url}\n`,
    })
    expect(home.stored).toMatchObject({ server: office.url })
    expect(home.text).not.toMatch(/eyJ|svc_/)
    expect(await home.run('status')).toMatchObject({ code: 3, out: expect.stringContaining(' runs Tutti ') as string })
  }, 300_000)

  test('stays usable after a process with the lock was killed', async () => {
    const home = signedIn()
    // Takes the refresh token and never answers.
    const deaf = Bun.serve({ port: 0, fetch: () => new Promise<Response>(() => undefined) })
    home.edit({ expiresAt: new Date(0).toISOString(), server: `http://localhost:${deaf.port}` })
    const stuck = Bun.spawn([BINARY, 'whoami'], {
      env: { PATH: '', HOME: '/', ...home.env },
      stdout: 'ignore',
      stderr: 'ignore',
    })
    while (deaf.pendingRequests === 0) await Bun.sleep(10)
    home.edit({ server: office.url })
    const waiting = home.run('whoami')
    stuck.kill('SIGKILL')
    expect((await waiting).code).toBe(0)
    await deaf.stop(true)
  }, 300_000)

  test('ends with logout on this computer and on the server', async () => {
    const home = signedIn()
    const { token: held } = home.stored ?? {}
    // Also when only the refresh token is still good.
    home.edit({ token: 'eyJ.garbage' })
    expect(await home.run('logout')).toEqual({ code: 0, out: `Signed out of ${office.url}.\n`, err: '' })
    expect((await office.api('GET', '/api/auth/me', undefined, held)).status).toBe(401)
    expect(home.text).not.toContain(office.host)
    for (const command of ['whoami', 'logout', 'status']) {
      const refused = await home.run(command)
      expect([command, refused.code, refused.out]).toEqual([command, 3, ''])
      expect(refused.err).toContain('not signed in')
    }
  }, 300_000)

  test('is deleted on this computer although the server cannot be reached', async () => {
    const home = signedIn()
    const address = `http://localhost:${freePort()}`
    home.edit({ server: address })
    expect(await home.run('status', '--json')).toMatchObject({
      code: 6,
      out: expect.stringContaining('"reachable": false') as string,
    })
    expect(await home.run('whoami')).toMatchObject({
      code: 6,
      err: expect.stringContaining('cannot be reached') as string,
    })
    expect(await home.run('logout')).toMatchObject({
      code: 6,
      err: expect.stringContaining('Signed out on this computer, but') as string,
    })
    expect(home.text).not.toMatch(/eyJ|svc_/)
  }, 300_000)
})

describe('tutti login on a terminal', () => {
  /** A display, and a browser that records the addresses that it opens. */
  function desk(): { env: Record<string, string>; opened(): string } {
    const bin = folder()
    const note = join(bin, 'opened')
    writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\nprintf '%s\\n' "$@" >> ${note}\n`, { mode: 0o755 })
    return {
      env: { PATH: `${bin}:${process.env.PATH}`, DISPLAY: ':9', TERM: 'xterm' },
      opened: () => (existsSync(note) ? readFileSync(note, 'utf8') : ''),
    }
  }

  test('opens the page in a browser without the code, and prints the code in bold', async () => {
    const { env, opened } = desk()
    const home = new Home(office)
    const { userCode, done, shown } = await home.login([office.url], env)
    expect(shown()).toContain(`\x1b[1m${userCode}\x1b[0m`)
    await office.answer(userCode)
    expect(await done).toMatchObject({ code: 0 })
    await until(() => opened() !== '')
    expect(opened()).toBe(`${office.url}/device\n`)
    expect(shown()).toContain('as \x1b[1mGrace Hopper\x1b[0m')
  }, 300_000)

  test.each([
    ['--no-browser', ['--no-browser'], {}],
    ['no screen', [], { DISPLAY: '' }],
    ['from afar', [], { SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' }],
  ])('opens no browser (%s), respects NO_COLOR, and stops at Ctrl-C', async (_, more, without) => {
    const { env, opened } = desk()
    const home = new Home(office)
    const { child, done, shown } = await home.login([office.url, ...more], { ...env, ...without, NO_COLOR: '1' })
    expect(shown()).not.toContain('\x1b[')
    child.stdin.write('\x03')
    child.stdin.flush()
    const { code } = await done
    expect(code).toBe(130)
    expect(shown()).toContain('Not signed in.')
    expect(opened()).toBe('')
    expect(existsSync(home.file)).toBe(false)
  })
})
