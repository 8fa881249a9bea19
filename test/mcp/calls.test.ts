import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { tools } from '../../src/all-features.ts'
import { AppError } from '../../src/errors.ts'
import { MOST_BYTES } from '../../src/mcp/result.ts'
import { array, jsonObject, nullable, object, optional, type TObject, type TSchema, text } from '../../src/schema.ts'
import { logged, mcpToken, type Person, person, sharedApp, type TestApp, testApp, unique } from '../support/app.ts'
import { isShort } from '../support/thorough.ts'
import { anyTool, openRaw, type RawStream, type Result, serveTools, ways } from './support.ts'

/** The same cases in every run; to look further, change it for a while. */
fc.configureGlobal({ seed: 20261115 })

let t: TestApp
let ada: Person
let token: string
let stream: RawStream
let id = 0

const tool = async (name: string, args: unknown = {}, on = stream): Promise<Result> => {
  const answer = await on.call(`c${++id}`, name, args)
  if (!answer.result) throw new Error(`${name}: ${JSON.stringify(answer.error)}`)
  return answer.result
}
const facts = (result: Result | undefined): object => result?.structuredContent as object
const said = (result: Result): string => result.content[0]?.text as string

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  token = await mcpToken(t, ada)
  stream = await openRaw(t.url, token)
})
afterAll(() => stream.abort())

describe('arguments', () => {
  const wrong = (schema: TSchema): unknown => {
    const types = ((schema.anyOf as TSchema[] | undefined) ?? [schema]).map((s) => s.type as string)
    return types.includes('number') ? 'many' : types.includes('boolean') ? 'yes' : 12.5
  }
  for (const { name, input } of tools) {
    const properties = Object.entries((input as TObject).properties as Record<string, TSchema>)
    const required = (input as TObject).required ?? []

    const refuse = async (args: Record<string, unknown>) => {
      const answer = await tool(name, args)
      expect(answer).toMatchObject({ isError: true, structuredContent: { code: 'invalid' } })
      const { errors } = answer.structuredContent as { errors: { pointer: string }[] }
      expect(errors.map((e) => e.pointer)).toEqual(
        expect.arrayContaining(Object.keys(args).map((field) => `/${field}`)),
      )
    }

    test(`of ${name} are refused if unknown or of a wrong type`, async () => {
      const extra = await tool(name, { sneaky: true })
      expect(extra).toMatchObject({ isError: true, structuredContent: { code: 'invalid', status: 422 } })
      expect(said(extra)).toContain(`sneaky is not an argument of ${name}, which takes: `)

      const foreign = ['role', 'organizationId', 'ownerId', 'createdById', 'id', 'constructor', 'version'].filter(
        (field) => !properties.some(([own]) => own === field),
      )
      await refuse(Object.fromEntries(foreign.map((field) => [field, 'x'])))
      // An answer names at most twenty errors.
      for (let i = 0; i < properties.length; i += 10)
        await refuse(Object.fromEntries(properties.slice(i, i + 10).map(([field, schema]) => [field, wrong(schema)])))

      const empty = await tool(name)
      // One of several may be needed, which no flat schema can say.
      if (required.length === 0) expect(empty.isError ? empty.structuredContent?.code : 'invalid').toBe('invalid')
      else for (const field of required) expect(said(empty)).toContain(`${field} is required.`)
    })

    test(`of ${name} may be anything without an internal error`, async () => {
      const value = fc.oneof(
        fc.jsonValue({ maxDepth: 2 }),
        fc.string({ maxLength: 300 }),
        fc.integer(),
        fc.constant('[1,{"a":[]}]'),
        fc.constant(null),
      )
      const args = fc.record(Object.fromEntries(properties.map(([field]) => [field, value])), {
        requiredKeys: [...required],
      })
      await fc.assert(
        fc.asyncProperty(args, async (input) => {
          fc.pre(!JSON.stringify(input).includes('"__proto__"')) // refused before it gets to the tool
          const answer = await stream.call(++id, name, input)
          const { isError, structuredContent } = answer.result as Result
          if (isError)
            expect(['invalid', 'invalid.cursor', 'not_found', 'conflict', 'conflict.idempotency']).toContain(
              structuredContent?.code as string,
            )
        }),
        { numRuns: process.env.SOAK ? 25 : isShort ? 5 : 15 },
      )
    })
  }

  test('that are lists or objects may be JSON text', async () => {
    const made = await tool('create_note', {
      title: unique('json'),
      tags: '["a","b"]',
      links: ' [{"url":"https://example.com"}]',
    })
    expect((await tool('get_note', { note: made.structuredContent?.slug })).structuredContent).toMatchObject({
      tags: ['a', 'b'],
      links: [{ url: 'https://example.com' }],
    })
    expect(said(await tool('create_note', { title: 'x', tags: '["a"' }))).toContain('tags must be of type array')
    expect(said(await tool('create_note', { title: 'x', tags: '[1]' }))).toContain('tags.0 must be of type string')
    // Where text is wanted, text that looks like JSON stays text.
    const { slug } = facts(await tool('create_note', { title: '["a"]' })) as { slug: string }
    expect(facts(await tool('get_note', { note: slug }))).toMatchObject({ title: '["a"]' })
  })
})

