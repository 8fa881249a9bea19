import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Problem } from '../../src/errors.ts'
import type { Repository, RepositoryPage } from '../../src/features/repositories/schema.ts'
import { requireSafePath } from '../../src/outside/codehosts/host-address.ts'
import { call, logged, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { type FakeCodeHost, type FakeRepository, fakeRepositoryHost } from '../support/code-host.ts'
import { asIfPublic, certificateFor, PUBLIC } from '../support/tls.ts'
import { expectEvents, expectNoEvents, expectRefusal, watch } from './support.ts'

const at = (provider: string) => `/api/settings/integrations/user/${provider}`
const TOKEN = 'pat_averysecrettokenofadas9876'
const tls = certificateFor('git.example.com', 'other.example.com')
const outside = fakeRepositoryHost('gitea', tls)
const own = fakeRepositoryHost('github')
const other = fakeRepositoryHost('gitea', tls)
const addressOf = ({ url }: FakeCodeHost, name = 'git.example.com') => url.replace('127.0.0.1', name)

let resolved = [PUBLIC]
let t: TestApp
let ada: Person
let slug: string
let there: FakeRepository
beforeAll(async () => {
  t = watch(await testApp(own.settings, undefined, { ...asIfPublic(tls.cert), resolve: async () => resolved }))
})
afterAll(() => t.close())
beforeEach(async () => {
  ada = await person(t)
  slug = `${unique('tutti')}/engine`
  resolved = [PUBLIC]
  for (const host of [outside, own, other]) {
    there = host.add(slug)
    host.tokens.add(TOKEN)
    host.fault = undefined
    host.asked.length = 0
  }
  there = own.repositories.get(slug) as FakeRepository
})
const saveOutside = (url = addressOf(outside)) => ada.fetch('PUT', at('gitea'), { secret: TOKEN, settings: { url } })
const connect = (repo: string) => ada.fetch<Repository>('POST', '/api/repos', { repo })

describe('a code host that a user names', () => {
  test('is called only after the user saved a token for it, and only there', async () => {
    const repo = `${addressOf(outside)}/${slug}`
    const { errors } = await expectRefusal(t, await connect(repo), 422, 'invalid')
    expect(errors?.[0]?.message).toContain('is not a code host that you have connected')
    expect((await saveOutside()).status).toBe(200)
    const made = await connect(repo)
    expect(made.body).toMatchObject({ provider: 'gitea', url: repo, status: 'ready' })
    expect(outside.asked.length).toBeGreaterThan(3)
    for (const { headers } of outside.asked) expect(headers.get('authorization')).toBe(`token ${TOKEN}`)
    // The operator's host gets no token that was saved for another.
    await connect(slug)
    expect(own.asked.length).toBeGreaterThan(3)
    expect(own.asked.filter(({ headers }) => headers.has('authorization'))).toEqual([])
  })

  test.each([
    ['http://git.example.com'],
    ['https://127.0.0.1'],
    ['https://[::1]'],
    ['https://2130706433'],
    ['https://169.254.169.254'],
    ['https://10.0.0.8:3000/gitea'],
    ['https://ada:hush@git.example.com'],
  ])('is refused with the address %s', async (url) => {
    const problem = await expectRefusal(t, await saveOutside(url), 422, 'invalid')
    expect(problem.errors).toMatchObject([{ pointer: '/settings/url' }])
    expect(JSON.stringify(problem)).not.toContain('hush')
  })

  test('must be given with a token for Gitea', async () => {
    const problem = await expectRefusal(t, await ada.fetch('PUT', at('gitea'), { secret: TOKEN }), 422, 'invalid')
    expect(problem.errors).toMatchObject([{ pointer: '/settings/url', code: 'required' }])
  })

  test('cannot be changed for a saved token without sending the token again', async () => {
    await saveOutside()
    const moved = await ada.fetch('PUT', at('gitea'), { settings: { url: addressOf(other, 'other.example.com') } })
    expect((await expectRefusal(t, moved, 422, 'invalid')).errors).toMatchObject([
      { pointer: '/secret', code: 'required' },
    ])
    expect(
      (await ada.fetch('PUT', at('gitea'), { settings: { url: `${addressOf(outside)}/`, login: 'ada' } })).status,
    ).toBe(200)
  })

  test('is not called if its name resolves to a private address', async () => {
    await saveOutside()
    resolved = ['10.0.0.8']
    const answer = await connect(`${addressOf(outside)}/${slug}`)
    expect((await expectRefusal(t, answer, 422, 'invalid')).detail).toContain('is not on the public Internet')
    expect(outside.asked).toEqual([])
  })

  test('is not followed to a private address, and a redirect elsewhere carries no token', async () => {
    await saveOutside()
    outside.fault = () => Response.redirect('https://169.254.169.254/latest/meta-data', 302)
    expect((await connect(`${addressOf(outside)}/${slug}`)).status).toBe(422)
    outside.fault = ({ path }) => Response.redirect(`${addressOf(other, 'other.example.com')}/api/v1${path}`, 307)
    await connect(`${addressOf(outside)}/${slug}`)
    expect(other.asked.length).toBeGreaterThan(0)
    expect(other.asked.filter(({ headers }) => headers.has('authorization'))).toEqual([])
  })

  test('is not called where the operator forbids it; the operator’s own host is', async () => {
    await saveOutside()
    const closed = watch(await testApp({ ...own.settings, OUTBOUND: 'off' }, undefined, asIfPublic(tls.cert)))
    try {
      const eve = await person(closed)
      await eve.fetch('PUT', at('gitea'), { secret: TOKEN, settings: { url: addressOf(outside) } })
      await expectRefusal(
        closed,
        await eve.fetch('POST', '/api/repos', { repo: `${addressOf(outside)}/${slug}` }),
        403,
        'forbidden',
      )
      await expectRefusal(
        closed,
        await eve.fetch('POST', '/api/repos', { repo: `https://gitlab.com/${slug}` }),
        403,
        'forbidden',
      )
      expect((await eve.fetch('POST', '/api/repos', { repo: slug })).status).toBe(201)
    } finally {
      await closed.close()
    }
    expect(outside.asked).toEqual([])
  })
})

describe('a code host that misbehaves', () => {
  const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
    Response.json(body, { status, headers })
  const garbage: [string, () => Response][] = [
    ['no JSON', () => new Response('<html>hello</html>')],
    ['nothing', () => new Response('')],
    ['another shape', () => json([1, 2, 3])],
    ['a name with a path', () => json({ full_name: '../../etc/passwd', default_branch: 'main' })],
    ['an invalid name', () => json({ full_name: { toString: 1 }, default_branch: 7 })],
    ['6 MB', () => new Response(`"${'x'.repeat(6 << 20)}"`)],
    ['500', () => json({ message: 'Server Error' }, 500)],
    ['a redirect to a private address', () => Response.redirect('http://169.254.169.254/', 302)],
    ['endless redirects', () => new Response(null, { status: 301, headers: { location: '/api/v3/again' } })],
  ]

  test.each(garbage)('and answers %s leaves the known data, and the error is reported', async (_name, answer) => {
    const made = (await connect(slug)).body
    own.fault = answer
    const synced = await ada.fetch<Problem>('POST', `/api/repos/${made.id}/sync`)
    expect(synced).toMatchObject({ status: 502, body: { code: 'upstream_failed' } })
    await expectEvents(t, synced, 'repositories.begin', 'repository.failed')
    const now = (await ada.fetch<Repository>('GET', `/api/repos/${made.id}`)).body
    expect(now).toMatchObject({
      status: 'error',
      error: synced.body.detail,
      branches: made.branches,
      syncedAt: made.syncedAt,
    })
    own.fault = undefined
    expect((await ada.fetch<Repository>('POST', `/api/repos/${made.id}/sync`)).body).toMatchObject({
      status: 'ready',
      error: null,
    })
  })

  test('and is unreachable when a repository is connected leaves it to a later sync', async () => {
    own.fault = () => json({ message: 'maintenance' }, 503)
    const made = await connect(slug)
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ status: 'pending', syncedAt: null, branches: [], defaultBranch: null })
    expect(made.body.error).toContain('returned status 503')
    own.fault = undefined
    expect((await ada.fetch<Repository>('POST', `/api/repos/${made.body.id}/sync`)).body).toMatchObject({
      status: 'ready',
      error: null,
    })
  })

  test('and limits calls is reported with the time to retry', async () => {
    const { id } = (await connect(slug)).body
    const reset = Math.floor(Date.now() / 1000) + 90
    for (const [headers, status] of [
      [{ 'retry-after': '17' }, 429],
      [{ 'retry-after': '17' }, 403],
      [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(reset) }, 403],
      [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': 'soon' }, 403],
      [{ 'retry-after': '999999999' }, 429],
    ] as const) {
      own.fault = () => json({ message: 'API rate limit exceeded' }, status, headers)
      const answer = await ada.fetch('POST', `/api/repos/${id}/sync`)
      expect(answer).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
      const wait = Number(answer.headers.get('retry-after'))
      expect(wait).toBeGreaterThan(0)
      expect(wait).toBeLessThanOrEqual(3600)
      if ('retry-after' in headers && headers['retry-after'] === '17') expect(wait).toBe(17)
    }
    // Nothing is wrong with the repository.
    expect((await ada.fetch<Repository>('GET', `/api/repos/${id}`)).body).toMatchObject({
      status: 'ready',
      error: null,
    })
  })

  test('and repeats the token it received does not reveal it to anyone', async () => {
    await ada.fetch('PUT', at('github'), { secret: TOKEN })
    const { id } = (await connect(slug)).body
    own.fault = ({ method }) => (method === 'POST' ? json({ message: `no such token: ${TOKEN}` }, 422) : undefined)
    const refused = await ada.fetch<Problem>('POST', `/api/repos/${id}/pulls`, { title: 'x', head: 'lock' })
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(refused.body.detail).toContain('no such token: [redacted]')
    own.fault = () => json({ message: `bad token ${TOKEN}`, error: TOKEN }, 403)
    const forbidden = await ada.fetch<Problem>('POST', `/api/repos/${id}/sync`)
    expect(forbidden).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(JSON.stringify([refused.body, forbidden.body])).not.toContain(TOKEN)
    expect(logged.join('\n')).not.toContain(TOKEN)
    const { rows } = await t.app.driver.query(
      "select count(*)::int from events where data::text like '%' || $1 || '%'",
      [TOKEN],
    )
    expect(rows).toEqual([[0]])
  })

  test('cannot redirect a write', async () => {
    await ada.fetch('PUT', at('github'), { secret: TOKEN })
    const { id } = (await connect(slug)).body
    own.fault = ({ method, path }) =>
      method === 'POST' ? Response.redirect(`${own.url}/api/v3${path}`, 302) : undefined
    const answer = await ada.fetch('POST', `/api/repos/${id}/pulls`, { title: 'x', head: 'lock' })
    expect((await expectRefusal(t, answer, 502, 'upstream_failed')).detail).toContain('redirects to another address')
    expect(there.pulls).toEqual([])
  })

  test('and has moved a repository within itself is followed', async () => {
    const { id } = (await connect(slug)).body
    const moved = `${slug}-renamed`
    own.repositories.delete(slug)
    own.add(moved, { defaultBranch: 'lock' })
    own.fault = ({ method, path }) =>
      method === 'GET' && path.startsWith(`/repos/${slug}`) && !path.startsWith(`/repos/${moved}`)
        ? new Response(null, { status: 301, headers: { location: `${own.url}/api/v3${path.replace(slug, moved)}` } })
        : undefined
    expect((await ada.fetch<Repository>('POST', `/api/repos/${id}/sync`)).body).toMatchObject({
      status: 'ready',
      defaultBranch: 'lock',
    })
  })

  test('is synced once at a time; a sync that died is not waited for', async () => {
    const { id } = (await connect(slug)).body
    const arrived = Promise.withResolvers<void>()
    const held = Promise.withResolvers<undefined>()
    own.fault = () => {
      arrived.resolve()
      return held.promise as unknown as Promise<Response>
    }
    const first = ada.fetch<Repository>('POST', `/api/repos/${id}/sync`)
    await arrived.promise
    expect((await ada.fetch<Repository>('GET', `/api/repos/${id}`)).body.status).toBe('syncing')
    await expectRefusal(t, await ada.fetch('POST', `/api/repos/${id}/sync`), 409, 'conflict')
    held.resolve(undefined)
    expect((await first).body.status).toBe('ready')
    own.fault = undefined
    await t.app.driver.query(
      "update repositories set status = 'syncing', updated_at = now() - interval '2 minutes' where id = $1",
      [id],
    )
    expect((await ada.fetch<Repository>('POST', `/api/repos/${id}/sync`)).body.status).toBe('ready')
  })

  test('is protected from a person who calls it too often, who gets an error', async () => {
    await t.app.driver.query(
      `insert into counters (key, count, expires_at) values ($1, 120, now() + interval '1 minute')
        on conflict (key) do update set count = 120, expires_at = excluded.expires_at`,
      [`code-host:${ada.userId}`],
    )
    const answer = await connect(slug)
    await expectRefusal(t, answer, 429, 'rate_limited')
    await expectNoEvents(t, answer)
    expect(own.asked).toEqual([])
    expect((await ada.fetch<RepositoryPage>('GET', '/api/repos')).body.items).toEqual([])
  })
})

