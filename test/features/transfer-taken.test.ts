import { beforeAll, expect, test } from 'bun:test'
import { aliasOf } from '../../src/features/transfer/aliases.ts'
import type { ImportResult, Line } from '../../src/features/transfer/schema.ts'
import { type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { pictureForm, png } from '../support/pictures.ts'
import { oneOfEach } from '../support/records.ts'

/** Ids stay in an import. These are taken, by records of another team on this instance. */

let t: TestApp
let ada: Person
let eve: Person
beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  eve = await person(t)
})

const ids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

async function exported(who: Person): Promise<Line[]> {
  const { body } = await who.fetch<{ text: string }>('GET', '/api/sync/export?format=ndjson')
  const lines = body.text.trim().split('\n').slice(1, -2)
  return lines.map((line) => JSON.parse(line) as Line)
}

/** Imports a few records at a time, so that many name records of other batches. */
async function imported(who: Person, lines: readonly Line[]): Promise<ImportResult> {
  const sum: ImportResult = { created: 0, updated: 0, unchanged: 0, conflicts: [] }
  const people = [{ id: ada.userId, email: who.email }]
  for (let i = 0; i < lines.length; i += 4) {
    const records = lines.slice(i, i + 4)
    const { status, body } = await who.fetch<ImportResult>('POST', '/api/sync/import', { people, records })
    if (status !== 200) throw new Error(JSON.stringify(body))
    for (const what of ['created', 'updated', 'unchanged'] as const) sum[what] += body[what]
    sum.conflicts.push(...body.conflicts)
  }
  return sum
}

/** The lines as another team has them: people and team replaced, and `idOf` for all other ids. Slugs may differ. */
const neutral = (lines: readonly Line[], who: Person, idOf: (id: string) => string): string[] =>
  lines
    .map(({ entity, record: { slug: _, ...record } }) =>
      JSON.stringify({ entity, ...record }).replace(ids, (id) =>
        id === who.userId ? 'me' : id === who.organizationId ? 'team' : idOf(id),
      ),
    )
    .sort()

async function everything(who: Person): Promise<{ task: string; note: string; upload: string }> {
  const made = await oneOfEach(who, {
    kinds: ['project', 'epic', 'story', 'task', 'feature', 'note', 'memory', 'decision', 'spec', 'skill', 'agent'],
    more: { note: { tags: ['x'] } },
  })
  const { project, task, decision, note } = made
  const post = async (path: string, body: object) => (await who.fetch<{ id: string }>('POST', path, body)).body.id
  const later = await post(`/api/projects/${project.id}/tasks`, { title: 'Later', blockedBy: [task.id] })
  await who.fetch('PATCH', `/api/tasks/${task.id}`, { parentId: later })
  await post(`/api/tasks/${task.id}/comments`, { body: 'Works' })
  await post(`/api/decisions/${decision.id}/comments`, { body: 'Agreed' })
  await post('/api/links', { fromType: 'note', fromId: note.id, toType: 'task', toId: task.id })
  const file = `/api/uploads?kind=note&recordId=${note.id}&name=cover.png`
  const { body } = await who.fetch<{ id: string; path: string }>(
    'POST',
    file,
    pictureForm(png(), 'cover.png', 'image/png'),
  )
  await who.fetch('PUT', `/api/notes/${note.id}`, { content: `see [a](${body.path}) and ${task.id}` })
  return { task: task.id, note: note.id, upload: body.id }
}

test('an import whose ids are taken stores copies with other ids, the same ones each time', async () => {
  const { task, note, upload } = await everything(ada)
  const lines = await exported(ada)
  expect(new Set(lines.map(({ entity }) => entity)).size).toBeGreaterThan(14)
  const before = neutral(lines, ada, (id) => id)
  // As if nobody had them.
  expect(await imported(eve, lines)).toEqual({ created: lines.length, updated: 0, unchanged: 0, conflicts: [] })
  const alias = (id: string) => aliasOf(eve.organizationId, id)
  expect(neutral(await exported(eve), eve, (id) => id)).toEqual(neutral(lines, ada, alias))
  expect((await eve.fetch('GET', `/api/notes/${alias(note)}`)).body).toMatchObject({
    content: `see [a](/api/uploads/${alias(upload)}) and ${alias(task)}`,
  })
  expect((await eve.fetch('GET', `/api/uploads/${alias(upload)}`)).status).toBe(200)
  expect((await eve.fetch('GET', `/api/notes/${note}`)).status).toBe(404)
  expect(neutral(await exported(ada), ada, (id) => id)).toEqual(before)

  expect(await imported(eve, lines)).toMatchObject({ created: 0, updated: 0, conflicts: [] })
  await ada.fetch('PUT', `/api/notes/${note}`, { title: 'Renamed there' })
  expect(await imported(eve, await exported(ada))).toMatchObject({ created: 0, updated: 1, conflicts: [] })
  expect((await eve.fetch('GET', `/api/notes/${alias(note)}`)).body).toMatchObject({ title: 'Renamed there' })
})

test('an imported session whose id is taken is stored as a copy too', async () => {
  const bea = await person(t)
  const own = (await ada.fetch<{ id: string }>('POST', '/api/sessions', { goals: ['Ship it'] })).body.id
  expect(own).toBeString()
  const [session] = (await exported(ada)).filter(({ entity }) => entity === 'session') as [Line]
  await imported(bea, [session])
  const mine = aliasOf(bea.organizationId, own)
  expect((await bea.fetch('GET', `/api/sessions/${mine}`)).status).toBe(200)
  expect((await bea.fetch('GET', `/api/sessions/${own}`)).status).toBe(404)
})
