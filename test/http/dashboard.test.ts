import { describe, expect, test } from 'bun:test'
import { brotliDecompressSync } from 'node:zlib'
import { openPack } from '../../src/pages/pack.ts'
import { sharedApp } from '../support/app.ts'

/** How the server delivers the dashboard, and its size. */
const t = await sharedApp()
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(t.app.url + path, { headers, decompress: false })
const pack = await openPack()
const size = (path: string): number => {
  const [from, to] = pack.files.get(path)?.gzip ?? [0, 0]
  return (to - from) / 1024
}
const text = async (path: string): Promise<string> => {
  const found = pack.files.get(path)
  if (!found) throw new Error(`no ${path} in the dashboard`)
  return new TextDecoder().decode(await pack.bytes(found.raw))
}
const html = await text('/index.html')
const [style = ''] = /\/web\/[^"]+\.css/.exec(html) ?? []
const scripts = [...new Set([...html.matchAll(/\/web\/[^"]+\.js/g)].map(([path]) => path))]

describe('the page of the dashboard', () => {
  test('runs only its own files, and is not cached', async () => {
    const answer = await get('/projects')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toStartWith('text/html')
    expect(answer.headers.get('cache-control')).toBe('private, no-cache')
    expect(answer.headers.get('vary')).toBe('cookie')
    const policy = answer.headers.get('content-security-policy')
    for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"])
      expect(policy).toContain(part)
    expect(policy).not.toContain('unsafe')
    expect(policy).toContain("frame-ancestors 'none'")
    for (const part of ["manifest-src 'self'", "worker-src 'self'", 'trusted-types dompurify tutti-worker'])
      expect(policy).toContain(part)
  })

  test('uses the theme of the cookie, and no other text from it', async () => {
    const themed = async (cookie: string) => (await (await get('/projects', { cookie })).text()).slice(0, 120)
    expect(await themed('theme=dark')).toContain('<html data-theme="dark" lang="en">')
    expect(await themed('a=b; theme=light; c=d')).toContain('data-theme="light"')
    expect(await themed('theme="><script>alert(1)</script>')).toContain('<html lang="en">')
  })

  test('redirects from the former address of the account page, without its query', async () => {
    const answer = await fetch(`${t.app.url}/account?next=//evil.example`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/settings/profile'])
  })

  test('is served at no other address', async () => {
    for (const path of [
      '/projects/a/b/c',
      '/web/index.html',
      '/web/..%2findex.html',
      '/index.html',
      '/fonts/none.woff2',
    ])
      expect({ path, status: (await get(path)).status }).toEqual({ path, status: 404 })
  })
})

describe('the service worker', () => {
  test('is checked for changes at each visit, and may only send requests to this server', async () => {
    const answer = await get('/worker.js')
    expect(answer.headers.get('content-type')).toStartWith('text/javascript')
    expect(answer.headers.get('cache-control')).toBe('no-cache')
    expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; connect-src 'self'")
  })

  test('stores files that exist and contain nothing of their reader', async () => {
    const [, list = '{}'] = /^self\.offlineFiles = (.*)$/m.exec(await (await get('/worker.js')).text()) ?? []
    const { files, areas } = JSON.parse(list) as { files: string[]; areas: string[] }
    expect(files).toHaveLength(5)
    for (const path of files) {
      const [plain, themed] = await Promise.all([get(path), get(path, { cookie: 'theme=dark; tutti_here=1' })])
      expect({ path, status: plain.status, vary: plain.headers.get('vary') }).toEqual({ path, status: 200, vary: null })
      expect(await themed.text()).toBe(await plain.text())
    }
    for (const area of ['api', 'mcp', 't', 'login', 'oauth', 'manual']) expect(areas).not.toContain(area)
  })
})

describe('the manifest', () => {
  test('names icons that exist', async () => {
    const answer = await get('/manifest.webmanifest')
    expect(answer.headers.get('content-type')).toBe('application/manifest+json')
    const { icons } = (await answer.json()) as { icons: { src: string; type: string }[] }
    expect(icons.length).toBeGreaterThan(3)
    for (const { src, type } of icons) expect((await get(src)).headers.get('content-type')).toBe(type)
  })
})

describe('the files of the dashboard', () => {
  test('are cached permanently, and compressed as the browser accepts', async () => {
    const [script = ''] = scripts
    const [br, gzip, plain, refused] = await Promise.all([
      get(script, { 'accept-encoding': 'gzip, br' }),
      get(script, { 'accept-encoding': 'gzip' }),
      get(script, { 'accept-encoding': 'identity' }),
      get(script, { 'accept-encoding': 'br;q=0, gzip;q=0' }),
    ])
    expect(br.headers.get('content-encoding')).toBe('br')
    expect(gzip.headers.get('content-encoding')).toBe('gzip')
    for (const answer of [plain, refused]) expect(answer.headers.get('content-encoding')).toBeNull()
    for (const answer of [br, gzip, plain]) {
      expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(answer.headers.get('vary')).toBe('accept-encoding')
    }
    const whole = await plain.text()
    expect(whole).toBe(await text(script))
    expect(brotliDecompressSync(await br.bytes()).toString()).toBe(whole)
    const again = await get(script, { 'if-none-match': plain.headers.get('etag') ?? '' })
    expect(again.status).toBe(304)
  })

  test('stay within their budget: 148 KB of script for every page, 16.5 KB of style, 45 KB for a single page', () => {
    expect(scripts.length).toBeGreaterThan(0)
    expect(scripts.reduce((sum, path) => sum + size(path), 0)).toBeLessThan(148)
    expect(size(style)).toBeLessThan(16.5)
    const others = [...pack.files.keys()].filter((path) => path.endsWith('.js') && !scripts.includes(path))
    expect(others.filter((path) => size(path) > 45)).toEqual([])
  })
})
