import { beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { decisions } from '../../src/features/decisions/table.ts'
import { MOST_BYTES, toolSuccess } from '../../src/mcp/result.ts'
import { emptyContext, type ResultContext, shortenResult } from '../../src/mcp/shorten-result.ts'
import { shortNames } from '../../src/records/short-names.ts'
import { mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { anyTool, factsOf, type McpClient, ways } from './support.ts'

describe('fields of a result', () => {
  const id = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
  const known: ResultContext = { names: new Map([[id, 'LAN']]), me: 'm' }

  test('that are empty, false or at their default are left out, except an empty list of items', () =>
    expect(
      shortenResult({ a: null, b: '', c: [], d: {}, e: false, priority: 'medium', f: 0, items: [] }, emptyContext),
    ).toEqual({
      f: 0,
      items: [],
    }))

  test('that users store as JSON stay unchanged', () =>
    expect(shortenResult({ metadata: { a: null, b: false } }, emptyContext)).toEqual({
      metadata: { a: null, b: false },
    }))

  test('contain people by name, and the caller as me', () =>
    expect(
      shortenResult(
        {
          author: { type: 'user', id: 'm', name: 'Ada' },
          assignee: { type: 'user', id: 'm', name: 'Ada' },
          lease: { holder: { type: 'agent', id: 'x', name: 'Builder', client: 'Codex', for: 'Grace' } },
        },
        known,
      ),
    ).toEqual({ author: 'Ada', assignee: 'me', lease: { holder: 'Builder' } }))

  test('contain other records as tools accept them, and times to the minute', () =>
    expect(
      shortenResult(
        { slug: 'a', id: 'x', projectId: id, scope: 'project', scopeId: id, updatedAt: '2026-11-15T10:04:59.123Z' },
        known,
      ),
    ).toEqual({ slug: 'a', scope: 'project', scopeId: 'LAN', updatedAt: '2026-11-15T10:04Z' }))

  test('leave out the requested project, and the project of a record with a key', () => {
    expect(shortenResult({ title: 'a', projectId: id }, { ...known, oneProject: true })).toEqual({ title: 'a' })
    expect(shortenResult({ title: 'a', projectId: id }, { ...known, project: id })).toEqual({ title: 'a' })
    expect(shortenResult({ title: 'a', projectId: id }, known)).toEqual({ title: 'a', project: 'LAN' })
    expect(shortenResult({ key: 'LAN-4', number: 4, id, projectId: id, storyId: id }, known)).toEqual({ key: 'LAN-4' })
  })
})

describe('a result that is too long', () => {
  const tool = anyTool('any', async () => undefined)
  const cut = (answer: object) => toolSuccess(answer, tool)

  test('is cut in its longest texts and lists, which are named with their full length', () => {
    const { facts, json, text } = cut({ title: 'Short', content: 'x'.repeat(5_000_000), tags: ['a'] })
    expect(facts).toMatchObject({ title: 'Short', tags: ['a'] })
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(MOST_BYTES)
    expect(facts.truncated).toMatch(/content: the first \d+ of 5000000 characters/)
    expect(text).toBe(json)
  })

  test('ends after a whole line, without the cursor, which would skip the omitted lines', () => {
    const items = Array.from({ length: 2_000 }, (_, n) => `LAN-${n} todo «${'Long title '.repeat(9)}»`)
    const { facts, text } = cut({ items, nextCursor: 'abc', total: 5_000 })
    const kept = facts.items as string[]
    expect(kept).toEqual(items.slice(0, kept.length))
    expect(kept.length).toBeGreaterThan(500)
    expect(facts).not.toHaveProperty('nextCursor')
    expect(facts.truncated).toContain(
      `items: the first ${kept.length} of 2000 items. Call again with limit: ${kept.length}`,
    )
    const [head, ...lines] = text.split('\n')
    expect(lines).toEqual(kept)
    expect(JSON.parse(head as string)).toEqual({ total: 5_000, truncated: facts.truncated })
  })

  test('keeps whole characters, and names its author first', () => {
    const { facts, json } = toolSuccess({ content: '😀'.repeat(100_000) }, tool, emptyContext, {
      kind: 'note',
      trust: 'other',
    })
    expect(Object.keys(facts)[0]).toBe('_source')
    expect(String(facts.content).isWellFormed()).toBe(true)
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(MOST_BYTES)
  })
})

describe('the result of a tool', () => {
  let t: TestApp
  let ada: Person
  let client: McpClient
  let project: string
  const use = async <T = Record<string, unknown>>(name: string, args: Record<string, unknown> = {}): Promise<T> =>
    factsOf<T>(await client.call(name, args))
  beforeAll(async () => {
    t = await sharedApp()
    ada = await person(t)
    project = (await ada.fetch<{ slug: string }>('POST', '/api/projects', { name: 'Lantern' })).body.slug
    client = (await ways['v2 client, HTTP 2026-07-28']?.(t.url, await mcpToken(t, ada))) as McpClient
  })

  test('contains shortened ids that every tool accepts', async () => {
    const memory = await use<{ id: string }>('store_memory', { project, content: 'The shelf holds 40 books.' })
    const decision = await use<{ id: string }>('log_decision', { project, title: 'Use flock', decision: 'A file.' })
    const feature = await use<{ id: string }>('create_feature', { project, title: 'Night mode' })
    const session = await use<{ id: string }>('create_session', { project, goals: ['Night mode'] })
    const activity = await use<{ id: string }>('log_activity', { project, type: 'deploy', description: 'Deployed' })
    for (const { id } of [memory, decision, feature, session, activity]) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}/)
    expect(await use('get_decision', { decision: decision.id })).toMatchObject({ id: decision.id, project: 'LAN' })
    expect(await use('get_feature', { feature: feature.id })).toMatchObject({ id: feature.id })
    expect(await use('resume_session', { session: session.id })).toMatchObject({ id: session.id })
    expect(await use('get_activity', { activity: activity.id })).toMatchObject({ description: 'Deployed' })
    const newer = await use<{ id: string }>('store_memory', { project, content: '50 books.', supersedes: memory.id })
    const { items } = await use<{ items: object[] }>('list_memories', { project })
    expect(items).toMatchObject([{ id: newer.id, supersedes: memory.id, content: '50 books.' }])
    await use('log_decision', { project, title: 'Use a lease', decision: 'A row.', supersedes: decision.id })
    expect(await use('delete_memory', { memory: newer.id })).toEqual({ deleted: true })
    expect(await use('end_session', { session: session.id })).toMatchObject({ session: session.id })
  })

  test('contains longer ids for records created in the same millisecond', async () => {
    const same = [
      '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10',
      '019a8a7e-5c1f-7d3a-9b53-0c7f6f1f2a10',
      '019a8a7e-5c1f-7d4a-9b52-0c7f6f1f2a10',
    ]
    const ctx = await ada.ctx()
    const rest = { decision: 'It.', alternatives: [], tags: [], authorName: 'Ada', authorType: 'user' as const }
    const row = (id: string) => ({ id, organizationId: ada.organizationId, title: unique('Same'), ...rest })
    const now = ctx.now
    await t.app.db
      .insert(decisions)
      .values(same.map((id) => ({ ...row(id), status: 'accepted' as const, createdAt: now, updatedAt: now })))
    try {
      const names = await shortNames(ctx, 'decision', same)
      expect(same.map((id) => names.get(id))).toEqual([
        '019a8a7e-5c1f-7d3a-9b52',
        '019a8a7e-5c1f-7d3a-9b53',
        '019a8a7e-5c1f-7d4a',
      ])
      const { title } = await use<{ title: string }>('get_decision', { decision: names.get(same[1] as string) })
      expect(title).toStartWith('Same')
      const short = await client.call('get_decision', { decision: '019a8a7e-5c1f' })
      expect(short.content[0]?.text).toContain('Several ids begin with 019a8a7e-5c1f')
    } finally {
      await t.app.db.execute(sql`delete from ${decisions} where id::text like '019a8a7e-5c1f%'`)
    }
  })

  test('names people and agents so that a task can be assigned to them', async () => {
    const grace = await member(t, ada, 'member', 'Grace (night shift)')
    const { slug } = await use<{ slug: string }>('create_agent', { name: 'Builder [two]' })
    const { key } = await use<{ key: string }>('create_task', { project, title: 'Lock it', assignee: grace.email })
    const { items } = await use<{ items: string[] }>('list_tasks', { project })
    expect(JSON.stringify(items)).toContain('Grace')
    for (const [given, shown] of [
      ['grace night shift', 'Grace (night shift)'],
      ['Builder two', 'Builder [two]'],
      [slug, 'Builder [two]'],
      ['Grace (night shift)', 'Grace (night shift)'],
      ['me', 'me'],
    ]) {
      await use('update_task', { task: key, assignee: given })
      expect(await use('get_task', { task: key })).toMatchObject({ assignee: shown })
    }
    expect((await client.call('update_task', { task: key, assignee: 'Nobody here' })).isError).toBe(true)
  })

  test('contains a single record in full, unless it is too long', async () => {
    const word = unique('heron').replaceAll('-', '')
    await use('create_note', { project, title: `About ${word}`, content: 'Herons stand still.' })
    expect((await use<{ items: object[] }>('list_notes', { query: word })).items).toMatchObject([
      { content: 'Herons stand still.' },
    ])
    await use('create_note', { project, title: `More ${word}`, content: 'They fish.' })
    for (const item of (await use<{ items: object[] }>('list_notes', { query: word })).items)
      expect(item).not.toHaveProperty('content')
    const long = unique('crane').replaceAll('-', '')
    await use('create_note', { project, title: `About ${long}`, content: 'Cranes dance. '.repeat(1000) })
    const { items } = await use<{ items: object[] }>('list_notes', { query: long })
    expect(items).toHaveLength(1)
    expect(items[0]).not.toHaveProperty('content')
  })
})
