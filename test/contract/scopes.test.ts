import { beforeAll, expect, test } from 'bun:test'
import { features, tools } from '../../src/all-features.ts'
import { scopeHolds } from '../../src/auth/policy.ts'
import type { RouteLike } from '../../src/http/openapi.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { type RecordName, recordNames } from '../../src/records/names.ts'
import { grantableBy } from '../../src/server/policy.ts'
import { call, mcpToken, member, type Person } from '../support/app.ts'
import { oneOfEach, titled } from '../support/records.ts'
import { argumentsOf } from './arguments.ts'
import { isPublic, isWrite, keyOf, nameOf, routes, ruleOf, t } from './ask.ts'
import { bodyOf, buildWorld, fillPath, inTeam, type World } from './world.ts'

/**
 * A scope names what is read, not where it stands: whatever a credential with one scope asks for, no answer holds the
 * title or text of a kind that it may not read. Every kind has a word of its own, which all answers are searched for.
 */
const words = Object.fromEntries(recordNames.map((kind) => [kind, `zq${kind}zq`])) as Record<RecordName, string>
/** The one repository that the code host of the tests has. */
words.repository = 'tutti/tutti'

let a: World
beforeAll(async () => {
  a = await buildWorld(t, (kind) => ({ title: `The ${words[kind]}`, text: `Text of ${words[kind]}.` }))
  const { fields, owner } = a
  for (const toType of recordNames.filter((kind) => kind !== 'task'))
    await owner.fetch('POST', '/api/links', { fromType: 'task', fromId: fields.task, toType, toId: fields[toType] })
  // Notifications repeat the words of what they are about.
  const colleague = inTeam(await member(t, owner, 'member'), owner.organizationId)
  for (const path of [`/api/tasks/${fields.task}`, `/api/features/${fields.feature}`])
    expect((await colleague.fetch('PATCH', path, { assignee: owner.email })).status).toBe(200)
  const { items } = (await owner.fetch<{ items: object[] }>('GET', '/api/notifications')).body
  expect(recordNames.filter((kind) => JSON.stringify(items).includes(words[kind]))).toEqual(['task', 'feature'])
})

const scopes = [...grantableBy(features, tools).resources].sort().map((resource) => `${resource}:read`)

/** Names the kinds that an answer shows and a credential with this scope may not read. */
function leaks(scope: string, answer: unknown, named: readonly string[] = []): string[] {
  const text = JSON.stringify(answer)
  return recordNames.filter(
    (kind) =>
      !named.includes(kind) && !scopeHolds([scope], t.app.records.get(kind).scope) && text.includes(words[kind]),
  )
}

/** What needs no credential is protected by none. */
const ofScope = (scope: string): RouteLike[] => routes.filter((r) => !isPublic(r) && ruleOf(r).scope === scope)

