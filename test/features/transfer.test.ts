import { beforeAll, describe, expect, test } from 'bun:test'
import { createHash, sign } from 'node:crypto'
import { contextOf } from '../../src/action.ts'
import { system } from '../../src/auth/actor.ts'
import {
  type BundleHead,
  type BundleKeys,
  exportPublicKey,
  keyFingerprint,
  keysOf,
  newSeeds,
  openBundle,
  packBundle,
} from '../../src/auth/bundle.ts'
import { SCHEMA } from '../../src/features/sync/devices.ts'
import { mergeImport } from '../../src/features/transfer/changes.ts'
import { exportLines } from '../../src/features/transfer/export.ts'
import type { ImportResult, Line } from '../../src/features/transfer/schema.ts'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import { apiKey, call, mcpToken, member, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
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
    headers: { authorization: `Bearer ${who.token}`, accept: 'application/x-ndjson' },
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
  await who.fetch('PATCH', `/api/specs/${spec.id}`, { content: 'Second', baseVersion: 1, message: 'more' })
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
    expect((await imported(heir, named)).body).toMatchObject({ created: 0, updated: 0, conflicts: [] })
    // Numbers go on after those that were imported.
    const project = whole.lines[0]?.record.id
    expect((await heir.fetch('POST', `/api/projects/${project}/tasks`, { title: 'Next' })).body).toMatchObject({
      number: 3,
    })
  })

  test('contains one project, or the kinds that a key can read, also as JSON', async () => {
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

  test('covers all teams of the caller unless one is named, and no team that they left', async () => {
    const bea = await person(t)
    const other = await person(t)
    const guest = await member(t, other, 'member')
    await other.fetch('POST', '/api/projects', { name: 'Of the other team' })
    const names = async (who: Person, query = '', headers: Record<string, string> = {}) => {
      const response = await fetch(`${t.url}/api/sync/export${query}`, {
        headers: { authorization: `Bearer ${who.token}`, ...headers },
      })
      expect(response.headers.get('content-type')).toBe('application/json')
      const [head, ...lines] = (await response.json()) as (Line & { organizations?: string[] })[]
      const projects = lines.filter(({ entity }) => entity === 'project').map(({ record }) => record.name)
      return { teams: head?.organizations?.length, projects: projects.toSorted() }
    }
    const teams = (await guest.fetch<{ items: { id: string }[] }>('GET', '/api/teams')).body.items
    const personal = String(teams.find(({ id }) => id !== other.organizationId)?.id)
    await call(
      t,
      'POST',
      '/api/projects',
      { name: 'Of my own' },
      {
        authorization: `Bearer ${guest.token}`,
        'x-organization-id': personal,
      },
    )
    expect(await names(guest)).toEqual({ teams: 2, projects: ['Of my own', 'Of the other team'] })
    const one = { teams: 1, projects: ['Of the other team'] }
    expect(await names(guest, `?organizationId=${other.organizationId}`)).toEqual(one)
    expect(await names(guest, '', { 'x-organization-id': other.organizationId })).toEqual(one)
    expect((await guest.fetch('GET', `/api/sync/export?organizationId=${bea.organizationId}`)).status).toBe(404)
    await other.fetch('DELETE', `/api/teams/${other.organizationId}/members/${guest.userId}`)
    expect(await names(guest)).toEqual({ teams: 1, projects: ['Of my own'] })
  })

  test('is for people, and contains only records that they can see', async () => {
    const stranger = await person(t)
    expect((await exported(stranger)).lines.filter(({ entity }) => entity !== 'agent')).toEqual([])
    const token = await mcpToken(t, ada)
    const refused = await fetch(`${t.url}/api/sync/export`, { headers: { authorization: `Bearer ${token}` } })
    expect(refused.status).toBe(403)
  })

  test('ends when the right to it ends, even in the middle', async () => {
    const me = await person(t)
    const key = await apiKey(t, me)
    const { pages, end } = await exportLines(contextOf(t.app, await t.app.auth.authenticate(key)), {})
    // Its head, and the projects, for which the rights were read.
    for (const _ of ['head', 'projects']) await pages.next()
    const keys = await me.fetch<{ items: { id: string }[] }>('GET', '/api/settings/api-keys')
    await me.fetch('DELETE', `/api/settings/api-keys/${keys.body.items[0]?.id}`)
    await expect(pages.next()).rejects.toMatchObject({ code: 'unauthenticated' })
    end()
  })
})

