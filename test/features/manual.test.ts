import { beforeAll, describe, expect, test } from 'bun:test'
import type { ManualList, ManualPage } from '../../src/features/manual/schema.ts'
import { call, person, sharedApp, type TestApp } from '../support/app.ts'
import { expectNoEvents, expectRefusal, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

describe('the manual', () => {
  test('is there for anyone, in reading order, and every listed page opens', async () => {
    const listed = await call<ManualList>(t, 'GET', '/api/docs')
    expect(listed.status).toBe(200)
    expect(listed.body.nextCursor).toBeNull()
    expect(listed.body.items.map((p) => p.id)).toEqual(['start', 'access', 'mcp', 'api', 'operating'])
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
    expect((await call(t, 'GET', '/api/docs/start', undefined, { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' })).body).toEqual(
      plain.body,
    )
  })

  test('a page that is not there', async () => {
    for (const id of ['nothing', 'START', '..%2F..%2Fpackage.json'])
      await expectRefusal(t, await call(t, 'GET', `/api/docs/${id}`), 404, 'not_found')
  })
})
