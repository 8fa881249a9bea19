import { beforeAll, describe, expect, test } from 'bun:test'
import { tools } from '../../src/all-features.ts'
import { type RouteLike, routeAction } from '../../src/http/openapi.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { recordNames } from '../../src/records/names.ts'
import type { TSchema } from '../../src/schema.ts'
import { Program, rpc as rpcWith } from '../features/grants-support.ts'
import { indexed } from '../features/search-support.ts'
import { LiveClient } from '../live/support.ts'
import { mcpToken, type Person } from '../support/app.ts'
import { type MadeRecord, oneOfEach } from '../support/records.ts'
import { argumentsOf, references } from './arguments.ts'
import {
  callRoute,
  Failures,
  isLive,
  isPublic,
  isSocket,
  isWrite,
  nameOf,
  routes,
  ruleOf,
  t,
  undocumentedResponses,
  withToken,
} from './ask.ts'
import { fingerprint } from './tables.ts'
import { bodyOf, buildWorld, fieldOf, fieldsOf, fillPath, idFields, pathsOf, type World } from './world.ts'

/**
 * Every route and every tool, called with a credential that is limited to one project of a team. The same person owns
 * all the rest: another project, a private one, records of the team without a project, and personal ones. All of it
 * contains `WORD`; the records of the project do not.
 */
const WORD = 'zqhiddenzq'
/** The rest of the team. */
let hidden: World
/** The same with the records of the project instead, where there are such. */
let inside: World
let project: MadeRecord
let key: Pick<Person, 'fetch'>
let keySecret: string
/** An MCP token and the token of a program that signed in. */
let bearers: Record<'token' | 'grant', string>

const kindsOfProjects = recordNames.filter((kind) => !['skill', 'agent'].includes(kind))

beforeAll(async () => {
  hidden = await buildWorld(t, (kind) => ({ title: `${WORD} ${kind}`, text: `The text of a ${WORD}.` }))
  const { owner } = hidden
  const one = await oneOfEach(owner, { kinds: kindsOfProjects })
  project = one.project
  const link = { fromType: 'task', fromId: one.task.id, toType: 'note', toId: one.note.id }
  const { body: made } = await owner.fetch<{ id: string }>('POST', '/api/links', link)
  // Records of the project that name others outside of it.
  for (const [task, blockedBy] of [
    [one.task.id, hidden.fields.task],
    [hidden.also['/api/tasks/:id'], one.task.id],
  ])
    expect((await owner.fetch('PATCH', `/api/tasks/${task}`, { blockedBy: [blockedBy] })).status).toBe(200)
  for (const toType of ['task', 'note', 'skill', 'agent'] as const)
    await owner.fetch('POST', '/api/links', { ...link, toType, toId: hidden.fields[toType] })
  const { agent, skill } = hidden.fields as Record<string, string>
  const all = { ...one, agent: { id: agent }, skill: { id: skill } } as Parameters<typeof pathsOf>[0]
  inside = {
    ...hidden,
    paths: {
      ...hidden.paths,
      ...pathsOf(all),
      '/api/projects/:slug': project.id,
      '/api/projects/:slug/epics/:epicId': one.epic.id,
      '/api/projects/:slug/epics/:epicId/stories/:storyId': one.story.id,
      '/api/projects/:slug/features/:id': one.feature.id,
      '/api/links/:id': made.id,
    },
    fields: { ...hidden.fields, ...fieldsOf(all), scopeId: project.id, id: project.id, recordId: one.note.id },
  }
  const limit = { organizationId: owner.organizationId, projects: [project.id] }
  const created = await owner.fetch<{ token: string }>('POST', '/api/settings/api-keys', { name: 'limited', ...limit })
  keySecret = created.body.token
  key = withToken(keySecret)
  const program = await Program.registered(t)
  bearers = {
    token: await mcpToken(t, owner, limit),
    grant: (await program.tokens(owner, { projects: limit.projects })).access_token,
  }
  // The first use of a token notes the program.
  for (const token of Object.values(bearers)) await rpc(token, 'tools/list', {})
  // A limited credential has no rights through workspaces.
  const shared = { workspaceId: hidden.paths['/api/workspaces/:id'], visibility: 'team' }
  await owner.fetch('POST', `/api/projects/${hidden.fields.project}/share`, shared)
  await indexed(t)
  foreignIds = listForeignIds()
})

