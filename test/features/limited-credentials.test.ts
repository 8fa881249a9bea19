import { beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { hashSecret } from '../../src/auth/secrets.ts'
import type { GrantPage } from '../../src/features/grants/schema.ts'
import { oauthRefreshTokens } from '../../src/features/grants/table.ts'
import type { Note } from '../../src/features/notes/schema.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type { Project, ProjectPage } from '../../src/features/projects/schema.ts'
import type { ApiKeyCreated, ApiKeyPage, McpTokenCreated, McpTokenPage } from '../../src/features/tokens/schema.ts'
import { apiKeys, mcpTokens } from '../../src/features/tokens/table.ts'
import { call, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { Program, rpc } from './grants-support.ts'
import { inside } from './support.ts'

/** `test/contract/limited.test.ts` calls every route and tool with such credentials; this file has the rest. */
let t: TestApp
let self: Person
let owner: Person
let project: Project
let other: Project

const create = async <T>(who: Person, path: string, body: object): Promise<T> => {
  const answer = await who.fetch<T>('POST', path, body)
  expect([path, answer.status]).toEqual([path, 201])
  return answer.body
}
const newProject = (who = owner) => create<Project>(who, '/api/projects', { name: unique('Engines') })

beforeAll(async () => {
  t = await sharedApp()
  self = await person(t)
  owner = inside(self, (await create<Organization>(self, '/api/teams', { name: unique('Team') })).id)
  project = await newProject()
  other = await newProject()
})

const newKey = (limit: object) => {
  const body = { name: 'robot', organizationId: owner.organizationId, ...limit }
  return owner.fetch<ApiKeyCreated>('POST', '/api/settings/api-keys', body)
}
const newToken = (limit: object) => {
  const body = { name: 'agent', organizationId: owner.organizationId, ...limit }
  return owner.fetch<McpTokenCreated>('POST', '/api/mcp-tokens', body)
}
const using = (secret: string) => (method: string, path: string, body?: unknown) =>
  call<Record<string, unknown>>(t, method, path, body, { authorization: `Bearer ${secret}` })
const seen = async (secret: string): Promise<string[]> => {
  const { status, body } = await using(secret)('GET', '/api/projects')
  expect(status).toBe(200)
  return (body as unknown as ProjectPage).items.map(({ id }) => id)
}

interface Called {
  isError?: boolean
  structuredContent: Record<string, unknown>
}
const tool = async (secret: string, name: string, args: object = {}): Promise<Called> =>
  (await rpc(t, secret, 'tools/call', { name, arguments: args })).result as unknown as Called

describe('creating a limited credential', () => {
  test('returns its projects, and lists show them', async () => {
    const projects = [project.id]
    const key = await newKey({ projects })
    expect([key.status, key.body.projects]).toEqual([201, projects])
    const token = await newToken({ projects, defaultProject: project.id })
    const shown = { projects, defaultProject: project.id, projectId: project.id }
    expect([token.status, token.body]).toMatchObject([201, shown])
    const keys = (await owner.fetch<ApiKeyPage>('GET', '/api/settings/api-keys')).body.items
    expect(keys.find(({ id }) => id === key.body.id)).toMatchObject({ projects })
    const tokens = (await owner.fetch<McpTokenPage>('GET', '/api/mcp-tokens')).body.items
    expect(tokens.find(({ id }) => id === token.body.id)).toMatchObject(shown)
  })

  test('without projects sets no limit; projectId is only a default', async () => {
    const key = await newKey({})
    expect(key.body.projects).toBeNull()
    expect((await seen(key.body.token as string)).sort()).toEqual([project.id, other.id].sort())
    const token = await newToken({ projectId: project.id })
    expect(token.body).toMatchObject({ projects: null, defaultProject: project.id, projectId: project.id })
    expect((await tool(token.body.token as string, 'get_project', { project: other.id })).isError).toBeFalsy()
  })

  test('needs a team, and projects of this team that its creator sees', async () => {
    const stranger = await person(t)
    const foreign = await newProject(stranger)
    const projects = [project.id]
    expect((await newKey({ projects, organizationId: undefined })).status).toBe(422)
    for (const limit of [{ projects: [foreign.id] }, { projects: [project.id, foreign.id] }]) {
      expect((await newKey(limit)).status).toBe(404)
      expect((await newToken(limit)).status).toBe(404)
    }
    expect((await newToken({ projects, defaultProject: other.id })).status).toBe(422)
    expect((await newToken({ defaultProject: project.id, projectId: other.id })).status).toBe(422)
  })

  test('stores another hash, which a program that does not know the limit would not find', async () => {
    const { id, token = '' } = (await newKey({ projects: [project.id] })).body
    const [row] = await t.app.db.select().from(apiKeys).where(eq(apiKeys.id, id))
    expect(row?.hash).toBe(hashSecret(`limited:${token}`))
    const made = (await newToken({ projects: [] })).body
    const [tokenRow] = await t.app.db.select().from(mcpTokens).where(eq(mcpTokens.id, made.id))
    expect(tokenRow?.hash).toBe(hashSecret(`limited:${made.token}`))
    // A row that has lost its limit is not valid.
    await t.app.db.update(apiKeys).set({ projects: null }).where(eq(apiKeys.id, id))
    expect((await using(token)('GET', '/api/projects')).status).toBe(401)
  })
})

describe('a limited credential', () => {
  test('with an empty list sees nothing', async () => {
    const key = (await newKey({ projects: [] })).body.token as string
    expect(await seen(key)).toEqual([])
    expect((await using(key)('GET', `/api/projects/${project.id}`)).status).toBe(404)
    expect((await using(key)('POST', `/api/projects/${project.id}/tasks`, { title: 'No' })).status).toBe(404)
    expect((await using(key)('POST', '/api/notes', { title: 'No' })).status).toBe(403)
  })

  test('sees nothing more after its project was deleted or moved', async () => {
    const [deleted, moved] = [await newProject(), await newProject()]
    const limit = { projects: [deleted.id, moved.id] }
    const [key, token] = [(await newKey(limit)).body.token as string, (await newToken(limit)).body.token as string]
    expect((await seen(key)).sort()).toEqual([deleted.id, moved.id].sort())
    const elsewhere = (await create<Organization>(self, '/api/teams', { name: unique('Elsewhere') })).id
    expect((await owner.fetch('DELETE', `/api/projects/${deleted.id}`)).status).toBe(200)
    const sent = await owner.fetch('PATCH', `/api/projects/${moved.id}`, { organizationId: elsewhere })
    expect(sent.status).toBe(200)
    expect(await seen(key)).toEqual([])
    expect((await tool(token, 'list_projects')).structuredContent).toMatchObject({ items: [] })
    for (const id of [deleted.id, moved.id, other.id])
      expect((await using(key)('GET', `/api/projects/${id}`)).status).toBe(404)
  })

  test('restores what it deleted in its project', async () => {
    const own = await newProject()
    const key = using((await newKey({ projects: [own.id] })).body.token as string)
    expect((await key('DELETE', `/api/projects/${own.id}`)).status).toBe(200)
    const trash = await key('GET', '/api/trash')
    expect((trash.body.items as { id: string }[]).map(({ id }) => id)).toEqual([own.id])
    expect((await key('POST', `/api/projects/${own.id}/restore`)).status).toBe(200)
    expect((await key('POST', `/api/projects/${other.id}/restore`)).status).toBe(404)
  })

  test('cannot move records of its project to another one, or out of it', async () => {
    const key = using((await newKey({ projects: [project.id] })).body.token as string)
    const note = (await key('POST', '/api/notes', { title: 'Locks', projectId: project.id })).body
    for (const [to, status] of [
      [{ projectId: other.id }, 404],
      [{ projectId: null }, 403],
      [{ projectId: null, scope: 'personal' }, 403],
    ] as const)
      expect([to, (await key('PUT', `/api/notes/${note.id}`, to)).status]).toEqual([to, status])
    expect((await owner.fetch<{ projectId: string }>('GET', `/api/notes/${note.id}`)).body.projectId).toBe(project.id)
  })

  test('sees its own agent and the skills that its project names, and no others', async () => {
    const [named, unnamed] = await Promise.all(
      ['Named', 'Unnamed'].map((name) =>
        create<{ id: string; slug: string }>(owner, '/api/skills', { name: unique(name), scope: 'team' }),
      ),
    )
    const agent = await create<{ id: string }>(owner, '/api/agents', { name: unique('Other'), scope: 'team' })
    const own = await newProject()
    const settings = { skills: [named?.slug] }
    expect((await owner.fetch('PUT', `/api/projects/${own.id}`, { settings })).status).toBe(200)
    const made = (await newToken({ projects: [own.id] })).body
    const token = made.token as string
    expect((await tool(token, 'get_skill', { skill: named?.slug })).isError).toBeFalsy()
    expect((await tool(token, 'get_skill', { skill: unnamed?.slug })).isError).toBe(true)
    expect((await tool(token, 'get_agent', { agent: made.agentId })).isError).toBeFalsy()
    expect((await tool(token, 'get_agent', { agent: agent.id })).isError).toBe(true)
    const { items } = (await tool(token, 'list_agents')).structuredContent as { items: { name: string }[] }
    expect(items.map(({ name }) => name)).toEqual([made.agentName as string])
    const key = using((await newKey({ projects: [own.id] })).body.token as string)
    const more = { settings: { skills: [named?.slug, unnamed?.slug] } }
    expect((await key('PUT', `/api/projects/${own.id}`, more)).status).toBe(403)
  })

  test('sees of the activity of its agent only what happened in its projects', async () => {
    const made = (await newToken({ projects: [project.id] })).body
    const agent = String(made.agentId)
    expect((await owner.fetch('PUT', `/api/agents/${agent}`, { role: 'Reviewer' })).status).toBe(200)
    await tool(made.token as string, 'create_task', { title: 'Seen', project: project.slug })
    const seenByOwner = await owner.fetch<{ recentActivity: { type: string }[] }>('GET', `/api/agents/${agent}`)
    const types = seenByOwner.body.recentActivity.map(({ type }) => type)
    expect(types).toEqual(expect.arrayContaining(['agent.updated', 'task.created']))
    const { recentActivity } = (await tool(made.token as string, 'get_agent', { agent })).structuredContent as {
      recentActivity: string[]
    }
    expect(recentActivity).toEqual([expect.stringMatching(/«created \S+ Seen»$/)])
  })

  test('uses its default project, which is one of its projects', async () => {
    const token = (await newToken({ projects: [project.id], defaultProject: project.id })).body.token as string
    const note = await tool(token, 'create_note', { title: 'Locks', content: 'One process.' })
    const { slug } = note.structuredContent as { slug: string }
    expect((await owner.fetch<Note>('GET', `/api/notes/${slug}`)).body.projectId).toBe(project.id)
    expect((await tool(token, 'store_memory', { content: 'Backups run first.' })).isError).toBeFalsy()
  })
})

describe('the permission of a program that is limited to projects', () => {
  test('keeps its limit when it is renewed', async () => {
    const program = await Program.registered(t)
    const tokens = await program.tokens(owner, { projects: [project.id], defaultProject: project.id })
    const { items } = (await owner.fetch<GrantPage>('GET', '/api/settings/grants')).body
    expect(items[0]).toMatchObject({ projects: [project.id], defaultProject: project.id, projectId: project.id })
    const stored = eq(oauthRefreshTokens.hash, hashSecret(`limited:${tokens.refresh_token}`))
    expect(await t.app.db.$count(oauthRefreshTokens, stored)).toBe(1)
    const renewed = (await program.refresh(tokens.refresh_token)).body
    for (const { access_token } of [tokens, renewed]) {
      expect((await tool(access_token, 'get_project', { project: project.id })).isError).toBeFalsy()
      expect((await tool(access_token, 'get_project', { project: other.id })).isError).toBe(true)
    }
  })

  test('ends when the program revokes its token', async () => {
    const program = await Program.registered(t)
    const { access_token, refresh_token } = await program.tokens(owner, { projects: [project.id] })
    const form = new URLSearchParams({ token: access_token }).toString()
    await call(t, 'POST', '/oauth/revoke', form, { 'content-type': 'application/x-www-form-urlencoded' })
    expect((await program.refresh(refresh_token)).status).toBe(400)
  })

  test('is refused for a project of another team', async () => {
    const program = await Program.registered(t)
    const foreign = await newProject(await person(t))
    expect((await program.decide(owner, { projects: [foreign.id] })).status).toBe(404)
  })
})
