import { describe, expect, test } from 'bun:test'
import type { TaskGraph } from '../../src/features/tasks/dependencies/graph-schema.ts'
import type { Comment, TaskDetail } from '../../src/features/tasks/schema.ts'
import type { View } from '../../src/features/views/schema.ts'
import { apiKey, call, member, type Person, person, sharedApp, unique } from '../support/app.ts'
import { expectEvents, watch } from './support.ts'

const t = watch(await sharedApp())

const ada = await person(t)
const newProject = async (who: Person, more = {}) =>
  (await who.fetch<{ id: string; slug: string }>('POST', '/api/projects', { name: unique('Lantern'), ...more })).body
const project = await newProject(ada)
const make = async (title: string, fields: object = {}, who = ada, slug = project.slug) =>
  (await who.fetch<TaskDetail>('POST', `/api/projects/${slug}/tasks`, { title, ...fields })).body

test('a task names its story, epic, parent and features', async () => {
  const epic = (await ada.fetch<{ id: string }>('POST', `/api/projects/${project.slug}/epics`, { title: 'Offline' }))
    .body
  const stories = `/api/projects/${project.slug}/epics/${epic.id}/stories`
  const story = (await ada.fetch<{ id: string }>('POST', stories, { title: 'A book on a plane' })).body
  const whole = await make('Whole')
  const part = await make('Part', { storyId: story.id, parentId: whole.id })
  const feature = { title: 'Offline reading', taskIds: [part.id] }
  const { body: made } = await ada.fetch<{ id: string; status: string }>(
    'POST',
    `/api/projects/${project.slug}/features`,
    feature,
  )
  const { body } = await ada.fetch<TaskDetail>('GET', `/api/tasks/${part.key}`)
  expect(body.story).toEqual({ id: story.id, title: 'A book on a plane' })
  expect(body.epic).toEqual({ id: epic.id, title: 'Offline' })
  expect(body.parent).toEqual({ id: whole.id, key: whole.key, title: 'Whole', status: 'todo' })
  expect(body.features).toEqual([{ id: made.id, title: 'Offline reading', status: made.status }])
  const key = await apiKey(t, ada, ['tasks:read'])
  const narrow = await call<TaskDetail>(t, 'GET', `/api/tasks/${part.id}`, undefined, {
    authorization: `Bearer ${key}`,
  })
  expect(narrow.body.features).toEqual([])
})

describe('comments on a task', () => {
  test('are changed and deleted by their author and by administrators, as `can` says', async () => {
    const ben = await member(t, ada, 'member', 'Ben')
    const eve = await member(t, ada, 'member', 'Eve')
    const task = await make('Talk')
    const path = `/api/tasks/${task.key}/comments`
    const { body: said } = await ben.fetch<Comment>('POST', path, { body: 'Frist' })
    expect(said).toMatchObject({ asks: false, editedAt: null, version: 1 })
    const canOf = async (who: Person) => {
      const { body } = await who.fetch<TaskDetail>('GET', `/api/tasks/${task.key}`)
      return body.comments[0]?.can?.updateComment
    }
    expect([await canOf(ben), await canOf(ada)]).toEqual([true, true])
    expect(await canOf(eve)).toMatchObject({ code: 'forbidden' })
    expect((await eve.fetch('PATCH', `${path}/${said.id}`, { body: 'no' })).status).toBe(403)
    expect((await eve.fetch('DELETE', `${path}/${said.id}`)).status).toBe(403)
    const changed = await ben.fetch<Comment>('PATCH', `${path}/${said.id}`, { body: 'First' }, { 'if-match': '"1"' })
    expect(changed.body).toMatchObject({ body: 'First', version: 2, editedAt: expect.any(String) })
    expect((await ben.fetch('PATCH', `${path}/${said.id}`, { body: 'x' }, { 'if-match': '"1"' })).status).toBe(412)
    const edits = ['a', 'b', 'c', 'd'].map((body) =>
      ben.fetch('PATCH', `${path}/${said.id}`, { body }, { 'if-match': '"2"' }),
    )
    expect((await Promise.all(edits)).map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412])
    const other = await make('Elsewhere')
    expect((await ben.fetch('DELETE', `/api/tasks/${other.key}/comments/${said.id}`)).status).toBe(404)
    await expectEvents(t, changed, 'task.comment_edited')
    await expectEvents(t, await ada.fetch('DELETE', `${path}/${said.id}`), 'task.comment_deleted')
    expect((await ben.fetch<{ items: Comment[] }>('GET', path)).body.items).toEqual([])
  })
})

