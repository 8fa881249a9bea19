import { beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { compared } from '../../src/features/transfer/import.ts'
import type { ImportResult, Line } from '../../src/features/transfer/schema.ts'
import { apiKey, mcpToken, member, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { oneOfEach } from '../support/records.ts'

let t: TestApp
let ada: Person
beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
})

interface Whole {
  lines: Line[]
  people: { id: string; email: string }[]
  end: { count: number; sha256: string }
}

/** Reads an export and checks its last line. */
async function exported(who: Person, query = ''): Promise<Whole> {
  const response = await fetch(`${t.url}/api/sync/export${query}`, {
    headers: { authorization: `Bearer ${who.token}` },
  })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
  const all = (await response.text()).trimEnd().split('\n')
  const { end } = JSON.parse(all.pop() as string) as Whole
  const sha256 = createHash('sha256')
    .update(`${all.join('\n')}\n`)
    .digest('hex')
  expect(end).toEqual({ count: all.length, sha256 })
  const [head, ...rest] = all.map((line) => JSON.parse(line) as object)
  expect(head).toMatchObject({ tutti: 'export', version: 1 })
  const { people } = rest.pop() as Whole
  return { lines: rest as Line[], people, end }
}

const imported = (who: Person, { lines, people }: Pick<Whole, 'lines' | 'people'>) =>
  who.fetch<ImportResult>('POST', '/api/sync/import', { people, records: lines })

/** The ids of teams and people differ between instances; everything else is the same. */
const neutral = (lines: readonly Line[], who: Person): unknown[] =>
  lines.map(({ entity, record }) => ({
    entity,
    record: Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name,
        value === who.organizationId ? 'team' : value === who.userId ? 'me' : value,
      ]),
    ),
  }))

/** Something of everything in one project: dependencies, comments, links, versions, parts. */
async function full(who: Person): Promise<string> {
  const made = await oneOfEach(who, {
    kinds: ['project', 'epic', 'story', 'task', 'feature', 'note', 'memory', 'decision', 'spec', 'skill', 'agent'],
    more: { note: { tags: ['x'], content: 'see [[Other]]' }, task: { acceptance: ['one'], assignee: 'me' } },
  })
  const post = async (path: string, body: object) => {
    const answer = await who.fetch<{ id: string }>('POST', path, body)
    expect([path, answer.status]).toEqual([path, 201])
    return answer.body.id
  }
  const { project, task, decision, spec, note } = made
  const later = await post(`/api/projects/${project.id}/tasks`, { title: 'Later', blockedBy: [task.id] })
  await who.fetch('PATCH', `/api/tasks/${task.id}`, { parentId: later, status: 'done' })
  await post(`/api/tasks/${task.id}/comments`, { body: 'Works' })
  await post(`/api/decisions/${decision.id}/comments`, { body: 'Agreed' })
  await who.fetch('PUT', `/api/specs/${spec.id}`, { content: 'Second', baseVersion: 1, message: 'more' })
  await post('/api/links', { fromType: 'note', fromId: note.id, toType: 'task', toId: task.id })
  await post('/api/notes', { title: 'Mine', content: 'x', scope: 'personal' })
  return project.id
}

/** Ids stay, and this database has them already, so the team that they came from has to go first. */
async function moved(whole: Whole, from: Person): Promise<Person> {
  const heir = await person(t)
  for (const line of whole.lines)
    for (const [name, value] of Object.entries(line.record))
      if (typeof value === 'string' && ids.test(value) && value !== from.userId && value !== from.organizationId)
        line.record[name] = other(value)
  for (const line of whole.lines) if (typeof line.record.slug === 'string') line.record.slug += '-2'
  return heir
}
const ids = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** Another id for each id, always the same one. */
const other = (id: string): string => `${id.slice(0, 24)}${createHash('sha256').update(id).digest('hex').slice(0, 12)}`