/** Runs the loop, and compares every table before and after. */
async function expectUnchanged(loop: (wrong: Failures) => Promise<void>): Promise<void> {
  const before = await fingerprint(t.app.driver)
  const wrong = new Failures()
  await loop(wrong)
  expect(wrong.list).toEqual([])
  expect(await fingerprint(t.app.driver)).toEqual(before)
}

/** Ids of everything that the credential must not name, unless it was asked about it. */
const listForeignIds = (): string[] => {
  const words = /docs|:provider$|:kind$|:key$|:n$|:user$|:team$|title$|content$|userId$|actorId$|organizationId$/i
  const known = new Set(Object.values({ ...inside.paths, ...inside.fields }).filter((id) => isInside(id)))
  const all = Object.entries({ ...hidden.paths, ...hidden.fields, ...hidden.also })
  const ids = all.flatMap(([name, id]) => (words.test(name) || known.has(id) || id.length < 20 ? [] : id))
  return ids.filter((id) => id !== hidden.owner.organizationId && id !== hidden.owner.userId)
}
let foreignIds: string[]
const isInside = (id: string): boolean => !Object.values({ ...hidden.paths, ...hidden.fields }).includes(id)

/** Collects what a response shows of the rest of the team. It may repeat ids that were sent. */
function look(wrong: Failures, told: string, { body }: { body: unknown }, sent = ''): void {
  const text = JSON.stringify(body)
  if (!sent.includes(WORD) && text.includes(WORD))
    wrong.list.push(`${told} shows ${text.slice(Math.max(0, text.indexOf(WORD) - 200)).slice(0, 300)}`)
  for (const id of foreignIds) if (!sent.includes(id) && text.includes(id)) wrong.list.push(`${told} names ${id}`)
}

const isForKeys = (route: RouteLike): boolean => ruleOf(route).kinds.includes('api_key') && !isPublic(route)
const hooksOf = ({ hooks }: RouteLike): object => (hooks.query?.properties ?? {}) as object
const refusedStatus = [403, 404]

