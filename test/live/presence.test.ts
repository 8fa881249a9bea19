import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openRaw } from '../mcp/support.ts'
import { mcpToken, member, type Person, person, type TestApp, testApp } from '../support/app.ts'
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
/** Who is at a place, as a client puts it together from what it is told. */
function present(client: LiveClient, topic: string): Present[] {
  let here: Present[] = []
  for (const told of client.got) {
    if (told.op !== 'presence' || told.topic !== `presence:${topic}`) continue
    const { all, joined = [], changed = [], left = [] } = told as unknown as Record<string, Present[] | undefined>
    here = all ?? here
    const gone = [...(changed as Present[]), ...(left as Present[])].map(({ id }) => id)
    here = [...here.filter(({ id }) => !gone.includes(id)), ...(changed as Present[]), ...(joined as Present[])]
  }
  return here
}

test('people are seen where they are, by those who may see the place, until they leave', async () => {
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

test('who hides is not seen, and who loses the right to a place is gone', async () => {
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

test('agents are there while they have a stream or a claim, with the key of their task', async () => {
  const topic = `organization:${ada.organizationId}`
  const watcher = await LiveClient.open(t, ada.token)
  await watcher.subscribe([`presence:${topic}`, `presence:project:${project.id}`])
  const stream = await openRaw(t.url, await mcpToken(t, ada))
  await watcher.when(() => present(watcher, topic).some(({ type }) => type === 'agent'))
  const { body } = await ada.fetch<{ here: Present[] }>('GET', `/api/teams/${ada.organizationId}/presence`)
  expect(body.here).toMatchObject([{ type: 'agent', connections: 1 }])
  const { key } = (await ada.fetch<{ key: string }>('POST', `/api/projects/${project.id}/tasks`, { title: 'Work' }))
    .body
  await stream.call(1, 'claim_task', { task: key })
  const task = JSON.stringify({ task: key })
  await watcher.when(() => JSON.stringify(present(watcher, `project:${project.id}`)[0]?.state) === task)
  stream.abort()
  await watcher.when(() => present(watcher, topic)[0]?.connections === 0)
  expect(present(watcher, topic)).toMatchObject([{ type: 'agent', state: { task: key } }])
  await watcher.close()
})

test.skipIf(!onPostgres)('an instance knows who is on another one', async () => {
  const other = await testApp()
  const topic = `project:${project.id}`
  const watcher = await LiveClient.open(other, ada.token)
  await watcher.subscribe([`presence:${topic}`])
  const far = await LiveClient.open(t, grace.token)
  far.send({ op: 'here', topic, state: { page: 'far' } })
  await watcher.when(() => present(watcher, topic).length === 1)
  expect(present(watcher, topic)).toMatchObject([{ id: grace.userId, state: { page: 'far' } }])
  await far.close()
  await watcher.when(() => present(watcher, topic).length === 0)
  await watcher.close()
  await other.close()
})
