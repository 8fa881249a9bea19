import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { clientAddress } from '../../src/auth/client-address.ts'
import { Buckets, networkOf } from '../../src/auth/limits.ts'
import { newSecret } from '../../src/auth/secrets.ts'
import {
  type Answer,
  call,
  PASSWORD,
  type Person,
  person,
  sharedApp,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'

/** A server with small limits; other tests run with very high ones. */
const t = await sharedApp()
const opened: TestApp[] = []
async function startLimitedApp(settings: Record<string, string>, clock?: () => Date): Promise<TestApp> {
  const app = await testApp({ background: 'off', TRUSTED_PROXIES: '127.0.0.1', ...settings }, clock)
  opened.push(app)
  return app
}
afterAll(() => Promise.all(opened.map((app) => app.close())))

let last = 0
/** A new network for each test, because all tests share the counters in the database. */
const network = (): string =>
  `2001:db8:${(process.pid & 0xffff).toString(16)}:${(Math.floor(Math.random() * 0xfff) * 16 + (last++ % 16)).toString(16)}`
const from = (address: string) => ({ 'x-forwarded-for': address })

function expectLimited(answer: Answer): void {
  expect(answer.status).toBe(429)
  expect(answer.body).toMatchObject({ code: 'rate_limited', status: 429 })
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
}

describe('the request limit', () => {
  test('counts each credential separately, over all routes', async () => {
    const app = await startLimitedApp({ RATE_LIMIT_PER_MINUTE: '1', RATE_LIMIT_BURST: '3' })
    const [ada, grace] = [await person(t), await person(t)]
    const ask = (who: Person, path = '/api/auth/me', headers = {}) =>
      call(app, 'GET', path, undefined, { authorization: `Bearer ${who.token}`, ...headers })
    expect([
      (await ask(ada)).status,
      (await ask(ada, '/api/notes/019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10')).status,
      (await ask(ada, '/api/notes?limit=0')).status,
    ]).toEqual([200, 404, 422])
    const refused = await ask(ada)
    expectLimited(refused)
    expect(refused.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/)
    expect(refused.headers.get('ratelimit-policy')).toBe('"default";q=1;w=60')
    // Not by another address, another route or a made-up header.
    expectLimited(await ask(ada, '/api/docs', from('203.0.113.9')))
    expect((await ask(grace)).status).toBe(200)
    expect((await call(app, 'GET', '/health')).status).toBe(200)
  })

  test('is separate and ten times as high for public pages and their files', async () => {
    const app = await startLimitedApp({ RATE_LIMIT_ANONYMOUS: '1' })
    const reader = from(`${network()}::1`)
    const status = async (path: string) => (await fetch(app.url + path, { headers: reader })).status
    expect(await status('/api/search/public')).toBe(200)
    expect(await status('/api/search/public')).toBe(429)
    // Time passes meanwhile, so a few more may be let through.
    let admitted = 0
    while ((await status(admitted % 2 ? '/robots.txt' : '/assets/site.css')) === 200) admitted++
    expect(admitted).toBeGreaterThanOrEqual(10)
  })

  test('counts requests without a credential by network', async () => {
    const app = await startLimitedApp({ RATE_LIMIT_ANONYMOUS: '3' })
    const [here, there] = [network(), network()]
    const ask = (address: string, path = '/api/docs') => call(app, 'GET', path, undefined, from(address))
    expect([
      (await ask(`${here}::1`)).status,
      (await ask(`${here}::2`)).status,
      (await ask(`${here}:ffff:ffff:ffff:ffff`)).status,
    ]).toEqual([200, 200, 200])
    expectLimited(await ask(`${here}:1:2:3:4`))
    expectLimited(await ask(`${here}::1`, '/api/notes'))
    expect((await ask(`${there}::1`)).status).toBe(200)
  })

  test('also counts requests with a wrong credential', async () => {
    const app = await startLimitedApp({ RATE_LIMIT_ANONYMOUS: '3' })
    const here = network()
    const guess = (i: number) =>
      call(app, 'GET', '/api/notes', undefined, {
        authorization: `Bearer svc_${String(i).padStart(38, '0')}`,
        ...from(`${here}::1`),
      })
    for (let i = 0; i < 3; i++) expect((await guess(i)).status).toBe(401)
    expectLimited(await guess(4))
  })

  test('trusts X-Forwarded-For only from configured proxies', async () => {
    const app = await startLimitedApp({ RATE_LIMIT_ANONYMOUS: '3', TRUSTED_PROXIES: '' })
    for (let i = 0; i < 3; i++)
      expect((await call(app, 'GET', '/api/docs', undefined, from(`${network()}::1`))).status).toBe(200)
    expectLimited(await call(app, 'GET', '/api/docs', undefined, from(`${network()}::1`)))
  })

  test('uses the last address in a proxy chain that is not a configured proxy', async () => {
    const app = await startLimitedApp({ RATE_LIMIT_ANONYMOUS: '2', TRUSTED_PROXIES: '127.0.0.1,10.0.0.1' })
    const here = network()
    const ask = (forwarded: string) => call(app, 'GET', '/api/docs', undefined, from(forwarded))
    expect([
      (await ask(`198.51.100.1, ${here}::1`)).status,
      (await ask(`198.51.100.2, ${here}::2, 10.0.0.1`)).status,
    ]).toEqual([200, 200])
    expectLimited(await ask(`198.51.100.3, ${here}::3`))
  })

  test('ignores ports in X-Forwarded-For, and counts invalid addresses as the proxy', async () => {
    const app = await startLimitedApp({ RATE_LIMIT_ANONYMOUS: '2', TRUSTED_PROXIES: '127.0.0.1,10.0.0.1' })
    const here = network()
    const ask = async (forwarded: string) => (await call(app, 'GET', '/api/docs', undefined, from(forwarded))).status
    const statuses = async (...chains: string[]) => {
      const all: number[] = []
      for (const chain of chains) all.push(await ask(chain))
      return all
    }
    expect(await statuses(`[${here}::1]:4001`, `[${here}::2]:4002, ::ffff:10.0.0.1`, `${here}::3`)).toEqual([
      200, 200, 429,
    ])
    expect(await statuses('198.51.100.9:4001', '198.51.100.9:4002', '198.51.100.9')).toEqual([200, 200, 429])
    expect(await statuses('198.51.100.7, unknown', `198.51.100.8, ${'x'.repeat(100)}`, '127.0.0.1')).toEqual([
      200, 200, 429,
    ])
  })

  test('refills over time up to the burst, and forgets old keys', () => {
    const buckets = new Buckets(60, 3, 2)
    expect([0, 0, 0, 0].map(() => buckets.take('a', 0))).toEqual([0, 0, 0, 1])
    expect(buckets.take('a', 999)).toBe(1)
    expect(buckets.take('a', 1000)).toBe(0)
    expect([0, 0, 0, 0].map(() => buckets.take('a', 1e9))).toEqual([0, 0, 0, 1])
    expect(new Buckets(1, 1).take('a', 0)).toBe(0)
    const slow = new Buckets(1, 1)
    slow.take('a', 0)
    expect(slow.take('a', 1000)).toBe(59)
    for (const key of ['b', 'c', 'd']) buckets.take(key, 1e9)
    expect([0, 0, 0, 0].map(() => buckets.take('a', 1e9))).toEqual([0, 0, 0, 1])
  })
})

describe('the sign-in limit', () => {
  let ada: Person
  beforeAll(async () => {
    ada = await person(t)
  })
  const login = (app: TestApp, email: string, password: string, address = `${network()}::1`) =>
    call(app, 'POST', '/api/auth/login', { email, password }, from(address))
  const counter = async (key: string): Promise<number> =>
    Number((await t.app.driver.query('select count from counters where key = $1', [key])).rows[0]?.[0] ?? 0)

  test('counts attempts of a network per minute, over all accounts', async () => {
    const app = await startLimitedApp({ RATE_LIMIT_LOGIN: '3' })
    const here = network()
    for (let i = 0; i < 3; i++)
      expect((await login(app, `${unique('guess')}@example.com`, 'wrong password', `${here}::${i + 1}`)).status).toBe(
        401,
      )
    expectLimited(await login(app, ada.email, PASSWORD, `${here}::9`))
    expect((await login(app, ada.email, PASSWORD)).status).toBe(200)
    expect(await counter(`login-from:${networkOf(`${here}::1`)}`)).toBe(4)
  })

  test('counts registrations of a network per hour', async () => {
    const app = await startLimitedApp({ RATE_LIMIT_REGISTER: '2' })
    const here = network()
    const register = () =>
      call(
        app,
        'POST',
        '/api/auth/register',
        { email: `${unique('new')}@example.com`, password: PASSWORD, name: 'New' },
        from(`${here}::1`),
      )
    expect([(await register()).status, (await register()).status]).toEqual([201, 201])
    expectLimited(await register())
  })

  test('applies to guesses of set-up links', async () => {
    const app = await startLimitedApp({})
    const here = network()
    const guess = (token: string) =>
      call(
        app,
        'POST',
        '/api/setup',
        { token, email: 'a@example.com', password: PASSWORD, name: 'A' },
        from(`${here}::1`),
      )
    // Malformed links do not count.
    for (let i = 0; i < 3; i++) expect((await guess(`svc_set_${'0'.repeat(38)}`)).status).toBe(410)
    for (let i = 0; i < 10; i++) expect((await guess(newSecret('setup'))).status).toBe(410)
    expectLimited(await guess(newSecret('setup')))
  })
})

describe('a network', () => {
  const same: [string, string[]][] = [
    [
      '192.0.2.7',
      [
        '192.0.2.7',
        '::ffff:192.0.2.7',
        '::FFFF:192.0.2.7',
        '::ffff:c000:207',
        '0:0:0:0:0:ffff:c000:0207',
        '0:0:0:0:0:ffff:192.0.2.7',
      ],
    ],
    [
      '2001:db8:1:2::/64',
      [
        '2001:db8:1:2::1',
        '2001:0DB8:0001:0002::',
        '2001:db8:1:2:ffff:ffff:ffff:ffff',
        '2001:db8:1:2:0:0:0:1%eth0',
        '2001:db8:1:2::192.0.2.1',
      ],
    ],
    ['0:0:0:0::/64', ['::1', '::', '0:0:0:0:0:0:0:1']],
    ['2001:db8:0:0::/64', ['2001:db8::1', '2001:db8:0:0:1::', '2001:DB8:0000::ffff']],
    ['fe80:0:0:0::/64', ['fe80::1', 'fe80::1%eth0', 'FE80:0:0:0:1:2:3:4']],
  ]
  test.each(same)('%s has the same key in every spelling', (key, spellings) => {
    expect(spellings.map(networkOf)).toEqual(spellings.map(() => key))
  })

  test('of a trusted proxy is recognised in every spelling', () => {
    const client = (direct: string, chain: string, ...trusted: string[]) =>
      clientAddress(new Headers({ 'x-forwarded-for': chain }), direct, trusted)
    for (const proxy of ['192.168.0.1', '::ffff:192.168.0.1', '::FFFF:c0a8:1', '0:0:0:0:0:ffff:c0a8:0001'])
      expect(client(proxy, `198.51.100.7, ${proxy}`, '192.168.0.1')).toBe('198.51.100.7')
    expect(client('2001:db8:0:0::1', '198.51.100.7, [2001:DB8::1]:443', '2001:db8::0001')).toBe('198.51.100.7')
    expect(client('192.168.0.1', '198.51.100.7', '::ffff:c0a8:1')).toBe('198.51.100.7')
    expect(client('::ffff:c0a8:2', '198.51.100.7', '192.168.0.1')).toBe('::ffff:c0a8:2')
    expect(client('fe80::1%eth1', '198.51.100.7', 'fe80::1%eth0')).toBe('fe80::1%eth1')
    // Only valid addresses are compared.
    for (const sent of [`:${'1'.repeat(15_000)}`, `::${'1.'.repeat(8_000)}`, 'c0a8zz::1'])
      expect(client('192.168.0.1', sent, '192.168.0.1')).toBe('192.168.0.1')
    expect(client('::c0a8:1', '198.51.100.7', '192.168.0.1')).toBe('::c0a8:1')
  })

  test('differs from its neighbours, and from an unknown address', () => {
    const keys = ['192.0.2.7', '192.0.2.8', '2001:db8:1:2::1', '2001:db8:1:3::1', '2001:db8:1::1', '::1', null].map(
      networkOf,
    )
    expect(new Set(keys).size).toBe(keys.length)
    expect(networkOf(null)).toBe('unknown')
    expect(networkOf('')).toBe('unknown')
  })
})