describe('an import', () => {
  test('again takes over changes, and keeps fields that changed on both sides', async () => {
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
    const changed = { entity: 'project', id: String(record.id), title: 'Mine', fields: ['name'] }
    expect(both.body.conflicts).toEqual([changed])
    expect((await here.fetch('GET', `/api/projects/${record.id}`)).body).toMatchObject({
      name: 'Mine',
      description: 'from there',
    })
  })

  test('needs an administrator, known kinds and complete records, and changes no records of others', async () => {
    const bea = await person(t)
    const guest = await member(t, bea, 'member')
    const taken = (await bea.fetch('POST', '/api/projects', { name: 'Taken' })).body.id
    await bea.fetch('POST', '/api/notes', { title: 'Hers', projectId: taken })
    const whole = await exported(bea)
    expect((await imported(guest, whole)).status).toBe(403)
    // They have it already, and it was not imported.
    expect((await imported(bea, whole)).status).toBe(409)
    const stranger = await person(t)
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

describe('an import refuses', () => {
  const one = (who: Person, entity: string, record: object) =>
    imported(who, {
      lines: [{ entity, record: record as Line['record'] }],
      people: [{ id: who.userId, email: who.email }],
    })
  const recordIn = ({ lines }: Whole, entity: string) =>
    lines.find((line) => line.entity === entity)?.record as Line['record']

  test('a kind of record that the key cannot write', async () => {
    const bea = await person(t)
    await bea.fetch('POST', '/api/notes', { title: 'N', content: 'x' })
    const note = { ...recordIn(await exported(bea), 'note'), id: Bun.randomUUIDv7(), slug: 'n-2' }
    const by = async (scopes: string[]) =>
      (
        await imported(
          { ...bea, fetch: withKey(await apiKey(t, bea, scopes)) },
          { lines: [{ entity: 'note', record: note }], people: [] },
        )
      ).status
    expect([await by(['notes:read']), await by(['transfer:write', 'tasks:write'])]).toEqual([403, 403])
    expect(await by(['transfer:write', 'notes:write'])).toBe(200)
  })

  test('references to records of other teams', async () => {
    const [bea, bob] = [await person(t), await person(t)]
    await full(bea)
    const theirs = await oneOfEach(bob, { kinds: ['project', 'epic', 'story', 'task', 'spec', 'decision', 'note'] })
    const whole = await exported(bea)
    let number = 77
    const again = (entity: string, fields: object) => {
      const record = recordIn(whole, entity)
      const fresh = { ...('id' in record && { id: Bun.randomUUIDv7() }), ...('slug' in record && { slug: 'again' }) }
      return one(bea, entity, { ...record, ...fresh, ...('number' in record && { number: number++ }), ...fields })
    }
    const status = async (entity: string, fields: object) => [entity, (await again(entity, fields)).status]
    const { story, task, epic, spec, decision, note } = theirs
    for (const [entity, fields] of [
      ['task', { storyId: story.id }],
      ['story', { epicId: epic.id }],
      ['dependency', { blockedById: task.id }],
      ['comment', { taskId: task.id }],
      ['link', { fromType: 'note', fromId: note.id, toType: 'task', toId: task.id }],
      ['link', { toType: 'note', toId: note.id }],
    ] as const)
      expect(await status(entity, fields)).toEqual([entity, 422])
    // What may come later is not told from what does not exist, and names nothing of theirs.
    for (const [entity, fields] of [
      ['task', { parentId: task.id }],
      ['feature', { specId: spec.id }],
      ['feature', { taskIds: [task.id] }],
      ['decision', { supersedes: decision.id }],
    ] as const) {
      expect(await status(entity, fields)).toEqual([entity, 200])
      const [id] = Object.values(fields).flat()
      expect(JSON.stringify((await exported(bea)).lines)).not.toContain(id)
    }
    // A workspace is of the instance that the record comes from.
    const project = { key: 'WSP', workspaceId: Bun.randomUUIDv7() }
    expect((await again('project', project)).status).toBe(200)
  })

  test('to change a personal record of someone else', async () => {
    const bea = await person(t)
    const eve = await member(t, bea, 'admin')
    await bea.fetch('POST', '/api/notes', { title: 'Diary', content: 'x', scope: 'personal' })
    const diary = { ...recordIn(await exported(bea), 'note'), id: Bun.randomUUIDv7(), slug: 'diary-2' }
    expect((await one(bea, 'note', diary)).status).toBe(200)
    const hers = { ...diary, title: 'Owned', createdById: eve.userId }
    const copied = await call<object>(
      t,
      'POST',
      '/api/sync/import',
      { people: [{ id: eve.userId, email: eve.email }], records: [{ entity: 'note', record: hers }] },
      { authorization: `Bearer ${eve.token}`, 'x-organization-id': bea.organizationId },
    )
    // Hers is a note of its own.
    expect(copied.body).toMatchObject({ created: 1 })
    expect((await bea.fetch('GET', `/api/notes/${diary.id}`)).body).toMatchObject({ title: 'Diary' })
    expect((await eve.fetch('GET', `/api/notes/${diary.id}`)).status).toBe(404)
  })
})

test('an import’s event names the changed records, also parts and a task whose parent comes later', async () => {
  const bea = await person(t)
  await full(bea)
  const { lines } = await exported(bea)
  const find = (entity: string) => lines.find((line) => line.entity === entity)?.record as Line['record']
  const last = async () => {
    const { rows } = await t.app.driver.query(
      `select data -> 'changed' from events
       where type = 'project.imported' and organization_id = $1 order by seq desc limit 1`,
      [bea.organizationId],
    )
    const [value] = rows[0] as unknown[]
    return typeof value === 'string' ? JSON.parse(value) : value
  }
  const send = async (entity: string, fields: object) => {
    const record = { ...find(entity), ...fields } as Line['record']
    expect([entity, (await imported(bea, { lines: [{ entity, record }], people: [] })).status]).toEqual([entity, 200])
    return last()
  }
  const said = Bun.randomUUIDv7()
  expect(await send('discussion', { id: said })).toEqual({
    decision: [find('discussion').decisionId],
    discussion: [said],
  })
  const comment = Bun.randomUUIDv7()
  expect(await send('comment', { id: comment })).toEqual({ comment: [comment] })
  const [part, parent] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()]
  expect(await send('task', { id: part, number: 80, parentId: parent })).toEqual({ task: [part] })
  const { version } = (await bea.fetch<{ version: number }>('GET', `/api/tasks/${part}`)).body
  expect(await send('task', { id: parent, number: 81, parentId: null })).toEqual({ task: [parent, part] })
  expect((await bea.fetch('GET', `/api/tasks/${part}`)).body).toMatchObject({ parentId: parent, version: version + 1 })
})

test('an export contains addresses only for keys that can list members', async () => {
  const bea = await person(t)
  await bea.fetch('POST', '/api/notes', { title: 'N', content: 'x' })
  const peopleFor = async (scopes: string[]) => {
    const response = await fetch(`${t.url}/api/sync/export?format=json`, {
      headers: { authorization: `Bearer ${await apiKey(t, bea, scopes)}` },
    })
    return ((await response.json()) as { people?: object[] }[]).at(-2)?.people
  }
  expect(await peopleFor(['notes:read'])).toEqual([])
  expect(await peopleFor(['notes:read', 'organizations:read'])).toEqual([{ id: bea.userId, email: bea.email }])
})

test('the trace of an import is deleted with its record', async () => {
  const bea = await person(t)
  await bea.fetch('POST', '/api/notes', { title: 'N', content: 'x' })
  const whole = await exported(bea)
  await moved(whole, bea)
  const lines = whole.lines.filter(({ entity }) => entity === 'note')
  expect((await imported(bea, { lines, people: whole.people })).status).toBe(200)
  const id = lines[0]?.record.id
  const kept = async () => (await t.app.driver.query('select 1 from imported_records where id = $1', [id])).rows.length
  await purgeExpired(contextOf(t.app, system), {})
  expect(await kept()).toBe(1)
  await t.app.driver.query('delete from notes where id = $1', [id])
  await purgeExpired(contextOf(t.app, system), {})
  expect(await kept()).toBe(0)
})

describe('a bundle', () => {
  const device = (about: Partial<BundleHead> = {}, lines: readonly object[] = [{ schema: SCHEMA, platform: 'x' }]) => {
    const keys = keysOf(newSeeds())
    const key = exportPublicKey(keys.signing)
    const head = { direction: 'out' as const, number: 1, device: key, name: 'x', server: t.url, user: '', at: '' }
    return { file: packBundle({ ...head, ...about }, lines, keys, undefined), fingerprint: keyFingerprint(key), keys }
  }
  const carried = (who: Person, { file, fingerprint }: { file: Buffer; fingerprint: string }) =>
    who.fetch<{ bundle: string }>('POST', '/api/sync/carry', { bundle: file.toString('base64'), fingerprint })

  test('of one user is refused from another', async () => {
    const bea = await person(t)
    expect((await carried(bea, device({ user: ada.email }))).status).toBe(403)
    expect((await carried(bea, device({ user: bea.email.toUpperCase() }))).status).toBe(200)
    expect((await carried(bea, device())).status).toBe(200)
  })

  test('that expands to too much is refused before it is read', async () => {
    const small = device()
    await expect(openBundle(small.file).lines(small.keys, { bytes: 10, lines: 1 })).rejects.toThrow('too large')
    const many = device(
      {},
      Array.from({ length: 100_002 }, () => ({})),
    )
    expect((await carried(ada, many)).body).toMatchObject({ detail: expect.stringContaining('100001 lines') })
  })

  test('with an invalid encryption key changes nothing', async () => {
    const { keys } = device()
    const key = exportPublicKey(keys.signing)
    const box = { ...keys, box: keys.signing }
    const head = { direction: 'out' as const, number: 1, device: key, name: 'x', server: t.url, user: '', at: '' }
    const file = packed(packBundle(head, [{ schema: SCHEMA, platform: 'x' }], box, undefined), keys)
    expect((await carried(ada, { file, fingerprint: keyFingerprint(key) })).status).toBe(422)
    const { rows } = await t.app.driver.query('select 1 from sync_devices where public_key = $1', [key])
    expect(rows).toEqual([])
  })
})

/** Signs the bundle again, with zeros as the key to encrypt to. */
function packed(file: Buffer, { signing }: BundleKeys): Buffer {
  const [magic, head, , ...body] = splitLines(file)
  const begin = Buffer.from(
    `${magic}\n${JSON.stringify({ ...JSON.parse(String(head)), box: Buffer.alloc(32).toString('base64url') })}\n`,
  )
  const content = Buffer.concat(body)
  const signature = sign(null, Buffer.concat([begin, createHash('sha256').update(content).digest()]), signing)
  return Buffer.concat([begin, Buffer.from(`${signature.toString('base64url')}\n`), content])
}

/** Returns the three first lines and the rest. */
function splitLines(file: Buffer): [Buffer, Buffer, Buffer, Buffer] {
  const ends = [file.indexOf(10)]
  for (const i of [0, 1]) ends.push(file.indexOf(10, (ends[i] as number) + 1))
  const [a = 0, b = 0, c = 0] = ends
  return [file.subarray(0, a), file.subarray(a + 1, b), file.subarray(b + 1, c), file.subarray(c + 1)]
}

const withKey =
  (key: string): Person['fetch'] =>
  (method, path, body) =>
    call(t, method, path, body, { authorization: `Bearer ${key}` })

test('the import compares three versions of each field', () => {
  const fields = { title: 'value', tags: 'set' } as const
  const at = (title: string, ...tags: string[]) => ({ title, tags })
  expect(mergeImport(fields, at('a', 'x'), at('a', 'x'), at('b', 'x', 'y'))).toEqual({
    taken: at('b', 'x', 'y'),
    conflicts: [],
  })
  expect(mergeImport(fields, at('a', 'x'), at('c', 'z'), at('b', 'x', 'y'))).toEqual({
    taken: { tags: ['z', 'y'] },
    conflicts: ['title'],
  })
  expect(mergeImport(fields, at('a'), at('c'), at('a'))).toEqual({ taken: {}, conflicts: [] })
})