const rpc = (token: string, method: string, params: object) =>
  call(
    t,
    'POST',
    '/mcp',
    { jsonrpc: '2.0', id: 1, method, params },
    { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' },
  )
const callTool = (token: string, tool: Tool) =>
  rpc(token, 'tools/call', { name: tool.name, arguments: argumentsOf(tool, a) })

test.each(scopes)('the scope %s shows no other kind of record', async (scope) => {
  const key: Pick<Person, 'fetch'> = await keyOf(a.owner, [scope])
  const token = await mcpToken(t, a.owner, { scopes: [scope] })
  const wrong: string[] = []
  const search = (where: string, answer: { body: unknown }) => {
    const found = leaks(scope, answer.body)
    if (found.length > 0) wrong.push(`${where}: ${found.join(', ')}`)
  }
  for (const route of ofScope(scope))
    search(nameOf(route), await key.fetch(route.method, withSearch(route), bodyOf(route, a)))
  for (const tool of tools.filter(({ action }) => action.rule.scope === scope))
    search(tool.name, await callTool(token, tool))
  for (const [method, params] of [
    ['resources/list', {}],
    ['resources/read', { uri: 'tutti://me' }],
    ['prompts/list', {}],
    ...recordNames.map((kind) => ['resources/read', { uri: `tutti://${kind}/${a.fields[kind]}` }] as const),
  ] as const)
    search(`${method} ${JSON.stringify(params)}`, await rpc(token, method, params))
  expect(wrong).toEqual([])
})

/** Asks a search for all the words. */
function withSearch(route: RouteLike): string {
  const path = fillPath(route.path, a)
  const q = encodeURIComponent(Object.values(words).join(' '))
  return 'q' in ((route.hooks.query?.properties ?? {}) as object) ? `${path}?q=${q}` : path
}

test('a key neither counts nor marks as read notifications about records that it cannot read', async () => {
  const key = await keyOf(a.owner, ['notifications:write'])
  const unread = async (who: Pick<Person, 'fetch'>) =>
    (await who.fetch<{ unread: number }>('GET', '/api/notifications/count')).body.unread
  const before = { all: await unread(a.owner), keys: await unread(key) }
  expect(before.keys).toBe(before.all - 2)
  expect((await key.fetch('PATCH', '/api/notifications/read-all')).body).toEqual({ read: before.keys })
  expect(await unread(a.owner)).toBe(2)
})

test('a key without the scope to read agents still sees the names of holders', async () => {
  const make = async <T>(path: string, body: object): Promise<T> => {
    const answer = await a.owner.fetch<T>('POST', path, body)
    expect({ path, status: answer.status }).toEqual({ path, status: 201 })
    return answer.body
  }
  const agent = await make<{ id: string }>('/api/agents', { name: 'Grete', scope: 'team' })
  await make('/api/memories', { content: 'Kestrels hover.', scope: 'agent', scopeId: agent.id })
  const path = `/api/projects/${a.fields.project}/tasks`
  const task = await make<{ id: string }>(path, { title: 'Watch', assignee: agent.id })
  const key = await keyOf(a.owner, ['tasks:read', 'memories:read'])
  const seen = (await key.fetch<{ assignee: object }>('GET', `/api/tasks/${task.id}`)).body
  expect(seen.assignee).toMatchObject({ type: 'agent', name: 'Grete' })
  const found = await key.fetch<{ items: { origin: string }[] }>('POST', '/api/memories/search', { query: 'kestrels' })
  expect(found.body.items.map(({ origin }) => origin.split(',')[0])).toEqual(['agent Grete'])
})

test('an error does not name a project that the key cannot read', async () => {
  const kinds = ['project', 'epic', 'story', 'task', 'feature'] as const
  const { project, task, feature } = await oneOfEach(a.owner, { kinds, words: (kind) => titled(words[kind])(kind) })
  const other = (await a.owner.fetch<{ id: string }>('POST', '/api/projects', { name: words.project })).body
  expect((await a.owner.fetch('POST', `/api/projects/${project.id}/archive`)).status).toBe(200)
  const change = { title: 'New' }
  const logged = { type: 'deploy', description: 'Done', task: task.id, project: other.id }
  for (const [status, scopes, method, path, body] of [
    [409, ['tasks:write'], 'PATCH', `/api/tasks/${task.id}`, change],
    [409, ['tasks:write'], 'POST', `/api/projects/${project.id}/tasks`, change],
    [409, ['features:write'], 'PATCH', `/api/features/${feature.id}`, change],
    [409, ['specs:write'], 'POST', '/api/specs', { ...change, content: 'New', projectId: project.id }],
    [422, ['activities:write', 'tasks:read'], 'POST', '/api/activities', logged],
    [200, ['features:read'], 'GET', `/api/features/${feature.id}`, undefined],
    [200, ['tasks:read'], 'GET', `/api/tasks/${task.id}`, undefined],
  ] as const) {
    const answer = await (await keyOf(a.owner, [...scopes])).fetch(method, path, body)
    const named = JSON.stringify(answer.body).includes(words.project)
    expect({ method, path, status: answer.status, named }).toEqual({ method, path, status, named: false })
  }
})

test('a not_found error suggests tasks only to a token that can read tasks', async () => {
  const project = (await a.owner.fetch<{ id: string }>('POST', '/api/projects', { name: 'Near' })).body.id
  const path = `/api/projects/${project}/tasks`
  const { key } = (await a.owner.fetch<{ key: string }>('POST', path, { title: words.task })).body
  const args = { name: 'create_session', arguments: { task: key.replace(/\d+$/, '999') } }
  for (const [scopes, named] of [
    [['sessions:write'], false],
    [['sessions:write', 'tasks:read'], true],
  ] as const) {
    const { body } = await rpc(await mcpToken(t, a.owner, { scopes: [...scopes] }), 'tools/call', args)
    const text = JSON.stringify(body)
    expect([scopes, text.includes('not_found'), text.includes(words.task)]).toEqual([scopes, true, named])
  }
})

test('the response to a change shows no other kind of record', async () => {
  const wrong: string[] = []
  const rank = (method: string) => (method === 'DELETE' ? 1 : 0)
  const writes = routes
    .filter((route) => isWrite(route) && !isPublic(route) && ruleOf(route).scope)
    .toSorted((x, y) => rank(x.method) - rank(y.method))
  const search = (where: string, scope: string, answer: { body: unknown }, named: readonly string[] = []) => {
    const found = leaks(scope, answer.body, named)
    if (found.length > 0) wrong.push(`${where}: ${found.join(', ')}`)
  }
  const tokens = new Map<string, Promise<string>>()
  for (const tool of tools.filter(({ action, writing }) => action.kind === 'write' || writing)) {
    if (tool.action.hints.destructive || tool.name.startsWith('archive_')) continue
    const scope = (tool.writing?.action ?? tool.action).rule.scope as string
    if (!tokens.has(scope)) tokens.set(scope, mcpToken(t, a.owner, { scopes: [scope] }))
    // Whoever claims a task for an agent is told its name: holders are named without the scope to read agents.
    const named = 'agent' in argumentsOf(tool, a) ? ['agent'] : []
    search(tool.name, scope, await callTool((await tokens.get(scope)) as string, tool), named)
  }
  const keys = new Map<string, ReturnType<typeof keyOf>>()
  for (const route of writes) {
    const scope = ruleOf(route).scope as string
    if (!keys.has(scope)) keys.set(scope, keyOf(a.owner, [scope]))
    const key = (await keys.get(scope)) as Pick<Person, 'fetch'>
    search(nameOf(route), scope, await key.fetch(route.method, fillPath(route.path, a), bodyOf(route, a)))
  }
  expect(wrong).toEqual([])
})