describe('an export', () => {
  test('imported elsewhere gives the same records, links, comments and versions', async () => {
    await full(ada)
    const whole = await exported(ada)
    expect(new Set(whole.lines.map(({ entity }) => entity)).size).toBe(16)
    expect(whole.people).toEqual([{ id: ada.userId, email: ada.email }])
    const heir = await moved(whole, ada)
    const named = { lines: whole.lines, people: [{ id: ada.userId, email: heir.email }] }
    const { status, body } = await imported(heir, named)
    expect([status, body]).toEqual([200, { created: whole.lines.length, updated: 0, unchanged: 0, conflicts: [] }])
    const again = await exported(heir)
    expect(neutral(again.lines, heir)).toEqual(neutral(whole.lines, ada))
    // Nothing is new.
    expect((await imported(heir, named)).body).toMatchObject({ created: 0, updated: 0, conflicts: [] })
    // Numbers go on after those that were imported.
    const project = whole.lines[0]?.record.id
    expect((await heir.fetch('POST', `/api/projects/${project}/tasks`, { title: 'Next' })).body).toMatchObject({
      number: 3,
    })
  })

  test('holds one project, or what a key may read, as JSON too', async () => {
    const bea = await person(t)
    const project = await full(bea)
    await bea.fetch('POST', '/api/projects', { name: 'Another' })
    const { lines } = await exported(bea, `?project=${project}`)
    expect(lines.filter(({ entity }) => entity === 'project')).toHaveLength(1)
    expect(lines.some(({ entity }) => entity === 'skill')).toBe(false)
    const key = await apiKey(t, bea, ['notes:read'])
    const response = await fetch(`${t.url}/api/sync/export?format=json`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const all = (await response.json()) as { entity?: string; end?: object }[]
    expect(new Set(all.flatMap(({ entity }) => entity ?? []))).toEqual(new Set(['note']))
    expect(all.at(-1)).toMatchObject({ end: { count: all.length - 1 } })
  })

  test('is for people, and shows nobody anything new', async () => {
    const stranger = await person(t)
    expect((await exported(stranger)).lines.filter(({ entity }) => entity !== 'agent')).toEqual([])
    const token = await mcpToken(t, ada)
    const refused = await fetch(`${t.url}/api/sync/export`, { headers: { authorization: `Bearer ${token}` } })
    expect(refused.status).toBe(403)
  })
})

describe('an import', () => {
  test('again takes what changed there, and keeps what changed on both sides', async () => {
    const [there, here] = [await person(t), await person(t)]
    await there.fetch('POST', '/api/projects', { name: 'Source', key: 'SRC' })
    const first = await exported(there)
    await moved(first, there)
    const [{ record }] = first.lines as [Line]
    expect((await imported(here, first)).body.created).toBe(first.lines.length)
    const change = (fields: object) => ({ ...first, lines: [{ entity: 'project', record: { ...record, ...fields } }] })
    expect((await imported(here, change({ description: 'from there' }))).body).toMatchObject({
      updated: 1,
      conflicts: [],
    })
    await here.fetch('PUT', `/api/projects/${record.id}`, { name: 'Mine' })
    const both = await imported(here, change({ description: 'from there', name: 'Theirs' }))
    expect(both.body.conflicts).toEqual([{ entity: 'project', id: String(record.id), fields: ['name'] }])
    expect((await here.fetch('GET', `/api/projects/${record.id}`)).body).toMatchObject({
      name: 'Mine',
      description: 'from there',
    })
  })

  test('needs an administrator, known kinds and whole records, and takes nothing of others', async () => {
    const bea = await person(t)
    const guest = await member(t, bea, 'member')
    const taken = (await bea.fetch('POST', '/api/projects', { name: 'Taken' })).body.id
    await bea.fetch('POST', '/api/notes', { title: 'Hers', projectId: taken })
    const whole = await exported(bea)
    expect((await imported(guest, whole)).status).toBe(403)
    const stranger = await person(t)
    // The id exists, in a team that they do not see.
    expect((await imported(stranger, whole)).status).toBe(409)
    const [{ record }] = whole.lines as [Line]
    const note = whole.lines.find(({ entity }) => entity === 'note')
    const own = { ...record, id: Bun.randomUUIDv7(), slug: 'own', key: 'OWN' }
    for (const line of [
      { entity: 'users', record: own },
      { entity: 'project', record: { ...own, status: 'nonsense' } },
      { entity: 'project', record: { ...own, lastNumber: 7 } },
      { entity: 'project', record: { id: own.id } },
      // Into a project of another team.
      { entity: 'note', record: { ...note?.record, id: Bun.randomUUIDv7(), slug: 'own', projectId: record.id } },
    ])
      expect([line.entity, (await imported(stranger, { lines: [line], people: [] })).status]).toEqual([
        line.entity,
        422,
      ])
  })
})

test('three versions of a field come together', () => {
  const fields = { title: 'value', tags: 'set' } as const
  const at = (title: string, ...tags: string[]) => ({ title, tags })
  expect(compared(fields, at('a', 'x'), at('a', 'x'), at('b', 'x', 'y'))).toEqual({
    taken: at('b', 'x', 'y'),
    conflicts: [],
  })
  expect(compared(fields, at('a', 'x'), at('c', 'z'), at('b', 'x', 'y'))).toEqual({
    taken: { tags: ['z', 'y'] },
    conflicts: ['title'],
  })
  expect(compared(fields, at('a'), at('c'), at('a'))).toEqual({ taken: {}, conflicts: [] })
})