test('the graph contains every dependency and link between tasks that the reader sees', async () => {
  const { slug } = await newProject(ada)
  const a = await make('a', {}, ada, slug)
  const b = await make('b', { blockedBy: [a.key] }, ada, slug)
  const c = await make('c', { blockedBy: [b.key] }, ada, slug)
  await make('alone', {}, ada, slug)
  await ada.fetch('POST', `/api/tasks/${c.id}/relations`, { task: a.id, kind: 'relates' })
  const secret = await newProject(ada, { visibility: 'private' })
  const hidden = await make('hidden', {}, ada, secret.slug)
  await ada.fetch('PATCH', `/api/tasks/${a.id}`, { blockedBy: [hidden.key] })
  const graphOf = async (who: Person, query = '') => {
    const { body } = await who.fetch<TaskGraph>('GET', `/api/projects/${slug}/graph${query}`)
    const title = new Map(body.nodes.map((node) => [node.id, node.title]))
    expect(body.complete).toBe(true)
    return body.edges.map(({ from, to, kind }) => `${title.get(from)} ${kind} ${title.get(to)}`).toSorted()
  }
  expect(await graphOf(ada)).toEqual(['a blocks b', 'a relates c', 'b blocks c', 'hidden blocks a'])
  const ben = await member(t, ada, 'member', 'Ben')
  expect(await graphOf(ben)).toEqual(['a blocks b', 'a relates c', 'b blocks c'])
  expect(await graphOf(ben, '?kind=relates')).toEqual(['a relates c'])
  // With filters: the ties of what matches, and what is at their other end.
  await ada.fetch('PATCH', `/api/tasks/${c.id}`, { labels: ['sea'], priority: 'high' })
  expect(await graphOf(ben, '?label=sea&kind=blocks')).toEqual(['b blocks c'])
  const { body: narrowed } = await ben.fetch<TaskGraph>('GET', `/api/projects/${slug}/graph?priority=high,low`)
  expect(narrowed.nodes.map(({ title, matches }) => [title, matches])).toEqual([
    ['a', false],
    ['b', false],
    ['c', true],
  ])
  expect(await graphOf(ben, '?assignee=none&status=blocked&search=b')).toEqual(['a blocks b', 'b blocks c'])
  expect(await graphOf(ben, '?assignee=me')).toEqual([])
  await ada.fetch('PATCH', `/api/tasks/${hidden.id}`, { status: 'done' })
  await ada.fetch('PATCH', `/api/tasks/${a.id}`, { status: 'done' })
  expect(await graphOf(ben, '?open=true')).toEqual(['b blocks c'])
})

test('views are personal or shared, and `can` says who can change them', async () => {
  const ben = await member(t, ada, 'member', 'Ben')
  const vera = await member(t, ada, 'viewer', 'Vera')
  const save = (who: Person, view: object) =>
    who.fetch<View>('POST', '/api/views', { query: 'assignee=me', projectId: project.id, ...view })
  const names = async (who: Person) => {
    const { body } = await who.fetch<{ items: View[] }>('GET', `/api/views?page=tasks&projectId=${project.id}`)
    return body.items.map(({ name, can }) => [name, can.update === true])
  }
  const own = (await save(ben, { name: 'Mine' })).body
  const ours = (await save(ben, { name: 'Ours', shared: true })).body
  expect((await save(vera, { name: 'No' })).status).toBe(403)
  expect(await names(ben)).toEqual([
    ['Mine', true],
    ['Ours', true],
  ])
  expect(await names(vera)).toEqual([['Ours', false]])
  expect(await names(ada)).toEqual([['Ours', true]])
  expect((await ada.fetch('GET', `/api/views/${own.id}`)).status).toBe(404)
  expect((await vera.fetch('DELETE', `/api/views/${ours.id}`)).status).toBe(403)
  const changed = await ada.fetch<View>('PATCH', `/api/views/${ours.id}`, { name: 'Everybody’s' })
  expect([changed.status, changed.body.version]).toEqual([200, 2])
  expect((await ben.fetch('DELETE', `/api/views/${ours.id}`)).status).toBe(200)
  expect(await names(vera)).toEqual([])
})
