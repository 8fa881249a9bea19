import { beforeAll, describe, expect, test } from 'bun:test'
import { count, eq, or } from 'drizzle-orm'
import type { Link, LinkedRecord, LinkPage } from '../../src/features/links/schema.ts'
import { links } from '../../src/features/links/table.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import { kindInfo, type RecordName, recordNames } from '../../src/records/names.ts'
import { apiKey, call, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { oneOfEach } from '../support/records.ts'
import { expectEvent, expectEvents, expectRefusal, inside, statuses, times, watch } from './support.ts'

let t: TestApp
let ada: Person
let grace: Person
let viewer: Person
let stranger: Person
let project: Project
beforeAll(async () => {
  t = watch(await sharedApp())
  ada = await person(t)
  grace = await member(t, ada, 'member')
  viewer = await member(t, ada, 'viewer')
  stranger = await person(t)
  project = await make<Project>(ada, '/api/projects', { name: unique('Engine') })
})

interface Made {
  id: string
  title: string
  key: string
}
interface End {
  type: RecordName
  id: string
}

async function make<T = Made>(who: Person, path: string, body: object): Promise<T> {
  const answer = await who.fetch<T>('POST', path, body)
  expect([path, answer.status]).toEqual([path, 201])
  return answer.body
}
const task = async (who = ada, of: { id: string } = project): Promise<End & Made> => ({
  ...(await make(who, `/api/projects/${of.id}/tasks`, { title: unique('Lock') })),
  type: 'task',
})
const note = async (who = ada, more: object = { scope: 'team' }): Promise<End & Made> => ({
  ...(await make(who, '/api/notes', { title: unique('Runbook'), ...more })),
  type: 'note',
})
const body = (from: End, to: End, more: object = {}) => ({
  fromType: from.type,
  fromId: from.id,
  toType: to.type,
  toId: to.id,
  ...more,
})
const tie = (who: Person, from: End, to: End, more: object = {}) =>
  who.fetch<Link>('POST', '/api/links', body(from, to, more))
const of = async (who: Person, { type, id }: End, query = '') =>
  (await who.fetch<LinkPage>('GET', `/api/links?type=${type}&id=${id}${query}`)).body
const others = async (who: Person, end: End) =>
  (await of(who, end)).items.map(({ from, to }) => (from.id === end.id ? to.id : from.id)).sort()
const kept = async ({ id }: End) =>
  (
    await t.app.db
      .select({ n: count() })
      .from(links)
      .where(or(eq(links.fromId, id), eq(links.toId, id)))
  )[0]?.n

describe('a link', () => {
  test('is shown at both ends, with titles and paths', async () => {
    const [lock, runbook] = [await task(), await note()]
    const answer = await tie(grace, runbook, lock, { kind: 'documents' })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('location')).toBe(`/api/links/${answer.body.id}`)
    expect(answer.body).toMatchObject({
      kind: 'documents',
      from: { type: 'note', id: runbook.id, title: runbook.title, path: `/notes/${runbook.id}` },
      to: { type: 'task', id: lock.id, title: lock.title, path: `/tasks/${lock.key}` },
    })
    for (const end of [lock, runbook]) expect((await of(viewer, end)).items).toEqual([answer.body])
    expect((await viewer.fetch('GET', `/api/links/${answer.body.id}`)).body).toMatchObject(answer.body as object)
    expect((await viewer.fetch('GET', `/api${answer.body.to.path}`)).body).toMatchObject({ id: lock.id })
    expect((await viewer.fetch('GET', `/api${answer.body.from.path}`)).body).toMatchObject({ id: runbook.id })
    const event = await expectEvent(t, answer, 'link.created')
    expect(event).toMatchObject({
      organizationId: ada.organizationId,
      subjectId: runbook.id,
      data: { kind: 'documents', other: 'task' },
    })
    // The type is asked for too: an id alone is not believed.
    expect((await of(viewer, { type: 'task', id: runbook.id })).items).toEqual([])
  })

  test('connects any two kinds of record, and each shows its name', async () => {
    const lock = await task()
    // Without a title of its own, a memory shows its text.
    const words = (kind: RecordName) => ({
      title: `One ${kind}`,
      text: kind === 'memory' ? 'One memory' : 'Some text.',
    })
    const all = await oneOfEach(ada, { words, more: { memory: { title: undefined } } })
    for (const type of recordNames) {
      const { id } = all[type]
      const answer = await tie(ada, { type, id }, lock, { kind: 'about' })
      expect([type, answer.status]).toEqual([type, 201])
      expect(answer.body.from).toMatchObject({ type, id, title: type === 'repository' ? 'tutti/tutti' : `One ${type}` })
      const path = kindInfo(type).path ?? `/projects/${all.project.id}/epics`
      expect(answer.body.from.path).toStartWith(`${path}/`)
      expect(await ada.fetch('GET', `/api${answer.body.from.path}`)).toMatchObject({ status: 200, body: { id } })
    }
    expect((await others(ada, lock)).length).toBe(recordNames.length)
    // A session is its worker's.
    expect((await others(grace, lock)).length).toBe(recordNames.length - 1)
  })

  test('made twice is one link, even at once; it has a direction only with a kind', async () => {
    const [lock, runbook] = [await task(), await note()]
    const first = await tie(ada, runbook, lock)
    const again = await tie(grace, lock, runbook)
    expect(again.body).toEqual(first.body)
    expect((await expectEvents(t, again, 'links.create'))[0]).toMatchObject({ organizationId: null })
    expect((await of(ada, lock)).items).toHaveLength(1)
    const one = await Promise.all(times(6, (i) => tie(i % 2 ? ada : grace, lock, runbook, { kind: 'implements' })))
    expect(statuses(one)).toEqual(times(6, () => 201))
    expect(new Set(one.map((a) => a.body.id)).size).toBe(1)
    expect(one.flatMap((a) => (a.body.from.id === lock.id ? [] : [a]))).toEqual([])
    // Implementing is not the same as being implemented.
    expect((await tie(ada, runbook, lock, { kind: 'implements' })).body.id).not.toBe(one[0]?.body.id)
    expect(await kept(lock)).toBe(3)
  })

  test('is refused to itself, to a missing record, and with an unknown kind or type', async () => {
    const [lock, runbook] = [await task(), await note()]
    const self = await expectRefusal(t, await tie(ada, lock, lock), 422, 'invalid')
    expect(self.errors).toMatchObject([{ pointer: '/toId' }])
    for (const kind of ['', 'Has Spaces', 'x'.repeat(41)])
      await expectRefusal(t, await tie(ada, lock, runbook, { kind }), 422, 'invalid')
    await expectRefusal(t, await tie(ada, lock, { type: 'user' as RecordName, id: ada.userId }), 422, 'invalid')
    await expectRefusal(t, await tie(ada, lock, { type: 'note', id: Bun.randomUUIDv7() }), 404, 'not_found')
    // A task is no note.
    await expectRefusal(t, await tie(ada, runbook, { ...lock, type: 'note' }), 404, 'not_found')
  })

  test('is removed by anyone who can change one end', async () => {
    const [lock, runbook] = [await task(), await note()]
    const { id } = (await tie(ada, lock, runbook)).body
    const remove = (who: Person) => who.fetch('DELETE', '/api/links', { id })
    await expectRefusal(t, await remove(viewer), 403, 'forbidden')
    await expectRefusal(t, await remove(stranger), 404, 'not_found')
    const gone = await remove(grace)
    expect([gone.status, gone.body]).toEqual([200, { id, deleted: true }])
    await expectEvent(t, gone, 'link.deleted')
    await expectRefusal(t, await remove(grace), 404, 'not_found')
    expect((await of(ada, lock)).items).toEqual([])
  })
})

