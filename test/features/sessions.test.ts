import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/db/columns.ts'
import type { Memory } from '../../src/features/memory/schema.ts'
import { getBriefContext } from '../../src/features/sessions/context.ts'
import type { Context, Session, SessionBrief, SessionEnded, SessionPage } from '../../src/features/sessions/schema.ts'
import * as sessions from '../../src/features/sessions/service.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import { type McpClient, ways, withBriefText } from '../mcp/support.ts'
import { type Answer, mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { ctxOf, expectEvent, expectEvents, expectRefusal, ids, statuses, times, watch } from './support.ts'

let t: TestApp
let ada: Person
let grace: Person
let viewer: Person
let project: string
const clients: McpClient[] = []
beforeAll(async () => {
  t = watch(await sharedApp())
  ada = await person(t)
  grace = await member(t, ada, 'member')
  viewer = await member(t, ada, 'viewer', 'Barbara')
  project = await newProject()
})
afterAll(() => Promise.all(clients.map((client) => client.close())))

const newProject = async (more: object = {}): Promise<string> =>
  (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Engine'), ...more })).body.id
const newTask = async (in_ = project, title = 'Lock the folder'): Promise<Task> =>
  (await ada.fetch<Task>('POST', `/api/projects/${in_}/tasks`, { title })).body
const begin = (who: Person, more: object = {}): Promise<Answer<SessionBrief>> =>
  who.fetch('POST', '/api/sessions', { goals: ['Lock the folder'], projectId: project, ...more })
const get = async (who: Person, id: string): Promise<Session> =>
  (await who.fetch<Session>('GET', `/api/sessions/${id}`)).body
const on = <T = Session>(who: Person, id: string, what: string, body: object = {}): Promise<Answer<T>> =>
  who.fetch('POST', `/api/sessions/${id}/${what}`, body)
const saved = { checkpoint: { nextStep: 'Write the test', files: ['a.ts'] } }

async function agent(
  who: Person,
  options: Parameters<typeof mcpToken>[2] = {},
  way = 'v2 client, HTTP 2026-07-28',
): Promise<McpClient> {
  const client = (await ways[way]?.(t.url, await mcpToken(t, who, options))) as McpClient
  clients.push(client)
  return client
}
type Facts = Record<string, unknown> & { id: string; status: string; brief: { text: string }; items: { id: string }[] }
async function use(client: McpClient, tool: string, args: Record<string, unknown> = {}): Promise<Facts> {
  const { isError, content, structuredContent } = await client.call(tool, args)
  if (isError) throw new Error(`${tool}: ${content[0]?.text}`)
  return withBriefText(structuredContent) as Facts
}
const refusal = async (client: McpClient, tool: string, args: Record<string, unknown> = {}): Promise<string> => {
  const { isError, content } = await client.call(tool, args)
  expect([tool, isError]).toEqual([tool, true])
  return content[0]?.text as string
}

describe('a work session', () => {
  test('starts, is saved, ends, and leaves its state in memory', async () => {
    const task = await newTask()
    const begun = await begin(ada, { taskId: task.key, context: 'It was damaged.' })
    expect(begun.status).toBe(201)
    expect(begun.headers.get('location')).toBe(`/api/sessions/${begun.body.id}`)
    expect(begun.body).toMatchObject({
      status: 'active',
      projectId: project,
      taskId: task.id,
      userId: ada.userId,
      agentId: null,
    })
    expect(begun.body.brief.text).toContain(`## Your task: ${task.key}`)
    const event = await expectEvent(t, begun, 'session.started')
    // That somebody is at work is the team's to know, not at what.
    expect(Object.keys(event.data).sort()).toEqual(['status', 'version'])

    const { id } = begun.body
    const kept = await on(ada, id, 'checkpoint', saved)
    expect(kept.body).toMatchObject({ ...saved, version: 2, goals: ['Lock the folder'] })
    await expectEvent(t, kept, 'session.checkpointed')

    const ended = await on<SessionEnded>(ada, id, 'end', { summary: 'The folder is locked.' })
    expect(ended.body).toMatchObject({
      session: { status: 'ended', summary: 'The folder is locked.', ...saved },
      memories: [{}],
    })
    await expectEvents(t, ended, 'session.ended', 'memory.stored')
    const memory = await grace.fetch<Memory>('GET', `/api/memories/${ended.body.memories[0]?.id}`)
    expect(memory.body).toMatchObject({ scope: 'project', projectId: project, tags: ['session'] })
    expect(memory.body.content).toBe(
      'The folder is locked.\nGoals: Lock the folder\nNext step: Write the test\nFiles: a.ts',
    )
  })

  test('leaves no memory without a state; a long state in any script is cut to the limit of a memory', async () => {
    const one = (await begin(ada)).body
    expect((await on<SessionEnded>(ada, one.id, 'end')).body.memories).toEqual([])
    const two = (await begin(ada, { goals: ['数'.repeat(1000)] })).body
    const ended = await on<SessionEnded>(ada, two.id, 'end', { summary: '数据🚀'.repeat(4000), ...saved })
    expect(ended.status).toBe(200)
    const { body } = await ada.fetch<Memory>('GET', `/api/memories/${ended.body.memories[0]?.id}`)
    expect(Buffer.byteLength(body.content)).toBeGreaterThan(32_000)
    expect(body.content.isWellFormed()).toBe(true)
    expect(body.title?.isWellFormed()).toBe(true)
  })

  test('ends once, even by five simultaneous calls', async () => {
    const { id } = (await begin(ada)).body
    const answers = await Promise.all(times(5, () => on(ada, id, 'end', { summary: 'Done.' })))
    expect(statuses(answers)).toEqual([200, 409, 409, 409, 409])
    await expectRefusal(t, await on(ada, id, 'end'), 409, 'conflict')
    const found = await ada.fetch<{ items: Memory[] }>(
      'GET',
      `/api/memories?projectId=${project}&tag=session&limit=200`,
    )
    expect(found.body.items.filter((m) => m.source === `session ${id}`)).toBeArrayOfSize(1)
  })

  test('takes no checkpoint after its end until it is resumed', async () => {
    const { id } = (await begin(ada)).body
    await on(ada, id, 'end', { summary: 'Done.' })
    const { next } = await expectRefusal(t, await on(ada, id, 'checkpoint', saved), 409, 'conflict')
    expect(next?.[0]?.tool).toBe('resume_session')
    const again = await on<SessionBrief>(ada, id, 'resume')
    expect(again.body).toMatchObject({ status: 'active', endedAt: null })
    expect(again.body.brief.text).toContain('Summary: «Done.»')
    expect((await on(ada, id, 'checkpoint', saved)).status).toBe(200)
  })

  test('accepts two resumes and a checkpoint at once', async () => {
    const { id, version } = (await begin(ada)).body
    const answers = await Promise.all([on(ada, id, 'resume'), on(ada, id, 'resume'), on(ada, id, 'checkpoint', saved)])
    expect(statuses(answers as Answer[])).toEqual([200, 200, 200])
    expect(await get(ada, id)).toMatchObject({ status: 'active', version: version + 3, ...saved })
  })

  test('refuses wrong values and names the field', async () => {
    const other = await newTask(await newProject())
    for (const [body, pointer] of [
      [{ goals: [''] }, '/goals/0'],
      [{ taskId: other.key }, '/taskId'],
      [{ status: 'ended' }, '/status'],
    ] as const)
      expect((await expectRefusal(t, await begin(ada, body), 422, 'invalid')).errors?.[0]?.pointer).toBe(pointer)
    const { id } = (await begin(ada)).body
    await expectRefusal(t, await on(ada, id, 'checkpoint', { checkpoint: { nextstep: 'x' } }), 422, 'invalid')
    await expectRefusal(t, await on(ada, id, 'checkpoint', { ...saved, taskId: other.id }), 422, 'invalid')
    await expectRefusal(t, await on(ada, id, 'resume', { budgetTokens: 10 }), 422, 'invalid')
    await expectRefusal(t, await begin(ada, { projectId: 'no-such' }), 404, 'not_found')
    await expectRefusal(t, await begin(ada, { agentId: 'no-such' }), 404, 'not_found')
  })
})

describe('access to a work session', () => {
  test('is refused to colleagues, owners and strangers', async () => {
    const { id } = (await begin(grace)).body
    const stranger = await person(t)
    for (const who of [ada, viewer, stranger]) {
      expect((await who.fetch('GET', `/api/sessions/${id}`)).status).toBe(404)
      expect(ids((await who.fetch<SessionPage>('GET', '/api/sessions')).body)).not.toContain(id)
    }
    for (const who of [ada, stranger]) {
      await expectRefusal(t, await on(who, id, 'resume'), 404, 'not_found')
      await expectRefusal(t, await on(who, id, 'checkpoint', saved), 404, 'not_found')
      await expectRefusal(t, await on(who, id, 'end'), 404, 'not_found')
      expect((await who.fetch('GET', `/api/context?sessionId=${id}`)).status).toBe(404)
    }
    expect(await get(grace, id)).toMatchObject({ status: 'active', version: 1 })
    for (const query of ['status=active', 'open=true'])
      expect(ids((await grace.fetch<SessionPage>('GET', `/api/sessions?${query}`)).body)).toContain(id)
    expect(ids((await grace.fetch<SessionPage>('GET', '/api/sessions?open=false')).body)).not.toContain(id)
    // The feed of the project does not tell what she is up to.
    const { body } = await ada.fetch('GET', `/api/projects/${project}`)
    expect(JSON.stringify(body)).not.toContain('Lock the folder"]')
  })

  test('is not possible for viewers, who can read the context', async () => {
    await expectRefusal(t, await begin(viewer), 403, 'forbidden')
    expect((await viewer.fetch<Context>('GET', `/api/context?projectId=${project}`)).status).toBe(200)
  })

  test('works by the beginning of its id', async () => {
    const { id } = (await begin(ada)).body
    expect((await get(ada, id.slice(0, 34))).id).toBe(id)
    expect((await ada.fetch('GET', `/api/sessions/${newId()}`)).status).toBe(404)
  })
})

describe('the session of a call without an id', () => {
  test('is the token’s last one, or the agent’s own if an agent calls', async () => {
    const who = await person(t)
    const [builder, tester] = await Promise.all(
      ['Builder', 'Tester'].map(
        async (name) => (await who.fetch<{ id: string }>('POST', '/api/agents', { name, scope: 'team' })).body.id,
      ),
    )
    const [one, two] = [await agent(who, { agentId: builder }), await agent(who, { agentId: tester })]
    expect(await refusal(one, 'resume_session')).toEndWith('Use create_session.')
    const first = await use(one, 'create_session', { goals: ['Build'] })
    const second = await use(two, 'create_session', { goals: ['Test'] })
    expect((await use(one, 'resume_session')).id).toBe(first.id)
    expect((await use(two, 'resume_session')).id).toBe(second.id)
    expect((await use(two, 'get_context', { checkpoint: { nextStep: 'x' } })).session).toBe(second.id)
    expect(await get(who, first.id)).toMatchObject({ agentId: builder as string, checkpoint: null })

    // A new token of the same agent takes up what the lost one left.
    const later = await agent(who, { agentId: builder })
    expect(await refusal(later, 'end_session')).toEndWith('Use create_session or resume_session.')
    expect((await use(later, 'resume_session')).id).toBe(first.id)
    expect(await use(later, 'end_session')).toMatchObject({ session: first.id, status: 'ended' })

    const listed = await use(later, 'list_sessions', { agent: builder })
    expect(listed.items.map((s) => s.id)).toEqual([first.id])
  })

  test('is separate for two tokens of one person', async () => {
    const who = await person(t)
    const [one, two] = [await agent(who), await agent(who)]
    const first = await use(one, 'create_session', { goals: ['One'] })
    // It has no session of its own: nothing of the other's is shown, or written to.
    expect((await use(two, 'get_context')).brief.text).not.toContain('«One»')
    expect(await refusal(two, 'get_context', { checkpoint: { nextStep: 'x' } })).toContain('create_session')
    const second = await use(two, 'create_session', { goals: ['Two'] })
    expect((await use(one, 'resume_session')).id).toBe(first.id)
    expect((await use(two, 'resume_session')).id).toBe(second.id)
  })

  test('takes a checkpoint, and is started by one if no session is open', async () => {
    const who = await person(t)
    const [one, two] = [await agent(who), await agent(who)]
    const { id } = await use(one, 'create_session', { goals: ['One'] })
    const at = async (step: string) => (await get(who, step)).checkpoint?.nextStep
    for (const [name, args] of [
      ['resume_session', {}],
      ['end_session', { keep: true }],
      ['get_context', {}],
    ] as const) {
      const kept = await use(one, name, { ...args, checkpoint: { nextStep: name } })
      expect(kept as object).toEqual({ saved: true, session: id })
      expect(await get(who, id)).toMatchObject({ status: 'active', checkpoint: { nextStep: name }, summary: null })
    }
    const begun = await use(two, 'resume_session', { checkpoint: saved.checkpoint })
    expect(begun.session).not.toBe(id)
    expect(await at(begun.session as string)).toBe('Write the test')
    expect(await at(id)).toBe('get_context')

    // One that has ended goes on where it is named.
    await use(one, 'end_session')
    expect(await refusal(one, 'end_session', { session: id, keep: true, ...saved })).toContain('Resume it first.')
    await use(one, 'resume_session', { session: id, ...saved })
    expect(await get(who, id)).toMatchObject({ status: 'active', ...saved })
    expect(await refusal(one, 'end_session', { keep: true })).toContain('keep saves a checkpoint')
    expect(await refusal(one, 'end_session', { keep: true, summary: 'x', ...saved })).toContain('without keep')
  })

  test('is the only open one of a worker: the earlier one is paused and can be resumed', async () => {
    const who = await person(t)
    const client = await agent(who)
    const first = await use(client, 'create_session', { goals: ['First'] })
    const second = await use(client, 'create_session', { goals: ['Second'] })
    expect(await get(who, first.id)).toMatchObject({ status: 'paused', version: 2 })
    expect((await use(client, 'resume_session')).id).toBe(second.id)
    expect((await use(client, 'resume_session', { session: first.id })).status).toBeUndefined()
    expect(await get(who, first.id)).toMatchObject({ status: 'active' })
    expect(await get(who, second.id)).toMatchObject({ status: 'paused' })
    expect((await use(client, 'resume_session')).id).toBe(first.id)
    await use(client, 'end_session')
    // What is open comes before what has ended.
    expect((await use(client, 'resume_session')).id).toBe(second.id)
  })

  test('is started once by two calls with one idempotency key', async () => {
    const who = await person(t)
    const client = await agent(who)
    const input = { goals: ['Once'], idempotencyKey: unique('key') }
    const { id } = await use(client, 'create_session', input)
    expect((await use(client, 'create_session', input)).id).toBe(id)
    expect((await who.fetch<SessionPage>('GET', '/api/sessions?total=true')).body.total).toBe(1)
    expect(await refusal(client, 'create_session', { ...input, goals: ['Twice'] })).toContain('conflict')
  })
})

describe('the default project of a call', () => {
  test('is the project of the session, for every tool that takes one', async () => {
    const client = await agent(ada, {}, 'v2 client, HTTP 2025')
    const slug = unique('Silent').toLowerCase()
    const silent = await newProject({ name: slug })
    await newTask()
    await use(client, 'create_session', { project: silent })
    const task = await use(client, 'create_task', { title: 'Said once' })
    expect((await ada.fetch<Task>('GET', `/api/tasks/${task.key as string}`)).body.projectId).toBe(silent)
    expect(((await use(client, 'list_tasks')).items as unknown as { key: string }[]).map((i) => i.key)).toEqual([
      task.key as string,
    ])
    expect((await use(client, 'next_task', { claim: false })).task).toMatchObject({ key: task.key })
    const places = {
      decisions: await use(client, 'log_decision', { title: 'Said once', decision: 'So.' }),
      specs: await use(client, 'create_spec', { title: 'Said once', content: 'So.' }),
      features: await use(client, 'create_feature', { title: 'Said once' }),
      notes: await use(client, 'create_note', { title: 'Said once' }),
      memories: await use(client, 'store_memory', { content: 'Said once' }),
    }
    for (const [what, { id, slug }] of Object.entries(places)) {
      const { body } = await ada.fetch<{ projectId: string }>('GET', `/api/${what}/${slug ?? id}`)
      expect([what, body.projectId]).toEqual([what, silent])
    }
    for (const list of ['list_decisions', 'list_specs', 'list_features'])
      expect([list, (await use(client, list)).items.length]).toEqual([list, 1])
    expect((await use(client, 'get_context')).brief.text).toContain('Said once')

    // Another one can still be named, and when the session is over nothing is.
    expect(await use(client, 'create_task', { title: 'Elsewhere', project })).not.toMatchObject({ key: task.key })
    await use(client, 'end_session')
    expect(await refusal(client, 'create_task', { title: 'Where?' })).toContain('Specify the project')
  })

  test('must be named by an agent without a connection, because its token may have other sessions', async () => {
    const client = await agent(ada)
    const { id: session } = await use(client, 'create_session', { project: await newProject() })
    for (const [tool, args] of Object.entries({
      create_task: { title: 'Where?' },
      log_decision: { title: 'Where?', decision: 'So.' },
      create_note: { title: 'Where?' },
      next_task: {},
    }))
      expect([tool, await refusal(client, tool, args)]).toEqual([
        tool,
        expect.stringMatching(/Specify the project.*[A-Z]{2,6}/),
      ])
    expect((await use(client, 'next_task', { session })).task).toBeUndefined()
  })

  test('is not taken from the session on the web, nor with another token', async () => {
    const client = await agent(ada)
    const silent = await newProject()
    await use(client, 'create_session', { project: silent })
    const { body } = await ada.fetch<{ projectId: string | null }>('POST', '/api/decisions', {
      title: 'Of the team',
      decision: 'So.',
    })
    expect(body.projectId).toBeNull()
    expect(await refusal(await agent(ada), 'create_task', { title: 'Where?' })).toContain('Specify the project')
  })
})

describe('a work session after a loss of access', () => {
  const secret = async () => {
    const id = await newProject({ visibility: 'team' })
    const task = await newTask(id, 'Quiet zebra')
    const token = await mcpToken(t, grace)
    const ctx = await ctxOf(t, token)
    const { id: session } = await sessions.create(ctx, { projectId: id, taskId: task.id, goals: ['Mine'] })
    await ada.fetch('POST', '/api/decisions', { title: 'Quiet giraffe', decision: 'So.', projectId: id })
    return { id, task, session, ctx: () => ctxOf(t, token) }
  }
  const says = (text: string) => ['zebra', 'giraffe'].filter((word) => text.includes(word))

  test('has a brief without a project that became private, and can be ended', async () => {
    const { id, session, ctx } = await secret()
    expect(says((await sessions.resume(await ctx(), {})).brief.text)).toEqual(['zebra', 'giraffe'])
    await ada.fetch('POST', `/api/projects/${id}/share`, { visibility: 'private' })
    const { brief } = await sessions.resume(await ctx(), {})
    expect(says(brief.text)).toEqual([])
    expect(brief.text).toContain('«Mine»')
    expect(says((await getBriefContext(await ctx(), {})).brief.text)).toEqual([])
    await sessions.checkpoint(await ctx(), { checkpoint: { nextStep: 'x' } })
    // It is not told to the whole team instead.
    expect(await sessions.end(await ctx(), { summary: 'What I did there.' })).toMatchObject({
      session: { id: session },
      memories: [],
    })
  })

  test('has a brief without a deleted project or task', async () => {
    const one = await secret()
    await ada.fetch('DELETE', `/api/tasks/${one.task.id}`)
    const { text } = (await sessions.resume(await one.ctx(), {})).brief
    expect(text).not.toContain('## Your task')
    expect(text).toContain(`- Ada Lovelace «deleted ${one.task.key} Quiet zebra»`)
    await ada.fetch('DELETE', `/api/projects/${one.id}`)
    expect(says((await sessions.resume(await one.ctx(), {})).brief.text)).toEqual([])
    expect((await sessions.end(await one.ctx(), { summary: 'x' })).memories).toEqual([])
  })

  test('does not suggest a task that is done, and names the holder of one held by another', async () => {
    const task = await newTask()
    const client = await agent(grace)
    await use(client, 'create_session', { project, task: task.key })
    await use(client, 'claim_task', { task: task.key })
    await use(client, 'claim_task', { task: task.key, action: 'release' })
    await use(await agent(ada), 'claim_task', { task: task.key })
    expect((await use(client, 'resume_session')).brief.text).toMatch(/Held by agent \d+ for Ada Lovelace until/)
    await ada.fetch('POST', `/api/tasks/${task.id}/complete`, { notes: 'Locked.' })
    const { text } = (await use(client, 'resume_session')).brief
    expect(text).not.toContain('## Your task')
    expect(text).toContain(`- Ada Lovelace «completed ${task.key} Lock the folder»: «Locked.»`)
  })

  test('shows the agent what its person did on the web as the work of another', async () => {
    const client = await agent(ada)
    const own = await newProject()
    const task = await newTask(own)
    await use(client, 'create_session', { project: own, task: task.key })
    await ada.fetch('PATCH', `/api/tasks/${task.id}`, { description: 'With a picture.' })
    await use(client, 'update_task', { task: task.key, priority: 'high' })
    const { text } = (await use(client, 'resume_session')).brief
    expect(text).toMatch(/^- you «changed priority of .*»; earlier: «changed description of it» \(Ada Lovelace\)/m)
  })
})
