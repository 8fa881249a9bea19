import { beforeAll, describe, expect, test } from 'bun:test'
import { documentedRoutes, type RouteLike, routeAction } from '../../src/http/openapi.ts'
import type { TSchema } from '../../src/schema.ts'
import { bodyOf, buildWorld, communityPost, fillPath, type World } from '../contract/world.ts'
import { call, logged, type Person, person, sharedApp, type TestApp, testApp, unique } from '../support/app.ts'
import { takeSome } from '../support/thorough.ts'

/** Requests that depend on what happened before: versions, repeated calls, pages. */
const t = await sharedApp()
let ada: Person
beforeAll(async () => {
  ada = await person(t)
})

interface Row {
  id: string
  version: number
  title: string
  [field: string]: unknown
}
interface Page {
  items: Row[]
  nextCursor: string | null
  total?: number
}
const create = async (who: Person, title: string, headers: Record<string, string> = {}, more: object = {}) =>
  who.fetch<Row>('POST', '/api/notes', { title, ...more }, headers)
const count = async (who: Person, path = '/api/notes'): Promise<number> =>
  (await who.fetch<Page>('GET', `${path}?total=true&limit=1`)).body.total as number

describe('If-Match', () => {
  test('accepts the current version, and answers an older one with the current record', async () => {
    const { body: made } = await create(ada, 'first')
    const put = (title: string, version: string) =>
      ada.fetch<Row & { current: Row; code: string }>(
        'PUT',
        `/api/notes/${made.id}`,
        { title },
        { 'if-match': version },
      )
    expect(made.version).toBe(1)
    expect((await put('second', '"1"')).body).toMatchObject({ title: 'second', version: 2 })
    const late = await put('lost', '"1"')
    expect(late.status).toBe(412)
    expect(late.body).toMatchObject({ code: 'version_mismatch', current: { id: made.id, title: 'second', version: 2 } })
    expect((await put('third', '2')).body.version).toBe(3)
    expect((await put('fourth', 'W/"3"')).body.version).toBe(4)
    expect((await put('fifth', '*')).body.version).toBe(5)
    expect((await put('early', '"6"')).status).toBe(412)
    expect((await ada.fetch<Row>('PUT', `/api/notes/${made.id}`, { title: 'sixth' })).body.version).toBe(6)
    expect((await ada.fetch('DELETE', `/api/notes/${made.id}`, undefined, { 'if-match': '"1"' })).status).toBe(412)
    expect((await ada.fetch('DELETE', `/api/notes/${made.id}`, undefined, { 'if-match': '"6"' })).status).toBe(200)
  })

  test('gets 400 for an invalid version', async () => {
    const { body: made } = await create(ada, 'kept')
    for (const bad of [
      'abc',
      '',
      '""',
      '"x"',
      '1.5',
      '-1',
      '"-1"',
      '"1", "2"',
      '0x1',
      '1e0',
      '9'.repeat(20),
      "'1'",
      '"1"; drop',
    ])
      expect([
        bad,
        (await ada.fetch('PUT', `/api/notes/${made.id}`, { title: 'changed' }, { 'if-match': bad })).status,
      ]).toEqual([bad, 400])
    expect((await ada.fetch<Row>('GET', `/api/notes/${made.id}`)).body.title).toBe('kept')
  })

  test('lets one of twenty concurrent changes of a version through', async () => {
    const { body: made } = await create(ada, 'contested')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        ada.fetch<Row>('PUT', `/api/notes/${made.id}`, { title: `by ${i}` }, { 'if-match': '"1"' }),
      ),
    )
    const winners = answers.filter((a) => a.status === 200)
    expect(winners).toHaveLength(1)
    expect(answers.filter((a) => a.status === 412)).toHaveLength(19)
    expect((await ada.fetch<Row>('GET', `/api/notes/${made.id}`)).body).toMatchObject({
      version: 2,
      title: winners[0]?.body.title as string,
    })
  })

  test('is checked by every write of a versioned record', async () => {
    const w: World = await buildWorld(t)
    Object.assign(w.paths, await communityPost(t, w.owner))
    const admin = await person(t, { admin: true })
    /** Writes that end the same way from any version of a record, such as memberships, credentials and undo. They refuse If-Match. */
    const unversioned =
      /\/(relations|claim|release|agents-md|pulls|sync|members|api-keys|mcp-tokens|grants|oauth-clients|connected-accounts|passkeys|sessions|invites|workspace-invites|notifications|outbox|evidence|uploads|report|marketplace|push|changes)\b|\/workspaces\/:id\/teams|\/admin\/users\/|\/test$/
    const makes = (r: RouteLike) => '201' in ((r.hooks.response ?? {}) as object)
    const writes = documentedRoutes(t.server.routes).filter(
      (r) => r.method !== 'GET' && r.path.includes(':') && !makes(r),
    )
    const ignored: string[] = []
    // Routes that ignore it and delete come last, so that the list of failures is complete.
    for (const route of writes.toSorted((x, y) => y.path.length - x.path.length || (x.method === 'DELETE' ? 1 : -1))) {
      const who = route.path.startsWith('/api/admin/') ? admin : w.owner
      const { status } = await who.fetch(route.method, fillPath(route.path, w), bodyOf(route, w), {
        'if-match': '"99"',
      })
      if (status !== (unversioned.test(route.path) && !routeAction(route).hints.versioned ? 400 : 412))
        ignored.push(`${route.method} ${route.path}: ${status}`)
    }
    expect(writes.length).toBeGreaterThan(8)
    expect(ignored).toEqual([])
  })
})

