import { beforeAll, describe, expect, test } from 'bun:test'
import { settings } from '../../src/config.ts'
import { tools } from '../../src/feature.ts'
import type { ManualList, ManualPage } from '../../src/features/manual/schema.ts'
import { call, person, sharedApp, type TestApp } from '../support/app.ts'
import { expectNoEvents, expectRefusal, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

/** States and values that look like names of tools. */
const words = new Set(['in_progress', 'in_review', 'in_testing', 'in_docs', 'needs_edits', 'changes_requested'])

describe('the manual', () => {
  test('is there for anyone, in reading order, and every listed page opens', async () => {
    const listed = await call<ManualList>(t, 'GET', '/api/docs')
    expect(listed.status).toBe(200)
    expect(listed.body.nextCursor).toBeNull()
    expect(listed.body.items.map((p) => p.id)).toEqual([
      'start',
      'cli',
      'access',
      'planning',
      'features',
      'knowledge',
      'memory',
      'sessions',
      'mcp',
      'api',
      'operating',
    ])
    await expectNoEvents(t, listed)
    for (const { id, title } of listed.body.items) {
      const page = await call<ManualPage>(t, 'GET', `/api/docs/${id}`)
      expect(page.status).toBe(200)
      expect(page.body).toEqual({ id, title, content: page.body.content })
      expect(title.length).toBeGreaterThan(2)
      // The title is the first heading, and there is text below it.
      expect(page.body.content).toStartWith(`# ${title}\n`)
      expect(page.body.content.length).toBeGreaterThan(200)
    }
  })

  test('is the same for somebody who is signed in, or whose token is stale', async () => {
    const plain = await call(t, 'GET', '/api/docs/start')
    const ada = await person(t)
    expect((await ada.fetch('GET', '/api/docs/start')).body).toEqual(plain.body)
    expect(
      (await call(t, 'GET', '/api/docs/start', undefined, { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' })).body,
    ).toEqual(plain.body)
  })

  test('names only tools, settings, addresses and pages that there are', async () => {
    const { body } = await call<ManualList>(t, 'GET', '/api/docs')
    const known = new Set(body.items.map((p) => p.id))
    const paths = t.server.routes.map(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`))
    const wrong: string[] = []
    for (const { id } of body.items) {
      const { content } = (await call<ManualPage>(t, 'GET', `/api/docs/${id}`)).body
      for (const [, link = ''] of content.matchAll(/\]\(([a-z]+)\)/g))
        if (!known.has(link)) wrong.push(`${id}: page ${link}`)
      for (const [, name = ''] of content.matchAll(/`([a-z]+_[a-z]+)`/g))
        if (!tools.some((tool) => tool.name === name) && !words.has(name)) wrong.push(`${id}: tool ${name}`)
      for (const [, name = ''] of content.matchAll(/`([A-Z]{2,}_[A-Z_]+)`/g))
        if (!(name in settings)) wrong.push(`${id}: setting ${name}`)
      for (const [, path = ''] of content.matchAll(/(?:GET|POST|PUT) (\/api\/[^\s`?]*)/g))
        if (!paths.some((pattern) => pattern.test(path))) wrong.push(`${id}: address ${path}`)
    }
    expect(wrong).toEqual([])
  })

  test('a page that is not there', async () => {
    for (const id of ['nothing', 'START', '..%2F..%2Fpackage.json'])
      await expectRefusal(t, await call(t, 'GET', `/api/docs/${id}`), 404, 'not_found')
  })
})