describe('an API key that is limited to a project', () => {
  const withIds = routes.filter((route) => route.path.includes(':') && !isPublic(route))

  test('gets 404 for ids of other projects in the path', () =>
    expectUnchanged(async (wrong) => {
      for (const from of [hidden, { ...hidden, paths: { ...hidden.paths, ...hidden.also } }])
        for (const route of withIds.filter((one) => !isSocket(one))) {
          const path = fillPath(route.path, from)
          const answer = await callRoute(route, key, path, bodyOf(route, inside))
          wrong.check(nameOf(route), answer, refusedStatus)
          look(wrong, nameOf(route), answer, path + JSON.stringify(bodyOf(route, inside) ?? ''))
        }
    }))

  test('sees on public routes what an anonymous caller sees', async () => {
    const wrong = new Failures()
    for (const route of routes.filter((one) => isPublic(one) && one.method === 'GET')) {
      const path = fillPath(route.path, hidden)
      const nobody = await callRoute(route, undefined, path)
      wrong.check(nameOf(route), await callRoute(route, key, path), nobody.status)
    }
    expect(wrong.list).toEqual([])
  })

  test('gets 404 for ids of other projects in a body', () =>
    expectUnchanged(async (wrong) => {
      for (const route of routes.filter((one) => isForKeys(one) && !isSocket(one)))
        for (const name of idFields(route.hooks.body)) {
          const foreign = fieldOf(hidden, routeAction(route).id, name) as string
          if (fieldOf(inside, routeAction(route).id, name) === foreign && name === 'organizationId') continue
          const whole = bodyOf(route, inside) as Record<string, unknown>
          const needed = Object.fromEntries(
            (((route.hooks.body as TSchema).required ?? []) as string[]).map((field) => [field, whole[field]]),
          )
          for (const body of [whole, needed]) {
            const answer = await callRoute(route, key, fillPath(route.path, inside), { ...body, [name]: foreign })
            wrong.check(`${nameOf(route)} ${name}`, answer, refusedStatus)
            look(
              wrong,
              `${nameOf(route)} ${name}`,
              answer,
              JSON.stringify(body) + foreign + fillPath(route.path, inside),
            )
          }
        }
    }))

  test('cannot name other projects in lists of ids', () =>
    expectUnchanged(async (wrong) => {
      const { task, feature } = hidden.fields
      for (const [method, path, body] of [
        ['POST', `/api/projects/${project.id}/tasks`, { title: 'New', blockedBy: [task] }],
        ['PATCH', `/api/tasks/${inside.fields.task}`, { blockedBy: [task] }],
        ['POST', `/api/projects/${project.id}/features`, { title: 'New', taskIds: [task] }],
        ['POST', `/api/projects/${project.id}/features`, { title: 'New', blockedBy: [feature] }],
        ['POST', '/api/tasks/complete', { tasks: [task] }],
        ['PUT', `/api/projects/${project.id}`, { key: 'OTHER' }],
        ['GET', `/api/sync/export?project=${hidden.fields.project}`, undefined],
        ['POST', '/api/memories/clear', { scope: 'agent', scopeId: hidden.fields.agent, confirm: 0 }],
      ] as const) {
        const answer = await key.fetch(method, path, body)
        wrong.check(`${method} ${path}`, answer, refusedStatus)
        look(wrong, path, answer, path + JSON.stringify(body ?? ''))
      }
      const batch = await key.fetch('POST', '/api/tasks/batch', { tasks: [{ id: task }], change: { priority: 'low' } })
      expect(batch.body).toMatchObject({ items: [{ id: task, problem: { status: 404 } }] })
    }))

  test('neither sees nor restores deleted records of other projects', async () => {
    const { owner } = hidden
    const make = async (path: string, body: object) => (await owner.fetch<{ id: string }>('POST', path, body)).body.id
    const gone = [
      `/api/tasks/${await make(`/api/projects/${hidden.fields.project}/tasks`, { title: `${WORD} gone` })}`,
      `/api/notes/${await make('/api/notes', { title: `${WORD} gone`, scope: 'team' })}`,
      `/api/notes/${await make('/api/notes', { title: `${WORD} gone`, scope: 'personal' })}`,
      `/api/agents/${await make('/api/agents', { name: `${WORD} gone`, scope: 'team' })}`,
      `/api/projects/${await make('/api/projects', { name: `${WORD} gone` })}`,
    ]
    for (const path of gone) expect((await owner.fetch('DELETE', path)).status).toBe(200)
    await expectUnchanged(async (wrong) => {
      for (const path of gone) wrong.check(path, await key.fetch('POST', `${path}/restore`), refusedStatus)
      look(wrong, 'trash', await key.fetch('GET', '/api/trash'))
    })
  })

  test('completes a task that blocks a task of another project, without seeing that task', async () => {
    const { owner } = hidden
    const make = async (where: string, body: object) =>
      (await owner.fetch<{ id: string }>('POST', `/api/projects/${where}/tasks`, body)).body.id
    const first = await make(project.id, { title: 'First', status: 'todo' })
    const title = `${WORD} waiting`
    const second = await make(String(hidden.fields.project), { title, status: 'todo', blockedBy: [first] })
    const done = await key.fetch('POST', `/api/tasks/${first}/complete`, {})
    expect(done.status).toBe(200)
    const wrong = new Failures()
    look(wrong, 'complete', done)
    expect(JSON.stringify(done.body)).not.toContain(second)
    expect(wrong.list).toEqual([])
    expect((await owner.fetch('GET', `/api/tasks/${second}`)).body).toMatchObject({ blockedBy: [] })
  })

  const reads = routes.filter((one) => isForKeys(one) && !isWrite(one) && !isLive(one))

  test('is compared with an unlimited key that does see the rest of the team', async () => {
    const shown: string[] = []
    const { owner } = hidden
    const { body } = await owner.fetch<{ token: string }>('POST', '/api/settings/api-keys', { name: 'whole' })
    const whole = withToken(body.token, { 'x-organization-id': owner.organizationId })
    for (const route of reads.filter(({ path, hooks }) => !path.includes(':') && !hooks.body)) {
      const answer = await callRoute(route, whole, `${route.path}?${'q' in hooksOf(route) ? `q=${WORD}` : ''}`)
      if (JSON.stringify(answer.body).replaceAll(`"${WORD}"`, '').includes(WORD)) shown.push(route.path)
    }
    expect(shown.length).toBeGreaterThan(10)
  })

  test('lists, counts and finds only records of its project', async () => {
    const wrong = new Failures()
    for (const route of reads) {
      const fields = Object.keys(hooksOf(route))
      if (fields.includes('deviceId')) continue
      const given = { q: WORD, total: 'true', limit: '10' }
      const asked = Object.entries(given).filter(([name]) => fields.includes(name))
      const path = `${fillPath(route.path, inside)}?${new URLSearchParams(asked)}`
      const answer = await callRoute(route, key, path, bodyOf(route, inside))
      if (answer.status !== 200) wrong.check(nameOf(route), answer, refusedStatus)
      // A question may be repeated.
      const body = JSON.parse(JSON.stringify(answer.body).replaceAll(`"${WORD}"`, '""'))
      look(wrong, nameOf(route), { body }, path + JSON.stringify(bodyOf(route, inside) ?? ''))
      for (const name of idFields(route.hooks.query)) {
        const foreign = hidden.fields[name] as string
        if (foreign === inside.fields[name]) continue
        const filtered = await callRoute(
          route,
          key,
          `${fillPath(route.path, inside)}?${name}=${foreign}`,
          bodyOf(route, inside),
        )
        const items = (filtered.body as { items?: unknown[] }).items
        if (filtered.status === 200 && items?.length !== 0) wrong.list.push(`${nameOf(route)} ${name} finds ${items}`)
        look(wrong, `${nameOf(route)} ${name}`, filtered, foreign + fillPath(route.path, inside))
      }
    }
    expect(wrong.list).toEqual([])
  })

  test('counts only the records of its project', async () => {
    const count = async (who: Pick<Person, 'fetch'>, path: string) =>
      (await who.fetch<{ total: number }>('GET', `/api/${path}`)).body.total
    for (const path of ['tasks', 'notes', 'memories', 'decisions', 'specs', 'sessions', 'repos']) {
      const there = await count(hidden.owner, `${path}?total=true&projectId=${project.id}`)
      expect(there).toBeGreaterThan(0)
      expect([path, await count(key, `${path}?total=true`)]).toEqual([path, there])
    }
    for (const [path, n] of Object.entries({ projects: 1, agents: 0, skills: 0 }))
      expect([path, await count(key, `${path}?total=true`)]).toEqual([path, n])
  })

  test('cannot create records outside a project', () =>
    expectUnchanged(async (wrong) => {
      const writes = routes.filter((one) => isForKeys(one) && isWrite(one) && !one.path.includes(':') && !isLive(one))
      // A batch responds for each record; the loop above covers it.
      for (const route of writes.filter((one) => !/^sync\.|^tasks\.changeMany$/.test(routeAction(one).id))) {
        const whole = bodyOf(route, inside) ?? {}
        const body = Object.fromEntries(
          Object.entries(whole).filter(([name]) => !/^(project|projectId|scopeId|taskId|task|fromId|toId)$/.test(name)),
        )
        wrong.check(nameOf(route), await callRoute(route, key, route.path, body), [403, 404, 415, 422])
      }
      for (const [path, body] of [
        ['/api/notes', { title: 'Loose', scope: 'team' }],
        ['/api/notes', { title: 'Mine', scope: 'personal' }],
        ['/api/decisions', { title: 'Loose', decision: 'Yes' }],
        ['/api/sessions', { goals: ['Loose'] }],
        ['/api/memories', { content: 'Loose', scope: 'agent', scopeId: hidden.fields.agent }],
        ['/api/activities', { type: 'deploy', description: 'Loose' }],
        ['/api/projects', { name: 'Another' }],
        ['/api/agents', { name: 'Another', scope: 'team' }],
        ['/api/skills', { name: 'Another', scope: 'team' }],
      ] as const)
        wrong.check(path, await key.fetch('POST', path, body), refusedStatus)
    }))

  test('reads, creates, changes and deletes records of its project', async () => {
    const wrong = new Failures()
    const reads = withIds.filter((one) => isForKeys(one) && !isWrite(one) && ruleOf(one).limited && !isLive(one))
    expect(reads.length).toBeGreaterThan(25)
    const notInside = /\/api\/(agents|skills|activities|sync|views|uploads|changes)\/|taskId/
    for (const route of reads.filter(({ path }) => !notInside.test(path)))
      wrong.check(nameOf(route), await callRoute(route, key, fillPath(route.path, inside)), 200)
    for (const [path, body] of [
      [`/api/projects/${project.id}/tasks`, { title: 'Lock the folder' }],
      ['/api/notes', { title: 'Locks', projectId: project.id }],
      ['/api/decisions', { title: 'Use flock', decision: 'Yes', projectId: project.id }],
      ['/api/memories', { content: 'Backups run first.', scopeId: project.id }],
      ['/api/sessions', { goals: ['Lock'], projectId: project.id }],
      ['/api/activities', { type: 'deploy', description: 'Done', projectId: project.id }],
      ['/api/views', { name: 'Open', query: 'status=todo', projectId: project.id }],
    ] as const)
      wrong.check(path, await key.fetch('POST', path, body), 201)
    const { body: made } = await key.fetch<{ id: string }>('POST', `/api/projects/${project.id}/tasks`, {
      title: 'Gone',
    })
    wrong.check('update', await key.fetch('PATCH', `/api/tasks/${made.id}`, { title: 'New' }), 200)
    wrong.check('delete', await key.fetch('DELETE', `/api/tasks/${made.id}`), 200)
    wrong.check('restore', await key.fetch('POST', `/api/tasks/${made.id}/restore`), 200)
    expect(wrong.list).toEqual([])
  })
})

