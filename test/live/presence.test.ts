import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openRaw } from '../mcp/support.ts'
import { apiKey, mcpToken, member, type Person, person, type TestApp, testApp } from '../support/app.ts'
import { LiveClient } from './support.ts'

const onPostgres = process.env.TEST_DB === 'postgres'

let t: TestApp
let ada: Person
let grace: Person
let project: { id: string; key: string }
beforeAll(async () => {
  t = await testApp()
  ada = await person(t)
  grace = await member(t, ada, 'member')
  project = (await ada.fetch<typeof project>('POST', '/api/projects', { name: 'Hub', visibility: 'team' })).body
})
afterAll(() => t.close())

interface Present {
  type: string
  id: string
  state: object | null
  connections: number
}
/** Who is present at a topic, as a client computes it from its messages. */
function present(client: LiveClient, topic: string): Present[] {
  let here: Present[] = []
  for (const message of client.got) {
    if (message.op !== 'presence' || message.topic !== `presence:${topic}`) continue
    const { all, joined = [], changed = [], left = [] } = message as unknown as Record<string, Present[] | undefined>
    here = all ?? here
    const told = [...(joined as Present[]), ...(changed as Present[])]
    const old = [...told, ...(left as Present[])].map(({ id }) => id)
    here = [...here.filter(({ id }) => !old.includes(id)), ...told]
  }
  return here
}

test('users are shown at a topic, to users with access to it, until they leave', async () => {
  const topic = `project:${project.id}`
  const [watcher, one, two] = await Promise.all([
    LiveClient.open(t, ada.token),
    LiveClient.open(t, grace.token),
    LiveClient.open(t, grace.token),
  ])
  await watcher.subscribe([`presence:${topic}`])
  one.send({ op: 'here', topic, state: { page: 'board' } })
  two.send({ op: 'here', topic })
  await watcher.when(() => present(watcher, topic)[0]?.connections === 2)
  expect(present(watcher, topic)).toMatchObject([{ type: 'user', id: grace.userId, state: { page: 'board' } }])
  one.send({ op: 'here', topic, state: { page: 'list' } })
  await watcher.when(() => JSON.stringify(present(watcher, topic)).includes('list'))
  await one.close()
  await watcher.when(() => present(watcher, topic)[0]?.connections === 1)
  two.send({ op: 'away', topic })
  await watcher.when(() => present(watcher, topic).length === 0)
  const stranger = await LiveClient.open(t, (await person(t)).token)
  stranger.send({ op: 'here', topic, ref: 1 })
  expect(await stranger.until('error')).toMatchObject({ ref: 1, code: 'not_found' })
  await Promise.all([watcher, two, stranger].map((client) => client.close()))
})

test('a hidden user is not shown, and a user who loses access to a topic disappears', async () => {
  const topic = `organization:${ada.organizationId}`
  const [leaver, shy] = await Promise.all([member(t, ada, 'member'), member(t, ada, 'member')])
  const watcher = await LiveClient.open(t, ada.token)
  await watcher.subscribe([`presence:${topic}`])
  const [going, hiding] = await Promise.all([LiveClient.open(t, leaver.token), LiveClient.open(t, shy.token)])
  for (const client of [going, hiding]) client.send({ op: 'here', topic })
  await watcher.when(() => present(watcher, topic).length === 2)
  await shy.fetch('PATCH', '/api/settings/preferences', { presence: 'off' })
  await watcher.when(() => present(watcher, topic).length === 1)
  await ada.fetch('DELETE', `/api/teams/${ada.organizationId}/members/${leaver.userId}`)
  await watcher.when(() => present(watcher, topic).length === 0)
  await Promise.all([watcher, going, hiding].map((client) => client.close()))
})