describe('If-None-Match', () => {
  const read = (path: string, etag?: string, who = ada) =>
    who.fetch<Row>('GET', path, undefined, etag ? { 'if-none-match': etag } : {})
  const tagOf = async (path: string) => (await read(path)).headers.get('etag') as string

  test('returns 304 for an unchanged record and the new record otherwise', async () => {
    const { id } = (await create(ada, 'read')).body
    const path = `/api/notes/${id}`
    const first = await read(path)
    const etag = first.headers.get('etag') as string
    expect(etag).toMatch(/^"1\.[0-9a-z]+"$/)
    expect(first.headers.get('cache-control')).toBe('private, no-cache')
    expect(first.headers.get('vary')).toBe('Authorization, Cookie, X-Organization-Id')
    for (const held of [etag, `W/${etag}`, `"0.x", ${etag}`]) {
      const again = await fetch(t.url + path, {
        headers: { authorization: `Bearer ${ada.token}`, 'if-none-match': held },
      })
      expect([held, again.status, await again.text()]).toEqual([held, 304, ''])
      expect(again.headers.get('etag')).toBe(etag)
      expect(again.headers.get('content-type')).toBeNull()
    }
    for (const other of ['"1"', '"1.x"', 'abc', ''])
      expect([other, (await read(path, other)).status]).toEqual([other, 200])
    await ada.fetch('PUT', path, { title: 'changed' })
    const changed = await read(path, etag)
    expect([changed.status, changed.body.title]).toEqual([200, 'changed'])
    expect(changed.headers.get('etag')).toStartWith('"2.')
  })

  test('works for lists, but not for errors, writes and files', async () => {
    const who = await person(t)
    const list = await who.fetch('GET', '/api/notes')
    expect(list.headers.get('etag')).toMatch(/^"0\.[0-9a-z]+"$/)
    expect((await read('/api/notes', list.headers.get('etag') as string, who)).status).toBe(304)
    await create(who, 'new')
    expect((await read('/api/notes', list.headers.get('etag') as string, who)).status).toBe(200)
    for (const answer of [await who.fetch('GET', '/api/notes/none'), await create(who, 'other')]) {
      expect(answer.headers.get('etag')).toBeNull()
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
  })

  test('gets a new ETag after a comment; If-Match accepts either ETag', async () => {
    const who = await person(t)
    const { body: project } = await who.fetch<Row>('POST', '/api/projects', { name: unique('Lantern') })
    const { body: task } = await who.fetch<Row>('POST', `/api/projects/${project.id}/tasks`, { title: 'one' })
    const path = `/api/tasks/${task.id}`
    const before = (await read(path, undefined, who)).headers.get('etag') as string
    const { body: comment } = await who.fetch<Row>('POST', `${path}/comments`, { body: 'see' })
    expect(comment.id).toBeString()
    const after = await read(path, before, who)
    expect([after.status, after.body.version]).toEqual([200, 1])
    // If-Match looks at the version only: the comment is no change of the task's fields.
    const put = (etag: string) => who.fetch<Row>('PATCH', path, { title: 'two' }, { 'if-match': etag })
    expect((await put(before)).status).toBe(200)
    expect((await put(before)).status).toBe(412)
    expect((await put((await read(path, undefined, who)).headers.get('etag') as string)).status).toBe(200)
    expect((await put(await tagOf('/api/notes'))).status).toBe(412)
  })
})

describe('Idempotency-Key', () => {
  test('returns the same response for a repeated call, and creates one record', async () => {
    const who = await person(t)
    const key = { 'idempotency-key': unique('key') }
    const first = await create(who, 'once', key)
    const second = await create(who, 'once', key)
    expect(first.status).toBe(201)
    expect(second).toMatchObject({ status: 201, body: first.body })
    expect(second.headers.get('location')).toBe(first.headers.get('location') as string)
    expect(await count(who)).toBe(1)
    // The stored response, not the current record.
    await who.fetch('PUT', `/api/notes/${first.body.id}`, { title: 'changed' })
    expect((await create(who, 'once', key)).body).toEqual(first.body)
  })

  test('works for changes and deletions', async () => {
    const who = await person(t)
    const { body: made } = await create(who, 'x')
    const put = () => who.fetch<Row>('PUT', `/api/notes/${made.id}`, { title: 'y' }, { 'idempotency-key': 'put' })
    expect((await put()).body.version).toBe(2)
    expect((await put()).body.version).toBe(2)
    const del = () => who.fetch('DELETE', `/api/notes/${made.id}`, undefined, { 'idempotency-key': 'delete' })
    expect((await del()).body).toEqual({ id: made.id, deleted: true })
    expect((await del()).body).toEqual({ id: made.id, deleted: true })
    expect((await who.fetch('DELETE', `/api/notes/${made.id}`)).status).toBe(404)
  })

  test('returns 409 for another body, record or operation with the same key', async () => {
    const who = await person(t)
    const key = { 'idempotency-key': 'reused' }
    const { body: made } = await create(who, 'one', key)
    expect((await create(who, 'two', key)).body).toMatchObject({ status: 409, code: 'conflict.idempotency' })
    expect((await create(who, 'one', key, { pinned: true })).status).toBe(409)
    expect((await who.fetch('PUT', `/api/notes/${made.id}`, { title: 'one' }, key)).status).toBe(409)
    expect((await who.fetch('POST', '/api/teams', { name: 'one' }, key)).status).toBe(409)
    expect(await count(who)).toBe(1)
  })

  test('creates one record and returns twenty equal responses for twenty concurrent calls', async () => {
    const who = await person(t)
    const key = { 'idempotency-key': unique('race') }
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(who, 'raced', key)))
    expect(answers.map((a) => a.status)).toEqual(Array(20).fill(201))
    for (const answer of answers) expect(answer.body).toEqual(answers[0]?.body as Row)
    expect(await count(who)).toBe(1)
  })

  test('belongs to its credential', async () => {
    const [who, other] = [await person(t), await person(t)]
    const key = { 'idempotency-key': 'mine' }
    const { token } = (await who.fetch<{ token: string }>('POST', '/api/settings/api-keys', { name: 'k' })).body
    const byKey = () => call<Row>(t, 'POST', '/api/notes', { title: 'x' }, { authorization: `Bearer ${token}`, ...key })
    const ids = [
      (await create(who, 'x', key)).body.id,
      (await create(other, 'x', key)).body.id,
      (await byKey()).body.id,
    ]
    expect(new Set(ids).size).toBe(3)
    expect((await byKey()).body.id).toBe(ids[2] as string)
    expect(await count(who)).toBe(2)
    expect(await count(other)).toBe(1)
  })

  test('can be used again after a failed call', async () => {
    const who = await person(t)
    const key = { 'idempotency-key': 'again' }
    const { body: taken } = await who.fetch<Row>('POST', '/api/projects', { name: 'Old', key: 'AB' })
    const make = () => who.fetch<Row>('POST', '/api/projects', { name: 'New', key: 'AB' }, key)
    expect((await make()).status).toBe(409)
    expect((await who.fetch('POST', '/api/projects', { name: 'New', key: 'ab' }, key)).status).toBe(422)
    expect((await who.fetch('DELETE', `/api/projects/${taken.id}`)).status).toBe(200)
    const made = await make()
    expect(made.status).toBe(201)
    expect((await make()).body).toEqual(made.body)
  })

  test('does not show a secret a second time', async () => {
    const who = await person(t)
    for (const [path, body] of [
      ['/api/settings/api-keys', { name: 'k' }],
      ['/api/mcp-tokens', { name: 'm', organizationId: who.organizationId }],
    ] as const) {
      const make = () => who.fetch<Row & { token?: string }>('POST', path, body, { 'idempotency-key': path })
      const [first, second] = [await make(), await make()]
      expect(first.body.token).toStartWith('svc_')
      expect(second.status).toBe(201)
      const { token: _, ...rest } = first.body
      expect(second.body).toEqual(rest)
      expect(await count(who, path)).toBe(1)
    }
  })

  test('is ignored for sign-in and registration', async () => {
    const key = { 'idempotency-key': unique('login') }
    const email = `${unique('twice')}@example.com`
    const register = () =>
      call(t, 'POST', '/api/auth/register', { email, password: 'violet anchor prefers rain', name: 'Ada' }, key)
    expect((await register()).status).toBe(201)
    expect((await register()).status).toBe(409)
    const login = () =>
      ada.fetch<{ token: string }>('POST', '/api/auth/login', { email, password: 'violet anchor prefers rain' }, key)
    const [first, second] = [await login(), await login()]
    expect([first.status, second.status]).toEqual([200, 200])
    expect(first.body.token).not.toBe(second.body.token)
  })

  test('expires after a day', async () => {
    let now = Date.now()
    const later = await testApp({ background: 'off' }, () => new Date(now))
    try {
      const who = await personOn(later)
      const make = () =>
        call<Row>(
          later,
          'POST',
          '/api/notes',
          { title: 'daily' },
          { authorization: `Bearer ${who.key}`, 'idempotency-key': 'day' },
        )
      const first = await make()
      now += 23.9 * 3_600_000
      expect((await make()).body.id).toBe(first.body.id)
      now += 0.2 * 3_600_000
      const next = await make()
      expect(next.status).toBe(201)
      expect(next.body.id).not.toBe(first.body.id)
    } finally {
      await later.close()
    }
  })

  test('gets 400 for an invalid key', async () => {
    for (const bad of ['', ' ', 'two words', 'k'.repeat(201), 'tab\tbed'])
      expect([bad, (await create(ada, 'x', { 'idempotency-key': bad })).status]).toEqual([bad, 400])
    expect((await create(ada, 'x', { 'idempotency-key': 'k'.repeat(200) })).status).toBe(201)
  })
})