interface Called {
  body: Record<string, unknown>
  result: { isError?: boolean; tools?: { name: string }[] }
}
const rpc = (token: string, method: string, params: object) =>
  rpcWith(t, token, method, params) as unknown as Promise<Called>
const callTool = (token: string, name: string, args: object) => rpc(token, 'tools/call', { name, arguments: args })
/** An error of the protocol has no result. */
const isRefused = ({ result }: Called): boolean => result.isError === true || Object.keys(result).length === 0

describe.each(['token', 'grant'] as const)('an MCP %s that is limited to a project', (kind) => {
  const referring = tools.filter((tool) => references(tool).length > 0)

  test('gets not_found for records of other projects in the arguments of a tool', () =>
    expectUnchanged(async (wrong) => {
      for (const tool of referring) {
        const args = argumentsOf(tool, hidden)
        const answer = await callTool(bearers[kind], tool.name, args)
        if (!isRefused(answer)) wrong.list.push(`${tool.name} was not refused`)
        look(wrong, tool.name, answer, JSON.stringify(args))
        // One foreign reference among own ones.
        for (const name of references(tool)) {
          const mixed = { ...argumentsOf(tool, inside), [name]: fieldOf(hidden, tool.action.id, name) }
          const mixedAnswer = await callTool(bearers[kind], tool.name, mixed)
          if (!isRefused(mixedAnswer)) wrong.list.push(`${tool.name} was not refused for ${name}`)
          look(wrong, `${tool.name} ${name}`, mixedAnswer, JSON.stringify(mixed))
        }
      }
    }))

  test('lists and finds only records of its project', async () => {
    const wrong = new Failures()
    const least = (tool: Tool) => (((tool.input.required ?? []) as string[]).includes('query') ? { query: WORD } : {})
    for (const tool of tools.filter((one) => one.action.kind === 'read')) {
      const answer = await callTool(bearers[kind], tool.name, least(tool))
      const body = JSON.parse(JSON.stringify(answer.body).replaceAll(`"${WORD}"`, '').replaceAll(`\\"${WORD}\\"`, ''))
      look(wrong, tool.name, { body })
    }
    const search = await callTool(bearers[kind], 'search_memory', { query: WORD, kinds: ['memory', 'note', 'task'] })
    look(wrong, 'search_memory', { body: JSON.parse(JSON.stringify(search.body).replaceAll(`"${WORD}"`, '')) })
    for (const [method, params] of [
      ['tools/list', {}],
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['prompts/list', {}],
      ['resources/read', { uri: 'tutti://me' }],
      ...recordNames.map((name) => ['resources/read', { uri: `tutti://${name}/${hidden.fields[name]}` }] as const),
      ...recordNames.map((name) => {
        const argument = { name: 'id', value: '' }
        return [
          'completion/complete',
          { ref: { type: 'ref/resource', uri: `tutti://${name}/{id}` }, argument },
        ] as const
      }),
      ['prompts/get', { name: hidden.paths['/api/skills/public/:slug'] }],
    ] as const)
      look(
        wrong,
        `${method} ${JSON.stringify(params)}`,
        await rpc(bearers[kind], method, params),
        JSON.stringify(params),
      )
    expect(wrong.list).toEqual([])
  })

  test('lists only tools that it can use in a project', async () => {
    const { result } = await rpc(bearers[kind], 'tools/list', {})
    const names = result.tools?.map(({ name }) => name) ?? []
    expect(names).toContain('create_task')
    expect(
      names.filter((name) => /^(create_project|create_agent|update_agent|delete_agent|connect_repo)$/.test(name)),
    ).toEqual([])
  })

  test('creates records in its project, and none outside a project', async () => {
    const attempts = [
      ['create_project', { name: 'Another' }],
      ['create_agent', { name: 'Another' }],
      ['create_note', { title: 'Loose', content: 'Loose' }],
      ['log_decision', { title: 'Loose', decision: 'Yes' }],
      ['create_session', { goals: ['Loose'] }],
      ['store_memory', { content: 'Loose', agent: hidden.fields.agent }],
      ['log_activity', { type: 'deploy', description: 'Loose' }],
    ] as const
    await expectUnchanged(async (wrong) => {
      for (const [name, args] of attempts)
        if (!isRefused(await callTool(bearers[kind], name, args))) wrong.list.push(`${name} was not refused`)
    })
    for (const [name, args] of attempts.filter(([tool]) => !/project|agent|store_memory/.test(tool)))
      expect([name, isRefused(await callTool(bearers[kind], name, { ...args, project: project.id }))]).toEqual([
        name,
        false,
      ])
  })
})