test('a code host that never answers is given up after a time limit', async () => {
  const slow = watch(await testApp({}, undefined, { ...asIfPublic(tls.cert), timeoutMs: 200 }))
  try {
    const eve = await person(t)
    await eve.fetch('PUT', at('gitea'), { secret: TOKEN, settings: { url: addressOf(outside) } })
    const made = (await eve.fetch<Repository>('POST', '/api/repos', { repo: `${addressOf(outside)}/${slug}` })).body
    outside.fault = () => new Promise<Response>(() => undefined)
    const headers = { authorization: `Bearer ${eve.token}` }
    expect(await call(slow, 'POST', `/api/repos/${made.id}/sync`, undefined, headers)).toMatchObject({
      status: 504,
      body: { code: 'upstream_timeout' },
    })
    expect((await eve.fetch<Repository>('GET', `/api/repos/${made.id}`)).body).toMatchObject({ status: 'error' })
  } finally {
    await slow.close()
  }
})

test.each([
  ['../AGENTS.md'],
  ['docs/../../AGENTS.md'],
  ['/etc/passwd'],
  ['docs//AGENTS.md'],
  ['./AGENTS.md'],
  ['docs/'],
  [''],
  ['.git/config'],
  ['docs/.GIT/hooks/x'],
  ['.git. /config'],
  ['a\u0000b'],
  ['..\\AGENTS.md'],
  ['C:/AGENTS.md'],
  ['x'.repeat(301)],
])('the file name %p is refused', (path) => {
  expect(() => requireSafePath(path)).toThrow('must be inside the repository')
})

test.each([
  ['AGENTS.md'],
  ['.github/copilot-instructions.md'],
  ['.cursor/rules/tutti.mdc'],
  ['.gitignore'],
  ['docs/a..b.md'],
])('the file name %p is accepted', (path) => expect(requireSafePath(path)).toBe(path))