describe('a link is visible', () => {
  test('only to people who see both ends', async () => {
    const secret = await make<Project>(ada, '/api/projects', { name: unique('Secret'), visibility: 'private' })
    const [hidden, open] = [await task(ada, secret), await task()]
    const { id } = (await tie(ada, hidden, open)).body
    expect(await others(ada, open)).toEqual([hidden.id])
    for (const who of [grace, stranger]) {
      expect((await of(who, open)).items).toEqual([])
      expect((await of(who, hidden)).items).toEqual([])
      expect((await who.fetch('GET', `/api/links/${id}`)).status).toBe(404)
      await expectRefusal(t, await who.fetch('DELETE', '/api/links', { id }), 404, 'not_found')
      await expectRefusal(t, await tie(who, open, hidden), 404, 'not_found')
    }
    await ada.fetch('POST', `/api/projects/${secret.id}/share`, {})
    expect(await others(grace, open)).toEqual([hidden.id])
  })

  test('only to its author if one end is a personal note, and not to a key bound to a team', async () => {
    const [lock, diary] = [await task(), await note(ada, { scope: 'personal' })]
    const answer = await tie(ada, lock, diary)
    expect(await others(ada, lock)).toEqual([diary.id])
    expect(await others(grace, lock)).toEqual([])
    expect(await expectEvent(t, answer, 'link.created')).toMatchObject({
      organizationId: null,
      projectId: null,
      userId: ada.userId,
    })
    const { token } = (
      await ada.fetch<{ token: string }>('POST', '/api/settings/api-keys', {
        name: 'bound',
        scopes: ['write'],
        organizationId: ada.organizationId,
      })
    ).body
    const bound = await call<LinkPage>(t, 'GET', `/api/links?type=task&id=${lock.id}`, undefined, {
      authorization: `Bearer ${token}`,
    })
    expect(bound.body.items).toEqual([])
  })

  test('to people who can read both ends, but creating it needs the right to write', async () => {
    const other = await person(t)
    const [theirs, mine] = [
      await make(other, '/api/skills', { name: unique('Open'), scope: 'public' }),
      await make(ada, '/api/skills', { name: unique('Open'), scope: 'public' }),
    ]
    const ends: [End, End] = [
      { type: 'skill', id: theirs.id },
      { type: 'skill', id: mine.id },
    ]
    await expectRefusal(t, await tie(stranger, ...ends), 403, 'forbidden')
    expect((await tie(ada, ...ends)).status).toBe(201)
    const key = await apiKey(t, ada, ['links:read'])
    const read = { authorization: `Bearer ${key}` }
    expect((await call(t, 'GET', `/api/links?type=skill&id=${mine.id}`, undefined, read)).status).toBe(200)
    expect((await call(t, 'POST', '/api/links', body(...ends), read)).status).toBe(403)
  })

  test('in the feed of the person who linked a stranger’s public record, not in the stranger’s', async () => {
    const skill = await make(ada, '/api/skills', { name: unique('Open'), scope: 'public' })
    const theirs = await task(stranger, await make(stranger, '/api/projects', { name: unique('Theirs') }))
    const made = await tie(stranger, { type: 'skill', id: skill.id }, theirs, { kind: 'used-by' })
    const home = { subjectId: theirs.id, organizationId: stranger.organizationId }
    expect(await expectEvent(t, made, 'link.created')).toMatchObject({
      ...home,
      data: { noun: 'task', other: 'skill' },
    })
    const gone = await stranger.fetch('DELETE', '/api/links', { id: made.body.id })
    expect(await expectEvent(t, gone, 'link.deleted')).toMatchObject(home)
  })

  test('only with a key whose scopes cover both ends', async () => {
    const lock = await task()
    const memory = await make(ada, '/api/memories', {
      content: 'Nothing for this key.',
      scope: 'project',
      scopeId: project.id,
    })
    const book = await note()
    for (const to of [book, { type: 'memory' as const, id: memory.id }])
      expect((await tie(ada, lock, to)).status).toBe(201)
    const withScopes = async (path: string, ...scopes: string[]) =>
      (
        await call<LinkPage & { links: LinkedRecord[] }>(t, 'GET', path, undefined, {
          authorization: `Bearer ${await apiKey(t, ada, scopes)}`,
        })
      ).body
    const listed = `/api/links?type=task&id=${lock.id}`
    expect((await withScopes(`/api/tasks/${lock.id}`, 'tasks:read')).links).toEqual([])
    expect((await withScopes(`/api/tasks/${lock.id}`, 'tasks:read', 'notes:read')).links.map(({ id }) => id)).toEqual([
      book.id,
    ])
    expect((await withScopes(listed, 'links:read')).items).toEqual([])
    expect(
      (await withScopes(listed, 'links:read', 'tasks:read', 'memories:read')).items.map(({ to, from }) => [to, from]),
    ).toMatchObject([[{ id: expect.any(String) }, { id: expect.any(String) }]])
    const key = await apiKey(t, ada, ['links:write', 'tasks:read'])
    const blind = await call(t, 'POST', '/api/links', body(lock, book, { kind: 'names' }), {
      authorization: `Bearer ${key}`,
    })
    await expectRefusal(t, blind, 404, 'not_found')
  })

  test('until one end is deleted, and again once it is restored', async () => {
    const [lock, skill] = [
      await task(),
      { type: 'skill' as const, ...(await make(ada, '/api/skills', { name: 'Review', scope: 'team' })) },
    ]
    await tie(ada, lock, skill)
    await ada.fetch('DELETE', `/api/skills/${skill.id}`)
    expect((await of(ada, lock)).items).toEqual([])
    expect((await of(ada, skill)).items).toEqual([])
    await ada.fetch('POST', `/api/skills/${skill.id}/restore`)
    expect(await others(ada, lock)).toEqual([skill.id])
  })

  test('inside a project that moved to another team, and to readers of both sides', async () => {
    const owner = await person(t)
    const colleague = await member(t, owner, 'member')
    const next = inside(
      owner,
      (await owner.fetch<{ id: string }>('POST', '/api/teams', { name: unique('Next') })).body.id,
    )
    const moving = await make<Project>(owner, '/api/projects', { name: unique('Moving') })
    const [one, two, staying] = [await task(owner, moving), await task(owner, moving), await note(owner)]
    await tie(owner, one, two)
    await tie(owner, one, staying)
    await owner.fetch('PATCH', `/api/projects/${moving.id}`, { organizationId: next.organizationId })
    expect(await others(next, one)).toEqual([two.id, staying.id].sort())
    expect(await others(colleague, staying)).toEqual([])
    const newcomer = await member(t, next, 'member')
    const there = (await of(newcomer, one)).items
    expect(there.map((l) => [l.from.id, l.to.id].sort())).toEqual([[one.id, two.id].sort()])
  })
})

