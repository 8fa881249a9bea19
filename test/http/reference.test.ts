import { expect, test } from 'bun:test'
import { documentedRoutes, routeAction } from '../../src/http/openapi.ts'
import { curlExample } from '../../src/server/reference.ts'
import { call, sharedApp } from '../support/app.ts'

const t = await sharedApp()
const routes = documentedRoutes(t.server.routes)
const open = async (path: string) => {
  const { status, body } = await call<{ text: string }>(t, 'GET', path)
  return { status, text: body.text }
}

test('the API reference lists every operation and explains each on the page of its resource', async () => {
  const index = (await open('/api/reference')).text
  const style = (await open('/assets/tutti.css')).text + (await open('/assets/docs.css')).text
  const tags = [...new Set(routes.map((route) => (route.hooks.detail as { tags: string[] }).tags[0]))]
  const pages = new Map<string, string>()
  for (const tag of tags) {
    const { status, text } = await open(`/api/reference/${tag}`)
    expect([tag, status, text.match(/<h1/g)?.length]).toEqual([tag, 200, 1])
    expect([tag, Bun.gzipSync(text + style).length < 22_000]).toEqual([tag, true])
    pages.set(tag as string, text)
  }
  for (const route of routes) {
    const { id } = routeAction(route)
    const tag = id.split('.')[0] as string
    expect(index).toContain(`href="/api/reference/${tag}#${id}"`)
    expect(pages.get(tag)).toContain(`id="${id}"`)
  }
  expect((await open('/api/reference/nothing')).status).toBe(404)
})

test('the search of the API reference finds operations by path, words and fields, and escapes the query', async () => {
  const found = async (query: string) =>
    [
      ...(await open(`/api/reference?q=${encodeURIComponent(query)}`)).text.matchAll(
        /<li><a href="\/api\/reference\/\w+#([\w.]+)"/g,
      ),
    ].map(([, id]) => id)
  expect(await found('override')).toContain('workflow.override')
  expect(await found('inviteToken')).toEqual(['accounts.register'])
  expect(await found('post /api/features reviews')).toEqual(['workflow.review'])
  expect(await found('xyzzy')).toEqual([])
  expect((await open('/api/reference?q=%3Cimg%20src=x%3E')).text).not.toContain('<img')
})

test('every example of the API reference works in a shell and on the server', async () => {
  for (const route of routes) {
    const line = curlExample(route)
    const [, address = ''] = /"\$TUTTI([^"]*)"/.exec(line) ?? []
    expect([route.path, address.includes(':')]).toEqual([route.path, false])
    // As many parts as the path has: nothing in a parameter opens a new one.
    expect(address.split('?')[0]?.split('/').length).toBe(route.path.split('/').length)
    const [, body] = /-d '([\s\S]*)'$/.exec(line) ?? []
    if (body) expect(() => JSON.parse(body.replaceAll("'\\''", "'"))).not.toThrow()
    expect([route.path, /(?<!\\)'[^']*$/.test(line.replaceAll("'\\''", ''))]).toEqual([route.path, body !== undefined])
  }
})
