import { expect, test } from 'bun:test'
import { createLog } from '../../src/log.ts'
import { call, person, sharedApp, testApp } from '../support/app.ts'
import { serverOver } from './server.ts'

/** What a browser sends when a person opens an address. */
const navigation = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'sec-fetch-mode': 'navigate' }
const t = await sharedApp()

const open = async (path: string, headers: Record<string, string> = navigation, method = 'GET') => {
  const { status, body, headers: sent } = await call<{ text: string }>(t, method, path, undefined, headers)
  return { status, text: body.text, headers: sent, type: sent.get('content-type') }
}

test('a browser gets an error page with the reason, the request id and a link', async () => {
  for (const [path, status, title, way] of [
    ['/nothing', 404, 'Not found', '/manual'],
    ['/manual/nothing', 404, 'Not found', '/manual'],
    ['/api/nothing', 404, 'Not found', '/api/reference'],
    ['/api/notes', 401, 'Sign in first', '/login'],
    ['/api/auth/login', 405, 'This address is for programs', '/api/reference'],
    ['/metrics', 401, 'Sign in first', '/login?next=%2Fmetrics'],
    ['/mcp', 401, 'Sign in first', '/login'],
  ] as const) {
    const page = await open(path)
    expect({ path, status: page.status, type: page.type }).toEqual({ path, status, type: 'text/html; charset=utf-8' })
    expect(page.text.match(/<h1>/g)).toHaveLength(1)
    expect(page.text).toContain(`<h1>${title}</h1>`)
    expect(page.text).toContain(`href="${way}"`)
    expect(page.text).toContain(page.headers.get('x-request-id') as string)
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('content-security-policy')).toContain("style-src 'self'")
  }
})

test('a browser gets an error page for 403 and for records of others', async () => {
  const ada = await person(t)
  const signedIn = { ...navigation, authorization: `Bearer ${ada.token}` }
  const forbidden = await open('/api/admin/outbox', signedIn)
  expect(forbidden.status).toBe(403)
  expect(forbidden.text).toContain('is only for administrators of this server')
  const missing = await open('/api/notes/019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10', signedIn)
  expect(missing.status).toBe(404)
  expect(missing.text).toContain('may have been deleted')
})

test('programs and scripts get problem+json on every path', async () => {
  for (const headers of [
    {},
    { accept: '*/*' },
    { accept: 'application/json' },
    { accept: 'text/html', 'sec-fetch-mode': 'cors' },
    { accept: 'text/html' },
  ])
    for (const path of ['/nothing', '/api/nothing'])
      expect((await open(path, headers as Record<string, string>)).type).toBe('application/problem+json')
})

test('a browser on plain HTTP, which sends no Sec-Fetch-Mode, gets the error page too', async () => {
  expect((await open('/nothing', { accept: 'text/html', 'upgrade-insecure-requests': '1' })).type).toBe(
    'text/html; charset=utf-8',
  )
})

test('an error page escapes the address and repeats no secret of it', async () => {
  const secret = `svc_inv_${'a'.repeat(40)}`
  const page = await open(`/x"><img src=x>/${secret}?token=${secret}`)
  expect(page.text).not.toContain('<img')
  expect(page.text).not.toContain(secret)
  expect((await open(`/api/invites/${secret}/accept`)).text).not.toContain(secret)
})

test('an error page never links to another site', async () => {
  const stopping = await serverOver(t, {})
  await stopping.server.stop(0)
  for (const path of ['//evil.example/x', '/\\evil.example/x', '/.//evil.example/x', '///evil.example/x']) {
    const request = new Request(`${stopping.url}${path}`, {
      headers: { ...navigation, host: new URL(stopping.url).host },
    })
    const page = await stopping.server.handle(request)
    expect(page.status).toBe(503)
    expect(await page.text()).toContain('href="/evil.example/x">Try again')
  }
  await stopping.app.close()
})

test('an error page masks a secret in an address in every encoding', async () => {
  const tail = 'a1B2'.repeat(10)
  const jwt = ['eyJhbGciOiJI', 'eyJzdWIiOiIx', 'c2lnbmF0dXJl'] as const
  for (const [secret, part] of [
    [`svc_live_${tail}`, tail],
    [`svc%5Flive%5f${tail}`, tail],
    [`%73vc_live_%61${tail}`, tail],
    [`svc_${tail.replaceAll('a', '%61')}`, '1B2'],
    [jwt.join('%2E'), jwt[1]],
    [`%65${jwt.join('.').slice(1)}`, jwt[1]],
  ] as const) {
    const path = `/api/tasks/${secret}`
    const problem = await call<{ instance: string }>(t, 'GET', path)
    expect(problem.body.instance).toBe('/api/tasks/[redacted]')
    expect((await open(path)).text).not.toContain(part)
    const lines: string[] = []
    createLog('info', (line) => void lines.push(line), false).warn('request refused', { path })
    expect(lines.join('')).toContain('"/api/tasks/[redacted]"')
  }
  // Other encoded text stays.
  const plain = '/api/tasks/svc%5Fx/caf%C3%A9%20and%20more%20than%20twenty'
  expect((await call<{ instance: string }>(t, 'GET', plain)).body.instance).toBe(plain)
})

test('an error page for 429 says when to try again', async () => {
  const limited = await testApp({ RATE_LIMIT_ANONYMOUS: '1' })
  const ask = () =>
    call<{ text: string }>(limited, 'GET', '/api/notes', undefined, { ...navigation, authorization: 'Bearer x' })
  await ask()
  const { status, body, headers } = await ask()
  expect(status).toBe(429)
  expect(headers.get('retry-after')).toMatch(/^\d+$/)
  expect(body.text).toContain('Too many requests')
  expect(body.text).toContain('href="/api/notes">Try again')
  await limited.close()
})

test('a used set-up link says that it was used', async () => {
  await person(t, { admin: true })
  const page = await open('/setup')
  expect(page.status).toBe(200)
  expect(page.text).toContain('This server is already set up')
  expect(page.text).toContain('href="/login"')
})