test("moving a record out of a user's access revokes its topics", async () => {
  const hidden = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: 'Hidden', visibility: 'private' }))
    .body
  const { body: note } = await ada.fetch<{ id: string }>('POST', '/api/notes', {
    title: 'Plan',
    content: 'x',
    projectId: project.id,
  })
  const topic = `record:${note.id}`
  const [one, watcher] = await Promise.all([LiveClient.open(t, grace.token), LiveClient.open(t, ada.token)])
  await watcher.subscribe([`presence:${topic}`])
  await one.subscribe([`presence:${topic}`])
  one.send({ op: 'here', topic })
  await watcher.when(() => present(watcher, topic).length === 1)
  await ada.fetch('PUT', `/api/notes/${note.id}`, { projectId: hidden.id })
  expect(await one.until('revoked')).toMatchObject({ topics: [`presence:${topic}`] })
  await watcher.when(() => present(watcher, topic).length === 0)
  await Promise.all([one, watcher].map((client) => client.close()))
})

test('a user who loses access while they join is not shown', async () => {
  const topic = `organization:${ada.organizationId}`
  const { actor } = await grace.ctx()
  const outlet = { sendEvent: () => true, sendNotice: () => undefined, bufferedBytes: 0, close: () => undefined }
  t.app.live.reserve(actor)
  const listener = await t.app.live.open(actor, outlet)
  const { presence: company } = t.app.live
  const arriving = company.join(listener, topic)
  company.leave(listener, topic)
  await arriving
  expect((await company.listPresent(ada.organizationId)).filter(({ id }) => id === grace.userId)).toEqual([])
  t.app.live.onDisconnect(listener)
})

test('agents are shown while they have a stream or a claim, with the key of their task', async () => {
  const topic = `organization:${ada.organizationId}`
  const watcher = await LiveClient.open(t, ada.token)
  await watcher.subscribe([`presence:${topic}`, `presence:project:${project.id}`])
  const key = await LiveClient.open(t, await apiKey(t, ada, ['projects:read']))
  await key.subscribe([`presence:project:${project.id}`])
  const stream = await openRaw(t.url, await mcpToken(t, ada))
  await watcher.when(() => present(watcher, topic).some(({ type }) => type === 'agent'))
  const { body } = await ada.fetch<{ here: Present[] }>('GET', `/api/teams/${ada.organizationId}/presence`)
  expect(body.here).toMatchObject([{ type: 'agent', connections: 1 }])
  const made = await ada.fetch<{ key: string }>('POST', `/api/projects/${project.id}/tasks`, { title: 'Work' })
  await stream.call(1, 'claim_task', { task: made.body.key })
  const task = JSON.stringify({ task: made.body.key })
  await watcher.when(() => JSON.stringify(present(watcher, `project:${project.id}`)[0]?.state) === task)
  stream.abort()
  await watcher.when(() => present(watcher, topic)[0]?.connections === 0)
  // The project may be private, so the team does not see the task.
  expect(present(watcher, topic)).toMatchObject([{ type: 'agent', state: null }])
  const again = await ada.fetch<{ here: Present[] }>('GET', `/api/teams/${ada.organizationId}/presence`)
  expect(again.body.here).toMatchObject([{ type: 'agent', state: null }])
  await key.when(() => present(key, `project:${project.id}`).length === 1)
  expect(present(key, `project:${project.id}`)).toMatchObject([{ type: 'agent', state: null }])
  await Promise.all([watcher, key].map((client) => client.close()))
})

test.skipIf(!onPostgres)('presence includes users of other instances', async () => {
  const other = await testApp()
  const topic = `project:${project.id}`
  const watcher = await LiveClient.open(other, ada.token)
  await watcher.subscribe([`presence:${topic}`])
  // Agents that hold a claim are present too.
  const people = () => present(watcher, topic).filter(({ type }) => type === 'user')
  const far = await LiveClient.open(t, grace.token)
  far.send({ op: 'here', topic, state: { page: 'far' } })
  await watcher.when(() => people().length === 1)
  expect(people()).toMatchObject([{ id: grace.userId, state: { page: 'far' } }])
  await far.close()
  await watcher.when(() => people().length === 0)
  await watcher.close()
  await other.close()
})
