import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { API_VERSION } from '../../src/http/openapi.ts'
import { type Answer, call, logged, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { until } from '../support/until.ts'
import { serverOver } from './server.ts'

/** Headers of every response. */
const t = await sharedApp()
let ada: Person
beforeAll(async () => {
  ada = await person(t)
})

function carriesAll({ headers }: Answer): void {
  const { date: _, ...sent } = Object.fromEntries(headers)
  expect(sent).toMatchObject({
    'x-api-version': API_VERSION,
    'x-request-id': expect.stringMatching(/^[\w.-]{8,100}$/),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'content-security-policy': expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
    'cache-control': expect.stringMatching(/^(private, )?no-(store|cache)$/),
  })
  // No header reveals the software, and pages of other sites cannot read the response.
  for (const name of ['server', 'x-powered-by', 'access-control-allow-origin', 'access-control-allow-credentials'])
    expect(sent).not.toHaveProperty(name)
}

/** RFC 9457, without internals of the server. */
function isProblem(answer: Answer, status: number, code: string, instance: string): void {
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.body).toMatchObject({
    type: `urn:tutti:error:${code}`,
    status,
    code,
    instance,
    requestId: answer.headers.get('x-request-id'),
  })
  expect(
    Object.keys(answer.body).filter(
      (key) =>
        ![
          'type',
          'title',
          'status',
          'detail',
          'instance',
          'code',
          'requestId',
          'errors',
          'current',
          'subject',
          'next',
        ].includes(key),
    ),
  ).toEqual([])
  expect(JSON.stringify(answer.body)).not.toMatch(
    /\bat .*\.ts|node_modules|\/src\/|\bselect\b.*\bfrom\b|\binsert into\b/i,
  )
  carriesAll(answer)
}