describe('copies, exports and streams of a credential that is limited to a project', () => {
  const device = { name: 'laptop', platform: 'linux x64', schema: '2026-11-16' }

  test('contain only records of the project', async () => {
    const wrong = new Failures()
    const registered = await key.fetch<{ deviceId: string; containers: string[] }>(
      'POST',
      '/api/sync/devices/register',
      device,
    )
    expect(registered.body.containers).toEqual([`project:${project.id}`])
    const { deviceId } = registered.body
    let cursor = ''
    const entities = new Set<string>()
    for (let more = true; more; ) {
      const { body } = await key.fetch<{ cursor: string; hasMore: boolean; changes: { entity: string }[] }>(
        'GET',
        `/api/sync/pull?deviceId=${deviceId}${cursor && `&cursor=${cursor}`}`,
      )
      look(wrong, 'pull', { body: body as never })
      for (const { entity } of body.changes) entities.add(entity)
      more = body.hasMore
      cursor = body.cursor
    }
    expect([...entities]).toContain('task')
    look(wrong, 'status', await key.fetch('GET', '/api/sync/status'))
    look(wrong, 'conflicts', await key.fetch('GET', '/api/sync/conflicts?resolved=true'))
    const exported = await key.fetch('GET', '/api/sync/export')
    expect(JSON.stringify(exported.body)).toContain(project.id)
    look(wrong, 'export', exported)
    expect((await key.fetch('GET', `/api/sync/pull?deviceId=${hidden.fields.deviceId}`)).status).toBe(404)
    expect(wrong.list).toEqual([])
  })

  test('accept from a device only changes of the project', async () => {
    const { body } = await key.fetch<{ deviceId: string }>('POST', '/api/sync/devices/register', device)
    // A token of the same person, without a limit.
    const via = hidden.paths['/api/mcp-tokens/:id']
    const organizationId = hidden.owner.organizationId
    const changes = [
      { entity: 'task', id: hidden.fields.task, op: 'delete', base: {} },
      { entity: 'note', id: hidden.fields.note, op: 'upsert', fields: { title: 'New' }, base: { title: WORD } },
      { entity: 'note', id: crypto.randomUUID(), op: 'upsert', fields: { title: 'Loose', organizationId } },
      { entity: 'note', id: crypto.randomUUID(), op: 'upsert', fields: { title: 'Mine', scope: 'personal' } },
      {
        entity: 'note',
        id: crypto.randomUUID(),
        op: 'upsert',
        fields: { title: 'In', projectId: hidden.fields.project },
      },
      { entity: 'project', id: crypto.randomUUID(), op: 'upsert', fields: { name: 'Another', organizationId } },
      { entity: 'agent', id: crypto.randomUUID(), op: 'upsert', fields: { name: 'Another', organizationId } },
      { entity: 'skill', id: crypto.randomUUID(), op: 'upsert', fields: { name: 'Another', organizationId } },
    ]
    const before = await recordTables()
    for (const author of [undefined, via]) {
      const mutations = changes.map((change) => ({
        ...change,
        mutationId: crypto.randomUUID(),
        ...(author && { via: author }),
      }))
      const pushed = await key.fetch<{ receipts: { status: string }[] }>('POST', '/api/sync/push', {
        deviceId: body.deviceId,
        mutations,
      })
      expect(pushed.status).toBe(200)
      expect(pushed.body.receipts.map(({ status }) => status)).toEqual(changes.map(() => 'rejected'))
    }
    expect(await recordTables()).toEqual(before)
  })

  test('send only events of the project over a WebSocket and an event stream', async () => {
    const { body: issued } = await key.fetch<{ ticket: string }>('POST', '/api/ws/ticket')
    const client = await LiveClient.open(t, keySecret, `?ticket=${issued.ticket}`)
    const { organizationId, userId } = hidden.owner
    const wanted = ['project', 'task', 'note', 'agent', 'skill'].map((kind) => `record:${hidden.fields[kind]}`)
    const outside = [
      `organization:${organizationId}`,
      `presence:organization:${organizationId}`,
      'me',
      `project:${hidden.fields.project}`,
      ...wanted,
    ]
    const answer = await client.subscribe([...outside, `project:${project.id}`], { records: true })
    expect(answer.topics).toEqual([`project:${project.id}`])
    const stream = await fetch(`${t.url}/api/events?topics=${[...outside, `project:${project.id}`].join()}`, {
      headers: { authorization: `Bearer ${keySecret}`, accept: 'text/event-stream' },
    })
    for (const [path, body] of [
      [`/api/projects/${hidden.fields.project}/tasks`, { title: `${WORD} task`, assignee: userId }],
      ['/api/notes', { title: `${WORD} loose`, scope: 'team' }],
      ['/api/notes', { title: `${WORD} mine`, scope: 'personal' }],
      ['/api/skills', { name: `${WORD} skill`, scope: 'team' }],
      [`/api/projects/${project.id}/tasks`, { title: 'The last one' }],
    ] as const)
      expect((await hidden.owner.fetch('POST', path, body)).status).toBe(201)
    await client.until('task.created')
    expect(JSON.stringify(client.got)).not.toContain(WORD)
    expect(client.events.map(({ type }) => type)).toEqual(['task.created'])
    let text = ''
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
    while (!text.includes('The last one')) text += new TextDecoder().decode((await reader.read()).value)
    await reader.cancel()
    expect(text).not.toContain(WORD)
    await client.close()
  })
})

const recordTables = async () => {
  const { projects, tasks, notes, agents, skills } = await fingerprint(t.app.driver)
  return { projects, tasks, notes, agents, skills }
}

test('every response in this file matches the OpenAPI document', () => {
  expect(undocumentedResponses).toEqual([])
})
