import { beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Comparison, Spec, SpecPage, SpecUpdated, SpecVersions } from '../../src/features/specs/schema.ts'
import * as specs from '../../src/features/specs/service.ts'
import { specs as specTable } from '../../src/features/specs/table.ts'
import type { FeatureDetail } from '../../src/features/workflow/schema.ts'
import { factsOf, type McpClient, ways } from '../mcp/support.ts'
import { type Answer, mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { ctxOf, expectEvent, expectNoEvents, expectRefusal, ids, statuses, times, watch } from './support.ts'

let t: TestApp
let ada: Person
let grace: Person
let viewer: Person
let stranger: Person
let project: string
beforeAll(async () => {
  t = watch(await sharedApp())
  ada = await person(t)
  grace = await member(t, ada, 'member')
  viewer = await member(t, ada, 'viewer', 'Barbara')
  stranger = await person(t)
  project = await newProject()
})

const newProject = async (more: object = {}): Promise<string> =>
  (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Engine'), ...more })).body.id
const create = (more: Record<string, unknown> = {}, who = ada): Promise<Answer<Spec>> =>
  who.fetch('POST', '/api/specs', {
    title: unique('Lock'),
    content: '# Lock\n\nOne process.\n',
    projectId: project,
    ...more,
  })
const made = async (more: Record<string, unknown> = {}): Promise<Spec> => (await create(more)).body
const update = (id: string, body: object, who = ada, headers = {}): Promise<Answer<SpecUpdated>> =>
  who.fetch('PATCH', `/api/specs/${id}`, body, headers)
const get = async (id: string, query = ''): Promise<Spec> =>
  (await ada.fetch<Spec>('GET', `/api/specs/${id}${query}`)).body
const versionsOf = async (id: string, query = ''): Promise<SpecVersions> =>
  (await ada.fetch<SpecVersions>('GET', `/api/specs/${id}/versions${query}`)).body
const compare = (id: string, query: string, who = ada): Promise<Answer<Comparison>> =>
  who.fetch('GET', `/api/specs/${id}/compare?${query}`)

describe('the versions of a spec', () => {
  test('are one for every change, with author and message, and never change', async () => {
    const answer = await create({ title: ' Folder lock ', message: 'First thoughts' })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('location')).toBe(`/api/specs/${answer.body.id}`)
    expect(answer.body).toMatchObject({ title: 'Folder lock', status: 'draft', version: 1, createdById: ada.userId })
    expect(answer.body.slug).toMatch(/^folder-lock/)
    expect(await expectEvent(t, answer, 'spec.created')).toMatchObject({
      projectId: project,
      data: { title: 'Folder lock', version: 1 },
    })
    const { id } = answer.body

    const second = await update(
      id,
      { content: '# Lock\n\nOne process.\nNFS is refused.\n', message: 'NFS', baseVersion: 1 },
      grace,
    )
    expect(second.body).toMatchObject({ version: 2, change: { added: 1, removed: 0 } })
    await expectEvent(t, second, 'spec.updated')
    const third = await update(id, { title: 'The folder lock', status: 'review' }, ada, { 'if-match': '"2"' })
    expect(third.body).toMatchObject({
      version: 3,
      title: 'The folder lock',
      status: 'review',
      change: { added: 0, removed: 0 },
    })
    // The slug stays: links must not break.
    expect(third.body.slug).toBe(answer.body.slug)

    expect((await versionsOf(id)).items).toMatchObject([
      {
        version: 3,
        title: 'The folder lock',
        status: 'review',
        message: null,
        author: { type: 'user', name: 'Ada Lovelace' },
      },
      {
        version: 2,
        title: 'Folder lock',
        status: 'draft',
        message: 'NFS',
        author: { id: grace.userId, name: 'Grace Hopper' },
      },
      { version: 1, title: 'Folder lock', message: 'First thoughts', author: { id: ada.userId } },
    ])
    expect(await get(id, '?version=1')).toMatchObject({
      version: 1,
      title: 'Folder lock',
      status: 'draft',
      content: '# Lock\n\nOne process.\n',
    })
    expect(await get(id, '?version=3')).toEqual(await get(id))
    expect((await ada.fetch('GET', `/api/specs/${id}?version=4`)).status).toBe(404)
  })

  test('are paged', async () => {
    const { id } = await made()
    for (let v = 1; v < 5; v++) await update(id, { content: `Version ${v + 1}`, baseVersion: v })
    const seen: number[] = []
    for (let cursor = ''; ; ) {
      const page = await versionsOf(id, `?limit=2&total=true${cursor}`)
      expect(page.total).toBe(5)
      seen.push(...page.items.map((v) => v.version))
      if (!page.nextCursor) break
      cursor = `&cursor=${page.nextCursor}`
    }
    expect(seen).toEqual([5, 4, 3, 2, 1])
  })

  test('are based on the version that the change names', async () => {
    const { id } = await made()
    const current = { id, version: 1 }
    const none = await expectRefusal(t, await update(id, { content: 'x' }), 412, 'version_mismatch')
    expect(none).toMatchObject({ current, detail: expect.stringContaining('It is now 1') })
    expect(
      (await expectRefusal(t, await update(id, { content: 'x', baseVersion: 7 }), 412, 'version_mismatch')).current,
    ).toMatchObject(current)
    await expectRefusal(t, await update(id, { content: 'x' }, ada, { 'if-match': '"2"' }), 412, 'version_mismatch')
    // Of many at once, one.
    const answers = await Promise.all(
      times(8, (i) => update(id, { content: `Text ${i}`, baseVersion: 1 }, i % 2 ? ada : grace)),
    )
    expect(statuses(answers)).toEqual([200, ...times(7, () => 412)])
    expect((await versionsOf(id)).items.map((v) => v.version)).toEqual([2, 1])
    expect(
      answers
        .filter((a) => a.status === 412)
        .every((a) => (a.body as unknown as { current: Spec }).current.version === 2),
    ).toBe(true)
  })

  test('are not added by a change that changes nothing', async () => {
    const { id, content, title } = await made()
    const answer = await update(id, { content, title, message: 'Nothing', baseVersion: 1 })
    expect(answer.body).toMatchObject({ version: 1, change: { added: 0, removed: 0 } })
    expect((await versionsOf(id)).items).toBeArrayOfSize(1)
  })

  test('cannot be added to an archived spec until it is a draft again', async () => {
    const { id } = await made()
    expect((await update(id, { status: 'approved', baseVersion: 1 })).body).toMatchObject({
      status: 'approved',
      version: 2,
    })
    expect((await update(id, { status: 'archived', baseVersion: 2 })).status).toBe(200)
    await expectRefusal(t, await update(id, { content: 'x', baseVersion: 3 }), 409, 'conflict')
    await expectRefusal(t, await update(id, { status: 'approved', baseVersion: 3 }), 409, 'conflict')
    expect((await update(id, { status: 'draft', content: 'x', baseVersion: 3 })).body).toMatchObject({
      status: 'draft',
      version: 4,
    })
  })
})

describe('comparing versions', () => {
  test('works for any two, in both directions', async () => {
    const { id, slug } = await made({ title: 'Compare', content: 'a\nb\nc\n' })
    await update(id, { content: 'a\nB\nc\nd\n', baseVersion: 1 })
    await update(id, { content: 'c\nd\n', title: 'Compared', status: 'review', baseVersion: 2 })
    const { body } = await compare(id, 'from=1&to=2', viewer)
    expect(body).toMatchObject({ from: 1, to: 2, added: 2, removed: 1 })
    expect(body.diff).toBe(
      `--- ${slug} v1 (Compare, draft)\n+++ ${slug} v2 (Compare, draft)\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d`,
    )
    expect((await compare(id, 'from=1')).body).toMatchObject({ from: 1, to: 3, added: 1, removed: 2 })
    expect((await compare(id, 'from=3&to=1')).body).toMatchObject({ from: 3, to: 1, added: 2, removed: 1 })
    expect((await compare(id, 'from=1')).body.diff).toContain('(Compared, review)')
    expect((await compare(id, 'from=2&to=2')).body).toMatchObject({ added: 0, removed: 0 })
    expect((await compare(id, 'from=1&to=9')).status).toBe(404)
    expect((await compare(id, 'to=2')).status).toBe(422)
    expect((await compare(id, 'from=1', stranger)).status).toBe(404)
  })
})

describe('a spec', () => {
  test('has a slug that is unique in its team; after a move, colliding ones get their id', async () => {
    const title = unique('Same name')
    const answers = await Promise.all(times(6, () => create({ title })))
    expect(answers.map((a) => a.status)).toEqual(times(6, () => 201))
    const slugs = answers.map((a) => a.body.slug)
    expect(new Set(slugs).size).toBe(6)
    const [first] = slugs.sort((a, b) => a.length - b.length) as [string]
    expect((await get(first)).title).toBe(title)
    const elsewhere = await made({ title, projectId: await newProject() })
    expect([...slugs, elsewhere.slug]).toHaveLength(new Set([...slugs, elsewhere.slug]).size)
    for (const slug of [...slugs, elsewhere.slug]) expect((await get(slug)).slug).toBe(slug)
    await t.app.db.update(specTable).set({ slug: first }).where(eq(specTable.id, elsewhere.id))
    expect((await ada.fetch<{ detail: string }>('GET', `/api/specs/${first}`)).body.detail).toContain('Use its id')
    expect((await ada.fetch('GET', `/api/specs/${elsewhere.id}`)).status).toBe(200)
    // Who is at work in one of them means that one.
    const ctx = await ctxOf(t, await mcpToken(t, ada, { projectId: elsewhere.projectId }))
    expect((await specs.get(ctx, { ref: first })).id).toBe(elsewhere.id)
  })

  test('is listed by project, status and words, without the text', async () => {
    const own = await newProject()
    const word = unique('giraffe').replaceAll('-', '')
    const all = [
      await made({ projectId: own, content: `About ${word}` }),
      await made({ projectId: own, status: 'review' }),
    ]
    const list = async (query = '') =>
      (await viewer.fetch<SpecPage>('GET', `/api/specs?projectId=${own}&total=true${query}`)).body
    expect(ids(await list())).toEqual(all.map((s) => s.id).sort())
    expect(ids(await list('&status=review'))).toEqual([all[1]?.id as string])
    expect(await list(`&search=${word}`)).toMatchObject({ total: 1, items: [{ id: all[0]?.id as string }] })
    expect((await list()).items[0]).not.toHaveProperty('content')
  })

  test('is refused with wrong values, which the answer names', async () => {
    const { errors } = await expectRefusal(t, await create({ content: 'é'.repeat(140_000) }), 422, 'invalid')
    expect(errors?.[0]).toMatchObject({ pointer: '/content', code: 'too_long' })
    for (const [body, pointer] of [
      [{ title: '' }, '/title'],
      [{ content: '' }, '/content'],
      [{ status: 'archived' }, '/status'],
      [{ slug: 'mine' }, '/slug'],
      [{ projectId: undefined }, '/project'],
    ] as const)
      expect((await expectRefusal(t, await create(body), 422, 'invalid')).errors?.[0]?.pointer).toBe(pointer)
    const archive = await newProject()
    await ada.fetch('POST', `/api/projects/${archive}/archive`)
    await expectRefusal(t, await create({ projectId: archive }), 409, 'conflict')
  })
})

describe('an agent', () => {
  let client: McpClient
  beforeAll(async () => {
    client = (await ways['v2 client, HTTP 2026-07-28']?.(
      t.url,
      await mcpToken(t, ada, { projectId: project }),
    )) as McpClient
  })
  const use = async <T = Spec>(name: string, args: Record<string, unknown>): Promise<T> =>
    factsOf<T>(await client.call(name, args))

  test('creates a feature for a spec of its project', async () => {
    const spec = await use('create_spec', { title: unique('Lock'), content: 'One.' })
    const feature = await use<{ id: string }>('create_feature', { title: unique('Lock'), spec: spec.slug })
    expect(await use<FeatureDetail>('get_feature', { feature: feature.id })).toMatchObject({
      spec: { slug: spec.slug, version: 1 },
    })
    const elsewhere = await made({ projectId: await newProject() })
    const wrong = await client.call('create_feature', { title: 'Wrong', spec: elsewhere.id })
    expect(wrong).toMatchObject({ isError: true, structuredContent: { code: 'not_found' } })
    const cleared = await ada.fetch<FeatureDetail>('PATCH', `/api/features/${feature.id}`, { specId: null })
    expect(cleared.body.specId).toBeNull()
    const gone = await ada.fetch<FeatureDetail>('GET', `/api/features/${feature.id}`)
    expect(gone.body.spec).toBeNull()
    await expectNoEvents(t, gone)
  })
})