describe('security headers of successful responses', () => {
  test.each([
    '/',
    '/setup',
    '/manual',
    '/manual/start',
    '/assets/tutti.css',
    '/assets/setup.js',
    '/api/reference',
    '/api/openapi.json',
    '/health',
    '/health/live',
    '/health/ready',
    '/api/docs',
  ])('are sent with GET %s', async (path) => {
    const answer = await call(t, 'GET', path)
    expect(answer.status).toBe(200)
    carriesAll(answer)
  })

  test('are sent with reads, creations, changes and deletions', async () => {
    const made = await ada.fetch<{ id: string }>('POST', '/api/notes', { title: 'Headers' })
    expect(made.status).toBe(201)
    for (const answer of [
      made,
      await ada.fetch('GET', '/api/notes'),
      await ada.fetch('PUT', `/api/notes/${made.body.id}`, { pinned: true }),
      await ada.fetch('DELETE', `/api/notes/${made.body.id}`),
    ])
      carriesAll(answer as Answer)
  })

  test('let pages run only their own scripts and load nothing from other sites', async () => {
    for (const path of ['/', '/setup', '/manual/start', '/api/reference']) {
      const { headers, body } = await call<{ text: string }>(t, 'GET', path)
      expect(headers.get('content-security-policy')).not.toMatch(/unsafe|\*|https?:/)
      expect(body.text).not.toMatch(
        /<script(?![^>]*src="\/assets\/)|<style|\sstyle=|\son\w+=|(src|href)="(https?:)?\/\//,
      )
    }
  })
})

describe('security headers of errors', () => {
  test('are sent with 404', async () => {
    for (const path of [
      '/nothing',
      '/api',
      '/api/nothing',
      '/assets/none.js',
      '/assets/__proto__',
      '/manual/none',
      '/.well-known/openid-configuration',
      '/health/x',
      '/api/notes/a/b/c',
    ])
      isProblem(await call(t, 'GET', path), 404, 'not_found', path)
  })

  test('are sent with 405, which lists the allowed methods', async () => {
    const cases: [string, string, string][] = [
      ['DELETE', '/api/notes', 'GET, POST'],
      ['PUT', '/api/teams', 'GET, POST'],
      ['POST', '/api/auth/me', 'GET'],
      ['GET', '/api/auth/login', 'POST'],
      ['PATCH', '/api/notes/019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10', 'GET, PUT, DELETE'],
      ['OPTIONS', '/api/notes', 'GET, POST'],
      ['DELETE', '/api/docs/start', 'GET'],
      ['POST', '/health', 'GET'],
      ['DELETE', '/', 'GET'],
    ]
    for (const [method, path, allow] of cases) {
      const answer = await call(t, method, path)
      isProblem(answer, 405, 'method_not_allowed', path)
      expect([method, path, answer.headers.get('allow')]).toEqual([method, path, allow])
    }
  })

  test('are sent with 400, 401, 403, 409, 412, 413, 415 and 422', async () => {
    const { body } = await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Clash'), key: 'CL' })
    isProblem(await ada.fetch('POST', '/api/notes', '{"broken'), 400, 'invalid.malformed', '/api/notes')
    isProblem(await call(t, 'GET', '/api/notes'), 401, 'unauthenticated', '/api/notes')
    isProblem(await call(t, 'GET', '/metrics'), 401, 'unauthenticated', '/metrics')
    isProblem(await ada.fetch('GET', '/metrics'), 403, 'forbidden', '/metrics')
    isProblem(
      await call(t, 'GET', '/api/docs', undefined, { origin: 'https://evil.example' }),
      403,
      'forbidden.origin',
      '/api/docs',
    )
    isProblem(
      await ada.fetch('POST', '/api/projects', { name: 'Clash', key: 'CL' }),
      409,
      'conflict.exists',
      '/api/projects',
    )
    isProblem(
      await ada.fetch('PUT', `/api/projects/${body.id}`, { name: 'x' }, { 'if-match': '"9"' }),
      412,
      'version_mismatch',
      `/api/projects/${body.id}`,
    )
    isProblem(await ada.fetch('POST', '/api/notes', `"${'x'.repeat(1 << 20)}"`), 413, 'too_large', '/api/notes')
    isProblem(
      await ada.fetch('POST', '/api/notes', '{}', { 'content-type': 'text/plain' }),
      415,
      'unsupported_media',
      '/api/notes',
    )
    isProblem(await ada.fetch('POST', '/api/notes', {}), 422, 'invalid', '/api/notes')
  })

  test("include the caller's request id if it is valid", async () => {
    const echoed = async (id: string) =>
      (await call(t, 'GET', '/api/docs', undefined, { 'x-request-id': id })).headers.get('x-request-id')
    expect(await echoed('build-4711.retry_2')).toBe('build-4711.retry_2')
    for (const bad of ['short', 'has space in it', 'x'.repeat(101), '<script>alert(1)</script>', 'semi;colon;x'])
      expect(await echoed(bad)).not.toBe(bad)
    isProblem(
      await call(t, 'GET', '/nothing', undefined, { 'x-request-id': 'build-4711' }),
      404,
      'not_found',
      '/nothing',
    )
    const [first, second] = [await call(t, 'GET', '/api/docs'), await call(t, 'GET', '/api/docs')].map((answer) =>
      answer.headers.get('x-request-id'),
    )
    expect(first).not.toBe(second)
  })
})

describe('errors of the server', () => {
  const cruel = 'kaboom at /srv/secret/place.ts: select password_hash from users'
  let failing: TestApp
  let fails: () => never
  beforeAll(async () => {
    failing = await serverOver(t, {
      query: (text, params, options) =>
        /from "?notes/.test(text) ? fails() : t.app.driver.query(text, params, options),
    })
  })
  afterAll(() => failing.close())
  const notes = () => call(failing, 'GET', '/api/notes', undefined, { authorization: `Bearer ${ada.token}` })

  test('are 500 with only the request id for a bug; the log has the details', async () => {
    fails = () => {
      throw new TypeError(cruel)
    }
    const answer = await notes()
    isProblem(answer, 500, 'internal', '/api/notes')
    expect(JSON.stringify(answer.body)).not.toContain('kaboom')
    const line = logged.findLast((l) => l.includes(answer.body.requestId as string)) as string
    expect(JSON.parse(line)).toMatchObject({ level: 'error', path: '/api/notes', error: { message: cruel } })
  })

  test('are 500 for a thrown value that is not an Error', async () => {
    for (const odd of [undefined, null, 'text', 42, { code: 'VALIDATION' }]) {
      fails = () => {
        throw odd
      }
      const answer = await notes()
      isProblem(answer, 500, 'internal', answer.body.instance as string)
    }
  })

  test('are 500 for a response that breaks its own schema', async () => {
    const grace = await person(t)
    await t.app.driver.query(`update users set role = 'king' where id = $1`, [grace.userId])
    try {
      isProblem(await grace.fetch('GET', '/api/auth/me'), 500, 'internal', '/api/auth/me')
    } finally {
      await t.app.driver.query(`update users set role = 'user' where id = $1`, [grace.userId])
    }
  })

  test('do not stop the server', async () => {
    expect((await call(failing, 'GET', '/health')).status).toBe(200)
    fails = () => {
      throw new Error('again')
    }
    expect((await notes()).status).toBe(500)
    expect((await call(failing, 'GET', '/api/docs')).status).toBe(200)
  })

  test('are 503 with Retry-After while the database is unreachable', async () => {
    const { DbError } = await import('../../src/db/driver.ts')
    fails = () => {
      throw new DbError('unavailable', 'connection refused: postgres://tutti:pa55word@db/tutti')
    }
    const answer = await notes()
    isProblem(answer, 503, 'unavailable', '/api/notes')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(JSON.stringify(answer.body)).not.toContain('postgres://')
    expect(logged.join('')).not.toContain('pa55word')
  })

  test('are 503 unavailable.unknown if the outcome of a commit is unknown', async () => {
    const { DbError } = await import('../../src/db/driver.ts')
    fails = () => {
      throw new DbError('unknown', 'the connection was lost while committing')
    }
    const answer = await notes()
    isProblem(answer, 503, 'unavailable.unknown', '/api/notes')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.body.detail).toContain('Idempotency-Key')
  })

  test('are 503 for a renewal, and the browser stays signed in', async () => {
    const { DbError } = await import('../../src/db/driver.ts')
    const away = await serverOver(t, {
      begin: () => Promise.reject(new DbError('unavailable', 'connection refused')),
    })
    const answer = await call(away, 'POST', '/api/auth/refresh', { refreshToken: ada.refreshToken })
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([503, []])
    await away.close()
  })

  test('are 507 if the disk is full', async () => {
    const { DbError } = await import('../../src/db/driver.ts')
    fails = () => {
      throw new DbError('disk_full', 'could not extend file')
    }
    isProblem(await notes(), 507, 'disk_full', '/api/notes')
  })

  test('do not include a stopping server, which is not ready but still serves requests', async () => {
    // One request that is still running keeps the server open.
    const reached = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    const slow = await serverOver(t, {
      query: async (text, params, options) => {
        if (text === 'select 1') {
          reached.resolve()
          await held.promise
        }
        return t.app.driver.query(text, params, options)
      },
    })
    const running = call(slow, 'GET', '/health')
    await reached.promise
    slow.server.leave()
    const ready = call<{ status: string }>(slow, 'GET', '/health/ready')
    const served = await call(slow, 'GET', '/api/docs')
    // A connection that stays open would be cut later.
    expect([served.status, served.headers.get('connection')]).toEqual([200, 'close'])
    const stopped = slow.server.stop(60_000)
    // The listener closes while the first request is still running.
    await until(() =>
      call(slow, 'GET', '/api/docs').then(
        () => false,
        ({ code }) => code === 'ECONNREFUSED',
      ),
    )
    held.resolve()
    expect((await running).status).toBe(200)
    const { status, body } = await ready
    expect([status, body.status]).toEqual([503, 'stopping'])
    await stopped
    await slow.app.close()
  })
})

test('the home page is the dashboard for signed-in users, and caches keep both versions apart', async () => {
  const home = async (cookie?: string) => {
    const answer = await fetch(`${t.url}/`, { headers: cookie ? { cookie } : {} })
    expect(answer.headers.get('cache-control')).toBe('private, no-cache')
    expect(answer.headers.get('vary')).toBe('cookie')
    return (await answer.text()).includes('<div id="root">')
  }
  expect(await home()).toBe(false)
  expect(await home('theme=dark; tutti_here=1')).toBe(true)
  expect(await home('tutti_here=; theme=dark')).toBe(false)
})
