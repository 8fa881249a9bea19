import { beforeAll, describe, expect, test } from 'bun:test'
import { nouns } from '../../cli/nouns/index.ts'
import { tools } from '../../src/all-features.ts'
import { settings } from '../../src/config.ts'
import type { ManualHits, ManualList, ManualPage } from '../../src/features/manual/schema.ts'
import { taskFlags } from '../../src/features/tasks/lists/extras-schema.ts'
import { actionStates, actionTypes } from '../../src/features/tunnels/actions/action-schema.ts'
import { call, person, sharedApp, type TestApp } from '../support/app.ts'
import { expectNoEvents, expectRefusal, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

/** What the command line reads and the server does not. */
const variables = new Set(['TUTTI_MCP_TOKEN'])
/** States and values that look like names of tools. */
const words = new Set<string>([
  ...actionTypes,
  ...actionStates,
  ...taskFlags,
  'in_progress',
  'in_review',
  'in_testing',
  'in_docs',
  'needs_edits',
  'changes_requested',
  // What an answer of the assistant says.
  'no_model',
  'upstream_failed',
  'upstream_timeout',
])

describe('the manual', () => {
  test('is readable for anyone, in reading order, and every listed page opens', async () => {
    const listed = await call<ManualList>(t, 'GET', '/api/docs')
    expect(listed.status).toBe(200)
    expect(listed.body.nextCursor).toBeNull()
    expect([...new Set(listed.body.items.map((p) => p.group))]).toEqual([
      'Begin',
      'Work',
      'Knowledge',
      'People and agents',
      'Connect and run',
    ])
    await expectNoEvents(t, listed)
    for (const { id, title, group, about } of listed.body.items) {
      const page = await call<ManualPage>(t, 'GET', `/api/docs/${id}`)
      expect(page.status).toBe(200)
      expect(page.body).toEqual({ id, title, group, about, content: page.body.content })
      expect(title.length).toBeGreaterThan(2)
      // The title is the first heading, and there is text below it.
      expect(page.body.content).toStartWith(`# ${title}\n`)
      expect(page.body.content.length).toBeGreaterThan(200)
    }
  })

  test('has a page for every CLI noun', async () => {
    const { body } = await call<ManualList>(t, 'GET', '/api/docs')
    const ids = new Set(body.items.map((p) => p.id))
    const elsewhere: Record<string, string> = {
      epics: 'plans',
      stories: 'plans',
      integrations: 'notifications',
      trash: 'projects',
      workspaces: 'teams',
      oauth: 'mcp',
      issues: 'cli',
    }
    const inPages = (noun: string) => ids.has(noun) || ids.has(elsewhere[noun] ?? '')
    expect(Object.keys(nouns).filter((noun) => !inPages(noun) && noun !== 'webhooks')).toEqual([])
    for (const { id } of body.items.filter(({ id }) => id in nouns))
      expect([id, (await call<ManualPage>(t, 'GET', `/api/docs/${id}`)).body.content]).toEqual([
        id,
        expect.stringMatching(/\/api\//),
      ])
  })

  test('is the same for signed-in users and with an expired token', async () => {
    const plain = await call(t, 'GET', '/api/docs/start')
    const ada = await person(t)
    expect((await ada.fetch('GET', '/api/docs/start')).body).toEqual(plain.body)
    expect(
      (await call(t, 'GET', '/api/docs/start', undefined, { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' })).body,
    ).toEqual(plain.body)
  })

  test('names only tools, settings, addresses and pages that exist', async () => {
    const { body } = await call<ManualList>(t, 'GET', '/api/docs')
    const known = new Set(body.items.map((p) => p.id))
    const paths = t.server.routes.map(({ method, path }) => ({
      method,
      pattern: new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`),
    }))
    const verbs: Record<string, string[]> = {}
    for (const [noun, { load }] of Object.entries(nouns)) verbs[noun] = (await load()).verbs.map(({ name }) => name)
    // For operators, on the server itself.
    verbs.oauth?.push('clients')
    const wrong: string[] = []
    for (const { id } of body.items) {
      const { content } = (await call<ManualPage>(t, 'GET', `/api/docs/${id}`)).body
      for (const [, link = ''] of content.matchAll(/\]\(([a-z]+)\)/g))
        if (!known.has(link)) wrong.push(`${id}: page ${link}`)
      for (const [, name = ''] of content.matchAll(/`([a-z]+_[a-z]+)`/g))
        if (!tools.some((tool) => tool.name === name) && !words.has(name)) wrong.push(`${id}: tool ${name}`)
      for (const [, name = ''] of content.matchAll(/`([A-Z]{2,}_[A-Z_]+)`/g))
        if (!(name in settings) && !variables.has(name)) wrong.push(`${id}: setting ${name}`)
      for (const [, method = '', path = ''] of content.matchAll(/(GET|POST|PUT|PATCH|DELETE) (\/api\/[^\s`?]*)/g))
        if (!paths.some((route) => route.method === method && route.pattern.test(path)))
          wrong.push(`${id}: ${method} ${path}`)
      for (const [, noun = '', verb = ''] of content.matchAll(/`tutti (\w+) ([\w-]+)/g))
        if (noun in verbs && !verbs[noun]?.includes(verb)) wrong.push(`${id}: tutti ${noun} ${verb}`)
    }
    expect(wrong).toEqual([])
  })

  test('returns 404 for an unknown page', async () => {
    for (const id of ['nothing', 'START', '..%2F..%2Fpackage.json'])
      await expectRefusal(t, await call(t, 'GET', `/api/docs/${id}`), 404, 'not_found')
  })

  test('is searched by words, and returns the matching section', async () => {
    const found = await call<ManualHits>(t, 'GET', '/api/docs/search?q=acceptance%20criteria')
    expect(found.body.items[0]).toMatchObject({
      id: 'tasks',
      heading: 'Acceptance criteria',
      anchor: 'acceptance-criteria',
    })
    // Words are found by their beginning: `lease` is not in `release`.
    const leases = (await call<ManualHits>(t, 'GET', '/api/docs/search?q=lease')).body.items
    expect(leases.filter(({ excerpt }) => !/\blease/i.test(excerpt))).toEqual([])
    expect((await call<ManualHits>(t, 'GET', '/api/docs/search?q=xyzzy')).body.items).toEqual([])
    await expectRefusal(t, await call(t, 'GET', '/api/docs/search?q='), 422, 'invalid')
  })
})

describe('the HTML pages of the manual', () => {
  const open = async (path: string) => {
    const { status, body, headers } = await call<{ text: string }>(t, 'GET', path)
    return { status, text: body.text, policy: headers.get('content-security-policy') }
  }

  test('have a search, the contents with the current page marked, one h1, and are small', async () => {
    const { items } = (await call<ManualList>(t, 'GET', '/api/docs')).body
    const style = (await open('/assets/tutti.css')).text + (await open('/assets/docs.css')).text
    for (const path of ['/manual', ...items.map(({ id }) => `/manual/${id}`)]) {
      const { status, text, policy } = await open(path)
      expect([path, status, text.match(/<h1/g)?.length]).toEqual([path, 200, 1])
      expect(text).toContain('<form class="find" role="search" action="/manual">')
      expect(text.match(/aria-current="page"/g)?.length ?? 0).toBe(path === '/manual' ? 0 : 1)
      expect(policy).toContain("form-action 'self'")
      expect([path, Bun.gzipSync(text + style).length < 20_000]).toEqual([path, true])
    }
  })

  test('show search results without a script, and escape the query', async () => {
    const { text } = await open('/manual?q=acceptance')
    expect(text).toContain('href="/manual/tasks#acceptance-criteria"')
    expect(text).toContain('<mark>')
    expect((await open('/manual/tasks')).text).toContain('id="acceptance-criteria"')
    const hostile = await open('/manual?q=%22%3E%3Cimg%20src=x%3E')
    expect(hostile.text).not.toContain('<img')
    expect(hostile.text).toContain('No results for')
  })

  test('contain only links to existing pages and headings', async () => {
    const { items } = (await call<ManualList>(t, 'GET', '/api/docs')).body
    for (const { id } of items)
      for (const [, href = ''] of (await open(`/manual/${id}`)).text.matchAll(/href="(\/[^"#]*)/g))
        expect([id, href, (await open(href)).status]).toEqual([id, href, 200])
  })
})