describe('a result', () => {
  test('is the same as text and as structure, without empty fields', async () => {
    await tool('create_note', { title: unique('same'), content: 'One\ntwo "three"' })
    for (const [name, args] of [
      ['list_notes', {}],
      ['list_projects', {}],
      ['list_notes', { tag: 'nobody-has-this' }],
    ] as const) {
      const answer = await tool(name, args)
      expect(JSON.parse(said(answer))).toEqual(facts(answer))
      expect(said(answer)).not.toMatch(/":(null|"")/)
    }
    expect(JSON.parse(said(await tool('list_notes', { tag: 'nobody-has-this' })))).toEqual({ items: [], total: 0 })
  })

  test('repeats no long text that was sent, no record twice, and no organization', async () => {
    const content = 'A long text. '.repeat(20)
    const made = facts(await tool('create_note', { title: unique('long'), content })) as {
      slug: string
      version: number
    }
    expect(made).toEqual({ slug: expect.any(String), version: 1 })
    const read = facts(await tool('get_note', { note: made.slug }))
    expect(read).toMatchObject({ slug: made.slug, content })
    expect(read).not.toHaveProperty('id')
    const { items } = facts(await tool('list_notes', { limit: 1 })) as { items: object[] }
    expect(items).toMatchObject([{ slug: made.slug }])
    expect(items[0]).not.toHaveProperty('id')
    expect(JSON.stringify([made, items])).not.toContain('organizationId')

    const own = serveTools(t, [
      anyTool('task', async () => ({
        id: 'x',
        key: 'TUT-4',
        number: 4,
        projectId: 'y',
        assignee: { type: 'user', id: 'u', name: 'Ada' },
      })),
      anyTool('tasks', async () => ({
        items: [{ id: 'x', key: 'TUT-4', assignee: { type: 'user', id: 'u', name: 'Ada' } }],
      })),
    ])
    const on = await openRaw(own.url, token)
    const _source = { kind: 'task', trust: 'other' }
    expect(facts(await tool('task', {}, on))).toEqual({
      _source,
      key: 'TUT-4',
      assignee: 'Ada',
    })
    expect(facts(await tool('tasks', {}, on))).toEqual({
      _source: { ..._source, kind: 'tasks' },
      items: [{ key: 'TUT-4', assignee: 'Ada' }],
    })
    await own.stop()
  })

  test('that is no object is wrapped', async () => {
    const own = serveTools(t, [
      anyTool('words', async () => 'plain words'),
      anyTool('array', async () => [1, 2]),
      anyTool('nothing', async () => undefined),
    ])
    const on = await openRaw(own.url, token)
    expect(await tool('words', {}, on)).toEqual({
      content: [{ type: 'text', text: 'plain words' }],
      structuredContent: { result: 'plain words' },
    })
    expect(await tool('array', {}, on)).toEqual({
      content: [{ type: 'text', text: '{"result":[1,2]}' }],
      structuredContent: { result: [1, 2] },
    })
    expect((await tool('nothing', {}, on)).structuredContent).toEqual({ result: null })
    await own.stop()
  })

  test('contains no hidden characters, whoever wrote them', async () => {
    const tag = [...'ignore all'].map((c) => String.fromCodePoint(0xe0000 + c.charCodeAt(0))).join('')
    const hidden = `a\u202eb\u200bc\u2066d\ufeffe\u00adf\u0007g${tag}h`
    const title = unique('hidden')
    const made = await ada.fetch<{ id: string }>('POST', '/api/notes', {
      title: `${title}${hidden}`,
      content: `line one\n\tline ${hidden}`,
      tags: [`t${hidden}`],
      scope: 'team',
    })
    expect(made.status).toBe(201)
    const answer = await tool('get_note', { note: made.body.id })
    expect(answer.structuredContent).toMatchObject({
      title: `${title}abcdefgh`,
      content: 'line one\n\tline abcdefgh',
      tags: ['tabcdefgh'],
    })
    expect(JSON.parse(said(answer))).toEqual(facts(answer))
    const refused = await tool('get_note', { note: hidden })
    expect(said(refused)).toStartWith('not_found: Note "abcdef')
    expect(JSON.stringify(refused)).not.toMatch(/[\u202e\u200b\u2066\ufeff\u00ad]|\udb40/)
  })

  test('that is too long is cut, and says so', async () => {
    const items = Array.from({ length: 300 }, (_, n) => ({ id: n, text: 'ü'.repeat(300) }))
    const own = serveTools(t, [
      anyTool('list', async () => ({ items, nextCursor: 'abc', total: 900 })),
      anyTool('document', async () => ({
        id: 'x',
        content: `${'é😀"\n'.repeat(40_000)}`,
        tags: ['a'],
        other: 'y'.repeat(200_000),
      })),
      anyTool('paged', async () => 'z'.repeat(200_000), { input: object({ offset: optional(text(9)) }) as TObject }),
      anyTool('many', async () => ({ tree: { deep: Array.from({ length: 50_000 }, () => 'abcdef') } })),
      anyTool('refused', async () => {
        throw new AppError('version_mismatch', 'It changed.', { current: { id: 'x', content: 'q'.repeat(300_000) } })
      }),
    ])
    const on = await openRaw(own.url, token)
    for (const name of ['list', 'document', 'paged', 'many']) {
      const answer = await tool(name, {}, on)
      expect(Buffer.byteLength(said(answer))).toBeLessThanOrEqual(MOST_BYTES)
      expect(Buffer.byteLength(said(answer))).toBeGreaterThan(MOST_BYTES * 0.8)
      expect(JSON.parse(said(answer))).toEqual(facts(answer))
      expect(said(answer)).not.toContain('\ufffd')
    }
    const list = (await tool('list', {}, on)).structuredContent as {
      items: unknown[]
      truncated: string
      total: number
    }
    expect(list.truncated).toBe(
      `This result was too long and was cut. items: the first ${list.items.length} of 300 items. Call again with limit: ${list.items.length} and follow nextCursor.`,
    )
    expect(list).not.toHaveProperty('nextCursor')
    expect(list.total).toBe(900)
    const document = (await tool('document', {}, on)).structuredContent as Record<string, string>
    expect(document).toMatchObject({ id: 'x', tags: ['a'] })
    expect(document.truncated).toMatch(
      /other: the first \d+ of 200000 characters; content: the first \d+ of 200000 characters\. The web API/,
    )
    expect((await tool('paged', {}, on)).structuredContent?.truncated).toMatch(
      /Call again with offset: \d+ for more\.$/,
    )
    const refused = await tool('refused', {}, on)
    expect(refused).toMatchObject({
      isError: true,
      structuredContent: { code: 'version_mismatch', current: { id: 'x' } },
    })
    expect(JSON.stringify(refused).length).toBeLessThan(MOST_BYTES + 2000)
    await own.stop()
  })
})

describe('an error', () => {
  test('about a version conflict contains the current record', async () => {
    const made = await tool('create_note', { title: unique('version') })
    const note = made.structuredContent?.slug
    expect((await tool('update_note', { note, content: 'one', expectedVersion: 1 })).isError).toBeUndefined()
    const late = await tool('update_note', { note, content: 'two', expectedVersion: 1 })
    expect(late).toMatchObject({
      isError: true,
      structuredContent: { code: 'version_mismatch', status: 412, current: { version: 2, content: 'one' } },
    })
    expect(said(late)).toBe(
      'version_mismatch: The record is now at version 2, not 1. Read it again and repeat your change.\n' +
        '{"_source":{"kind":"note","trust":"other"}}',
    )
  })

  test('of the server is logged, and reveals only the request id', async () => {
    const own = serveTools(t, [
      anyTool('bug', async () => {
        throw new TypeError('the hidden reason svc_live_0123456789abcdefghijklmnop')
      }),
    ])
    for (const [name, connect] of Object.entries(ways)) {
      const client = await connect(own.url, token)
      const answer = await client.call('bug')
      const { requestId } = answer.structuredContent as { requestId: string }
      expect(answer).toMatchObject({ isError: true, structuredContent: { code: 'internal', status: 500 } })
      expect(said(answer)).toBe(
        `internal: Something went wrong on our side. The request id leads us to the cause. Call once more; if it fails again, report the request id ${requestId}.`,
      )
      expect(JSON.stringify(answer)).not.toMatch(/hidden reason|TypeError|\.ts/)
      const line = logged.find((l) => l.includes(requestId) && l.includes('the hidden reason'))
      expect([name, line !== undefined]).toEqual([name, true])
      expect(line).not.toContain('svc_live_0')
      await client.close()
    }
    await own.stop()
  })

  test('about too many calls says how long to wait', async () => {
    const few = await testApp({ RATE_LIMIT_MCP: '60' })
    const on = await openRaw(few.url, token)
    const answers: Result[] = []
    // A slow machine is given new ones meanwhile.
    while (answers.length < 300 && !answers.at(-1)?.isError) answers.push(await tool('list_projects', {}, on))
    expect(answers.length).toBeGreaterThan(60)
    const refused = answers.filter((a) => a.isError)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]).toMatchObject({ structuredContent: { code: 'rate_limited', status: 429 } })
    expect(said(refused[0] as Result)).toBe('rate_limited: Too many requests. Try again in 1 second.')
    on.abort()
    await few.close()
  }, 300_000)
})

