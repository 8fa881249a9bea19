import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { EMAIL, folder, json, PASSWORD, type Run, type Served, serve, tutti } from '../support/binary.ts'

const NEW_PASSWORD = 'seven quiet lamps at dusk'
const stops: (() => Promise<unknown>)[] = []
afterAll(() => Promise.all(stops.map((stop) => stop())))
const running = async (dir?: string): Promise<Served> => {
  const server = await serve({ dir })
  stops.push(() => server.kill())
  return server
}

interface Pair {
  token: string
  refreshToken: string
}
const login = (server: Served, password: string, email = EMAIL) =>
  fetch(`${server.url}/api/auth/login`, json('POST', { email, password }))
const pairOf = async (answer: Response): Promise<Pair> => (await answer.json()) as Pair
const me = async (server: Served, token: string) =>
  (await fetch(`${server.url}/api/auth/me`, { headers: { authorization: `Bearer ${token}` } })).status
const refresh = (server: Served, refreshToken: string) =>
  fetch(`${server.url}/api/auth/refresh`, json('POST', { refreshToken }))

const createAdmin = (dir: string) =>
  tutti(['admin', 'create', '--email', EMAIL, '--name', 'Ada', '--password-stdin', '--data-dir', dir], {
    stdin: PASSWORD,
  })
const resetPassword = (dir: string, stdin = NEW_PASSWORD, email = EMAIL): Promise<Run> =>
  tutti(['admin', 'reset-password', '--email', email, '--password-stdin', '--data-dir', dir], { stdin })

describe('tutti admin reset-password', () => {
  let server: Served
  beforeAll(async () => {
    server = await running()
    expect((await createAdmin(server.dir)).code).toBe(0)
  })

  test('sets a new password through the running server and ends all sessions, keys and tokens', async () => {
    const { token, refreshToken } = await pairOf(await login(server, PASSWORD))
    const key = await pairOf(await fetch(`${server.url}/api/settings/api-keys`, json('POST', { name: 'key' }, token)))
    expect([await me(server, token), await me(server, key.token)]).toEqual([200, 200])
    const { code, out, err } = await resetPassword(server.dir, `${NEW_PASSWORD}\n`)
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(`${EMAIL} has a new password`)
    expect(out).not.toContain(NEW_PASSWORD)
    expect([await me(server, token), await me(server, key.token)]).toEqual([401, 401])
    expect((await refresh(server, refreshToken)).status).toBe(401)
    expect((await login(server, PASSWORD)).status).toBe(401)
    expect((await login(server, NEW_PASSWORD)).status).toBe(200)
    expect(server.output()).not.toContain(NEW_PASSWORD)
  })

  test('lifts the rate limit after too many wrong passwords', async () => {
    for (let i = 0; i < 6; i++) await login(server, 'not the password at all')
    expect((await login(server, NEW_PASSWORD)).status).toBe(429)
    expect((await resetPassword(server.dir)).code).toBe(0)
    expect((await login(server, NEW_PASSWORD)).status).toBe(200)
  })

  test('prints what is wrong and exits with the matching code', async () => {
    const unknown = await resetPassword(server.dir, NEW_PASSWORD, 'nobody@example.com')
    expect([unknown.code, unknown.err]).toEqual([
      4,
      'tutti: There is no account with the address nobody@example.com.\n',
    ])
    const weak = await resetPassword(server.dir, 'abcd efgh ijkl')
    expect([weak.code, weak.err]).toEqual([2, 'tutti: The password needs at least 15 characters.\n'])
    expect((await resetPassword(server.dir, '')).code).toBe(2)
    expect((await resetPassword(server.dir, NEW_PASSWORD, 'no address')).code).toBe(2)
    const asked = await tutti(['admin', 'reset-password', '--email', EMAIL, '--data-dir', server.dir], {
      stdin: NEW_PASSWORD,
    })
    expect(asked.code).toBe(2)
    expect(asked.err).toContain('--password-stdin')
    expect((await tutti(['admin', 'reset-password', '--data-dir', server.dir])).code).toBe(2)
    expect((await login(server, NEW_PASSWORD)).status).toBe(200)
  })

  test('works while no server is running', async () => {
    const dir = folder()
    expect((await createAdmin(dir)).code).toBe(0)
    expect((await resetPassword(dir)).code).toBe(0)
    const started = await running(dir)
    expect((await login(started, PASSWORD)).status).toBe(401)
    expect((await login(started, NEW_PASSWORD)).status).toBe(200)
  })
})

test('reuse of a refresh token ends its session, also after the server was killed', async () => {
  const first = await running()
  expect((await createAdmin(first.dir)).code).toBe(0)
  const stolen = await pairOf(await login(first, PASSWORD))
  const other = await pairOf(await login(first, PASSWORD))
  const next = await pairOf(await refresh(first, stolen.refreshToken))
  // Their owner has gone on, so that the stolen one was not replaced by the last renewal, whatever the time.
  const last = await pairOf(await refresh(first, next.refreshToken))
  expect(await me(first, last.token)).toBe(200)
  await first.kill()

  const second = await running(first.dir)
  expect(await me(second, last.token)).toBe(200)
  expect((await refresh(second, stolen.refreshToken)).status).toBe(401)
  expect([await me(second, last.token), await me(second, stolen.token)]).toEqual([401, 401])
  await second.kill()

  const third = await running(first.dir)
  expect((await refresh(third, last.refreshToken)).status).toBe(401)
  expect((await refresh(third, other.refreshToken)).status).toBe(200)
})