/** With an API key, which outlives an access token when the clock is moved. */
async function personOn(app: TestApp): Promise<{ key: string }> {
  const who = await person(app)
  const { body } = await who.fetch<{ token: string }>('POST', '/api/settings/api-keys', { name: 'k' })
  return { key: body.token }
}

describe('pages of a list', () => {
  async function walk(who: Person, query: string, between?: (page: number) => Promise<unknown>): Promise<Row[]> {
    const rows: Row[] = []
    let cursor: string | null = null
    for (let page = 0; page < 100; page++) {
      const path: string = `/api/notes?${query}${cursor ? `&cursor=${cursor}` : ''}`
      const { status, body }: { status: number; body: Page } = await who.fetch<Page>('GET', path)
      expect(status).toBe(200)
      rows.push(...body.items)
      cursor = body.nextCursor
      if (!cursor) return rows
      await between?.(page)
    }
    throw new Error('the pages do not end')
  }

  test.each(['title', 'createdAt', 'updatedAt'].flatMap((sort) => ['asc', 'desc'].map((order) => [sort, order])))(
    'by %s %s: every row once, in order, also among equals',
    async (sort, order) => {
      const who = await person(t)
      // Many equal titles, and rows made within the same millisecond.
      await Promise.all(Array.from({ length: 23 }, (_, i) => create(who, `note ${i % 3}`)))
      const rows = await walk(who, `sort=${sort}&order=${order}&limit=5`)
      expect(rows).toHaveLength(23)
      expect(new Set(rows.map((r) => r.id)).size).toBe(23)
      const values = rows.map((r) => String(r[sort as string]))
      expect(values).toEqual(order === 'asc' ? values.toSorted() : values.toSorted().reverse())
    },
  )

  test('neither repeat nor skip records when others are added or deleted', async () => {
    const who = await person(t)
    const titles = Array.from({ length: 20 }, (_, i) => `m${String(i).padStart(2, '0')}`)
    const made = new Map<string, string>()
    for (const title of titles) made.set(title, (await create(who, title)).body.id)
    const seen = await walk(who, 'sort=title&order=asc&limit=4', async (page) => {
      // Before and behind the cursor, and the very row that the cursor stands on.
      await create(who, `a-before-${page}`)
      await create(who, `z-behind-${page}`)
      await who.fetch('DELETE', `/api/notes/${made.get(titles[page * 4 + 3] as string)}`)
    })
    const names = seen.map((r) => r.title)
    expect(names.filter((name) => name.startsWith('m'))).toEqual(titles)
    expect(new Set(seen.map((r) => r.id)).size).toBe(seen.length)
    expect(names.filter((name) => name.startsWith('a-before'))).toEqual([])
  })

  test('contain the filtered total only on request', async () => {
    const who = await person(t)
    for (let i = 0; i < 7; i++) await create(who, `n${i}`, {}, { tags: i < 3 ? ['few'] : [] })
    expect((await who.fetch<Page>('GET', '/api/notes?limit=2')).body).not.toHaveProperty('total')
    expect((await who.fetch<Page>('GET', '/api/notes?limit=2&total=true')).body).toMatchObject({
      total: 7,
      items: [{}, {}],
    })
    expect((await who.fetch<Page>('GET', '/api/notes?limit=2&total=true&tag=few')).body.total).toBe(3)
    const last = await who.fetch<Page>('GET', '/api/notes?limit=7')
    expect(last.body.nextCursor).toBeNull()
  })

  test('have 50 records by default and 200 at most, and accept only numbers', async () => {
    const who = await person(t)
    await Promise.all(Array.from({ length: 52 }, (_, i) => create(who, `n${i}`)))
    expect((await who.fetch<Page>('GET', '/api/notes')).body.items).toHaveLength(50)
    expect((await who.fetch<Page>('GET', '/api/notes?limit=200')).body.items).toHaveLength(52)
    for (const limit of ['0', '-1', '201', '1.5', 'abc', '', '1e1', '0x10', '١'])
      expect([limit, (await who.fetch('GET', `/api/notes?limit=${encodeURIComponent(limit)}`)).status]).toEqual([
        limit,
        limit === '1e1' || limit === '0x10' ? expect.any(Number) : 422,
      ])
  })

  test('return 400 for a cursor of another list or order, or an invalid one', async () => {
    const who = await person(t)
    for (let i = 0; i < 3; i++) await create(who, `n${i}`)
    const { nextCursor } = (await who.fetch<Page>('GET', '/api/notes?limit=1&sort=title')).body
    expect((await who.fetch('GET', `/api/notes?limit=1&sort=title&cursor=${nextCursor}`)).status).toBe(200)
    for (const query of ['', 'sort=createdAt&', 'sort=title&order=asc&'])
      expect([query, (await who.fetch('GET', `/api/notes?${query}cursor=${nextCursor}`)).body.code]).toEqual([
        query,
        'invalid.cursor',
      ])
    const id = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
    const pack = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const title = (value: unknown, with_: unknown = id) => ['sort=title', pack(['title.desc', value, with_])]
    const time = (value: unknown) => ['', pack(['updatedAt.desc', value, id])]
    const forged = [
      ['', 'zz'], ['', '%00'], ['', 'e30'], ['', 'bnVsbA'], ['', pack([])], ['', pack(['updatedAt.desc'])], ['', pack({ 0: 'updatedAt.desc' })], ['', pack('text')],
      time('zz'), time(null), time(5), time({}), time('2026-02-31T00:00:00.000Z'), time('9999-99-99T99:99:99.999Z'), time('0000-01-01T00:00:00.000Z'), time("2026-01-01T00:00:00.000Z'"),
      title(null), title({}), title(['x']), title(5), title(true), title('x', 'zz'), title('x', null), title('x', "x' or 1=1"),
    ] // biome-ignore format: a table
    for (const [query, cursor] of forged) {
      const { status, body } = await who.fetch('GET', `/api/notes?${query}&cursor=${cursor}`)
      expect([query, Buffer.from(cursor as string, 'base64url').toString(), status, body.code]).toEqual([
        query,
        Buffer.from(cursor as string, 'base64url').toString(),
        400,
        'invalid.cursor',
      ])
    }
    expect(
      (await who.fetch('GET', `/api/notes?sort=title&cursor=${pack(['title.desc', 'a\0b', id])}`)).status,
    ).toBeLessThan(500)
    expect((await who.fetch('GET', `/api/notes?cursor=${'a'.repeat(2001)}`)).status).toBe(422)
  })

  test('refuse forged cursors of every list and order, without an error 500', async () => {
    const w = await buildWorld(t)
    const id = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
    const wrong: string[] = []
    const lists = documentedRoutes(t.server.routes).filter(
      (r) =>
        'cursor' in ((r.hooks.query?.properties ?? {}) as object) &&
        !r.path.startsWith('/api/public/') &&
        !r.hooks.query?.required?.length,
    )
    expect(lists.length).toBeGreaterThan(5)
    const admin = await person(t, { admin: true })
    for (const route of lists) {
      const who = route.path.startsWith('/api/admin/') ? admin : w.owner
      // A feed has no choice of orders.
      const { sort: choice } = (route.hooks.query as TSchema).properties as { sort?: { enum: string[] } }
      for (const sort of choice?.enum ?? ['seq'])
        for (const value of takeSome(['zz', 5, -1, 1e300, true, '2026-02-31T00:00:00.000Z'])) {
          const order = choice ? 'asc' : 'desc'
          const cursor = Buffer.from(JSON.stringify([`${sort}.${order}`, value, id])).toString('base64url')
          const query = new URLSearchParams({ cursor, ...(choice && { sort, order }) })
          const { status } = await who.fetch('GET', `${fillPath(route.path, w)}?${query}`)
          // A text is a place in a list of texts, whether or not it was there; a number is one in a feed or among numbers.
          const numbers = !choice || ['position', 'number', 'version', 'importance', 'priority'].includes(sort)
          const fits = typeof value === (numbers ? 'number' : 'string') && !sort.endsWith('At')
          if (status !== 400 && !(status === 200 && fits)) wrong.push(`${route.path} ${sort} ${value}: ${status}`)
        }
    }
    expect(wrong).toEqual([])
    expect(logged.filter((line) => line.includes('request failed') && line.includes('cursor'))).toEqual([])
  })
})