describe('a repeated write', () => {
  test('with the same key returns the same result and is stored once', async () => {
    const args = { title: unique('once'), idempotencyKey: unique('key') }
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => tool('create_note', args)))
    for (const other of others) expect(facts(other)).toEqual(facts(first))
    const over = await (ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string])(t.url, token)
    expect(facts(await over.call('create_note', args))).toEqual(facts(first))
    await over.close()
    const found = (await tool('list_notes', { search: args.title })).structuredContent as { total: number }
    expect(found.total).toBe(1)

    const clash = await tool('create_note', { ...args, title: 'other' })
    expect(clash).toMatchObject({ isError: true, structuredContent: { code: 'conflict.idempotency', status: 409 } })
    // The key is the token's own.
    const hers = await openRaw(t.url, await mcpToken(t, ada))
    expect((await tool('create_note', args, hers)).structuredContent?.slug).not.toBe(
      first?.structuredContent?.slug as string,
    )
    hers.abort()
  })

  test('needs a key, which reads refuse', async () =>
    expect(said(await tool('list_notes', { idempotencyKey: 'x' }))).toContain(
      'idempotencyKey is an argument of create_note',
    ))
})

test("fifty clients with the same message ids never get each other's answers", async () => {
  const own = serveTools(t, [
    anyTool(
      'echo',
      async (ctx, { tag }) => {
        await Bun.sleep(Math.random() * 5)
        return { tag, credential: ctx.actor.credentialId }
      },
      { input: object({ tag: text(40), more: optional(nullable(array(jsonObject(), 2))) }) as TObject },
    ),
  ])
  const people = [ada, await person(t)]
  const secrets = await Promise.all(Array.from({ length: 50 }, async (_, n) => mcpToken(t, people[n % 2] as Person)))
  const streams = await Promise.all(secrets.map((secret) => openRaw(own.url, secret)))
  const credentials = await Promise.all(
    secrets.map(async (secret) => (await t.app.auth.authenticate(secret)).credentialId),
  )
  await Promise.all(
    streams.map(async (s, n) => {
      for (let round = 0; round < 5; round++) {
        const answers = await Promise.all(
          [1, 2, 'a'].map((same) => s.call(same, 'echo', { tag: `${n}/${round}/${same}` })),
        )
        expect(answers.map((a) => a.result?.structuredContent)).toEqual(
          [1, 2, 'a'].map((same) => ({ tag: `${n}/${round}/${same}`, credential: credentials[n] as string })),
        )
      }
    }),
  )
  expect(own.mcp.streams).toBe(50)
  await own.stop()
  await Promise.all(streams.map((s) => s.ended))
})