test('a task lists its links and mentions once each, as far as its reader can see them', async () => {
  const lock = await task()
  const other = await task()
  const decision = await make(ada, '/api/decisions', {
    title: 'Use flock',
    decision: 'It is so.',
    projectId: project.id,
  })
  const noting = await note(ada, {
    scope: 'team',
    links: [{ type: 'task', id: lock.id, kind: 'explains' }, { url: 'https://example.com' }],
  })
  const diary = await note(ada, { scope: 'personal', links: [{ type: 'task', id: lock.id }] })
  await note(stranger, { links: [{ type: 'task', id: lock.id }] })
  const memory = await make(ada, '/api/memories', {
    content: `${lock.key} taught us that NFS ignores flock`,
    scopeId: project.id,
  })
  await make(ada, '/api/memories', { content: `${lock.key}0 is about something else`, scopeId: project.id })
  const secret = await make<Project>(ada, '/api/projects', { name: unique('Secret'), visibility: 'private' })
  const hidden = await make(ada, '/api/memories', { content: `Hidden: ${lock.key}`, scopeId: secret.id })
  await tie(ada, lock, { type: 'decision', id: decision.id }, { kind: 'follows' })
  await tie(ada, other, lock, { kind: 'needs' })
  // Linked is enough; that it mentions the task besides is not told again.
  await tie(ada, { type: 'memory', id: hidden.id }, lock, { kind: 'about' })
  const shown = async (who: Person) =>
    (await who.fetch<{ links: LinkedRecord[] }>('GET', `/api/tasks/${lock.key}`)).body.links
      .map(({ type, id, kind, direction }) => [type, id, kind, direction].join(' '))
      .sort()
  const team = [
    `decision ${decision.id} follows to`,
    `memory ${memory.id} mentions from`,
    `note ${noting.id} explains from`,
    `task ${other.id} needs from`,
  ]
  expect(await shown(ada)).toEqual([...team, `memory ${hidden.id} about from`, `note ${diary.id} relates from`].sort())
  expect(await shown(grace)).toEqual(team.sort())
  const [first] = (await grace.fetch<{ links: LinkedRecord[] }>('GET', `/api/tasks/${lock.key}`)).body.links
  expect(Object.keys(first as object).sort()).toEqual(['direction', 'id', 'kind', 'path', 'title', 'type'])
})

test('many links are paged, newest first, and hidden ones leave no gaps', async () => {
  const secret = await make<Project>(ada, '/api/projects', { name: unique('Secret'), visibility: 'private' })
  const lock = await task()
  const made: string[] = []
  for (const i of times(9, (n) => n)) {
    const to = await task(ada, i % 3 === 0 ? secret : project)
    const { id } = (await tie(ada, lock, to, { kind: 'needs' })).body
    if (i % 3 !== 0) made.unshift(id)
  }
  const paged: string[] = []
  for (let cursor = ''; ; ) {
    const { items, nextCursor } = await of(grace, lock, `&limit=2${cursor}`)
    paged.push(...items.map((l) => l.id))
    expect(items.length).toBe(2)
    if (!nextCursor) break
    cursor = `&cursor=${nextCursor}`
  }
  expect(paged).toEqual(made)
  await expectRefusal(
    t,
    await grace.fetch('GET', `/api/links?type=task&id=${lock.id}&cursor=abc`),
    400,
    'invalid.cursor',
  )
})
