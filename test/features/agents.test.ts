import { beforeAll, describe, expect, test } from 'bun:test'
import { findAgentByReference } from '../../src/features/agents/rows.ts'
import type { Agent, AgentCreate, AgentDetail, AgentPage, PublicAgent } from '../../src/features/agents/schema.ts'
import * as agents from '../../src/features/agents/service.ts'
import type { Skill, SkillCreate } from '../../src/features/skills/schema.ts'
import { factsOf, type McpClient, ways } from '../mcp/support.ts'
import { call, mcpToken, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { expectEvent, expectRefusal, failure, ids, statuses, times, watch } from './support.ts'
import { newPeople, type People, teamOf } from './team-support.ts'

let t: TestApp
let people: People<'author'>
beforeAll(async () => {
  t = watch(await sharedApp())
  people = await newPeople(t, 'author')
})

const newTeam = () => teamOf(t, people)

const make = async (who: Person, input: Partial<AgentCreate> = {}): Promise<Agent> => {
  const made = await who.fetch<Agent>('POST', '/api/agents', { name: unique('agent'), scope: 'personal', ...input })
  expect(made.status).toBe(201)
  return made.body
}
const skill = async (who: Person, input: Partial<SkillCreate> = {}) =>
  (await who.fetch<Skill>('POST', '/api/skills', { name: unique('skill'), scope: 'personal', ...input })).body
const get = (who: Person, ref: string) => who.fetch<Agent>('GET', `/api/agents/${ref}`)
const put = (who: Person, ref: string, patch: object, headers = {}) =>
  who.fetch<Agent>('PUT', `/api/agents/${ref}`, patch, headers)
const drop = (who: Person, ref: string) => who.fetch('DELETE', `/api/agents/${ref}`)
const restore = (who: Person, ref: string) => who.fetch<Agent>('POST', `/api/agents/${ref}/restore`)
const list = async (who: Person, query = '?limit=200') =>
  (await who.fetch<AgentPage>('GET', `/api/agents${query}`)).body
const visit = (slug: string) => call<PublicAgent>(t, 'GET', `/api/agents/public/${slug}`)

describe('creating an agent', () => {
  test('needs only a name: it belongs to the current team, is active and remembers by project', async () => {
    const made = await people.author.fetch<Agent>('POST', '/api/agents', { name: ' Reviewer ' })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/agents/${made.body.id}`)
    expect(made.body).toEqual({
      id: made.body.id,
      createdAt: made.body.createdAt,
      updatedAt: made.body.createdAt,
      version: 1,
      organizationId: people.author.organizationId,
      createdById: people.author.userId,
      name: 'Reviewer',
      slug: made.body.slug,
      role: null,
      persona: null,
      systemPrompt: null,
      model: null,
      provider: null,
      skills: [],
      memoryScope: 'project',
      scope: 'team',
      status: 'active',
    })
    expect(made.body.slug).toMatch(/^reviewer-[a-z0-9]{6}$/)
    expect(await expectEvent(t, made, 'agent.created')).toMatchObject({
      subjectId: made.body.id,
      organizationId: people.author.organizationId,
      userId: null,
      data: { name: 'Reviewer', version: 1 },
    })
    const own = await people.author.fetch<Agent>('POST', '/api/agents', { name: 'Mine', scope: 'personal' })
    expect(own.body).toMatchObject({ scope: 'personal', organizationId: null })
    expect(await expectEvent(t, own, 'agent.created')).toMatchObject({
      organizationId: null,
      userId: people.author.userId,
    })
  })

  test('for the team returns every field that was sent', async () => {
    const team = await newTeam()
    const input = {
      name: 'Reviewer',
      role: 'Reviews "queries"',
      persona: 'Terse \\ 🎼',
      systemPrompt: 'You review.',
      model: 'any-large',
      provider: 'self-hosted',
      memoryScope: 'agent' as const,
    }
    const made = await team.member.fetch<Agent>('POST', '/api/agents', { ...input, scope: 'team' })
    expect(made.body).toMatchObject({ ...input, organizationId: team.id })
    expect(await expectEvent(t, made, 'agent.created')).toMatchObject({ organizationId: team.id, userId: null })
    expect((await get(team.viewer, made.body.slug)).body).toMatchObject(made.body)
  })

  test('limits the prompt in bytes', async () => {
    const fits = 'é'.repeat(32 << 10)
    const agent = await make(people.author, { systemPrompt: fits })
    expect(agent.systemPrompt).toBe(fits)
    for (const refused of [
      await people.author.fetch('POST', '/api/agents', { name: 'x', systemPrompt: `${fits}é` }),
      await put(people.author, agent.id, { systemPrompt: `${fits}é` }),
    ])
      expect(await expectRefusal(t, refused, 422, 'invalid')).toMatchObject({
        errors: [{ pointer: '/systemPrompt', code: 'too_long' }],
      })
  })
})

describe('the skills of an agent', () => {
  test('are named by id, slug or prefix, stored once each in that order, and shown as ids', async () => {
    const team = await newTeam()
    const [a, b, c] = [
      await skill(team.author, { scope: 'team' }),
      await skill(team.author, { scope: 'team' }),
      await skill(people.stranger, { scope: 'public' }),
    ]
    const agent = await make(team.author, {
      scope: 'team',
      skills: [c.slug, a.id, b.id.slice(0, 32), a.slug.toUpperCase()],
    })
    expect(agent.skills).toEqual([c.id, a.id, b.id])
    expect((await put(team.member, agent.id, { skills: [b.slug] })).body.skills).toEqual([b.id])
    expect((await put(team.member, agent.id, { name: 'Other' })).body.skills).toEqual([b.id])
    expect((await put(team.member, agent.id, { skills: [] })).body.skills).toEqual([])
  })

  test('cannot be skills that the caller cannot see', async () => {
    const team = await newTeam()
    const hidden = [await skill(team.author, { scope: 'team' }), await skill(team.author)]
    for (const { id, slug } of hidden)
      for (const ref of [id, slug, id.slice(0, 32)])
        await expectRefusal(
          t,
          await people.stranger.fetch('POST', '/api/agents', { name: 'x', skills: [ref] }),
          404,
          'not_found',
        )
    const agent = await make(people.stranger)
    await expectRefusal(
      t,
      await put(people.stranger, agent.id, { skills: [(hidden[0] as Skill).id] }),
      404,
      'not_found',
    )
    expect((await get(people.stranger, agent.id)).body).toMatchObject(agent)
  })

  test('must be readable for everyone who sees the agent', async () => {
    const [here, there] = [await newTeam(), await newTeam()]
    const skills = {
      personal: await skill(here.author),
      here: await skill(here.author, { scope: 'team' }),
      there: await skill(there.author, { scope: 'team' }),
      public: await skill(people.stranger, { scope: 'public' }),
    }
    const takes = async (scope: string) => {
      const answers = Object.entries(skills).map(async ([of, { id }]) => {
        const { status } = await here.author.fetch('POST', '/api/agents', { name: 'x', scope, skills: [id] })
        return [of, status] as const
      })
      return Object.fromEntries(await Promise.all(answers))
    }
    expect(await takes('personal')).toEqual({ personal: 201, here: 201, there: 201, public: 201 })
    for (const scope of ['team', 'public'])
      expect(await takes(scope)).toEqual({ personal: 422, here: 201, there: 422, public: 201 })

    // Sharing the agent asks again.
    const own = await make(here.author, { skills: [skills.personal.id, skills.here.id] })
    const refused = await put(here.author, own.id, { scope: 'team' })
    expect(await expectRefusal(t, refused, 422, 'invalid')).toMatchObject({ errors: [{ pointer: '/skills' }] })
    expect((await put(here.author, own.id, { scope: 'team', skills: [skills.here.id] })).body).toMatchObject({
      scope: 'team',
      organizationId: here.id,
      skills: [skills.here.id],
    })
  })

  test('may include skills that were deleted later', async () => {
    const [kept, gone] = [await skill(people.author, { scope: 'public' }), await skill(people.author)]
    const agent = await make(people.author, { skills: [kept.id, gone.id] })
    await people.author.fetch('DELETE', `/api/skills/${gone.id}`)
    expect((await put(people.author, agent.id, { skills: [gone.id, kept.id] })).body.skills).toEqual([gone.id, kept.id])
    expect((await put(people.author, agent.id, { scope: 'public' })).body.skills).toEqual([kept.id])
  })
})

describe('an agent', () => {
  test('is visible to its author if personal, to its team’s members, and to everyone by name if public', async () => {
    const team = await newTeam()
    const made = [
      await make(team.author),
      await make(team.author, { scope: 'team' }),
      await make(team.author, { scope: 'public' }),
    ]
    const seenBy = async (who: Person) => (await Promise.all(made.map((a) => get(who, a.slug)))).map((a) => a.status)
    expect(await seenBy(team.author)).toEqual([200, 200, 200])
    for (const who of [team.owner, team.admin, team.member, team.viewer])
      expect(await seenBy(who)).toEqual([404, 200, 200])
    expect(await seenBy(team.stranger)).toEqual([404, 404, 200])

    const listed = async (who: Person, query?: string) => {
      const seen = new Set(ids(await list(who, query)))
      return made.filter((a) => seen.has(a.id)).map((a) => a.scope)
    }
    expect(await listed(team.author)).toEqual(['personal', 'team', 'public'])
    expect(await listed(team.viewer)).toEqual(['team', 'public'])
    // Strangers' public ones are listed when asked for.
    expect(await listed(team.stranger)).toEqual([])
    expect(await listed(team.stranger, '?scope=public&limit=200')).toEqual(['public'])
  })

  test('is listed for its team, and other records can refer to it', async () => {
    const team = await newTeam()
    await make(team.author)
    const own = [await make(team.author, { scope: 'team' }), await make(team.author, { scope: 'public' })]
    const ctx = await team.author.ctx()
    expect(ids(await agents.listFor({ ...ctx, actor: { ...ctx.actor, organizationId: team.id } }, {}))).toEqual(
      own.map((a) => a.id).sort(),
    )
    expect((await findAgentByReference(ctx, (own[0] as Agent).slug)).id).toBe((own[0] as Agent).id)
    expect(await failure(findAgentByReference(await people.stranger.ctx(), (own[0] as Agent).id))).toMatchObject({
      code: 'not_found',
    })
  })

  test('is listed while active, unless archived ones are requested; lists search name, role and persona', async () => {
    const team = await newTeam()
    const word = unique('word').replaceAll('-', '')
    const a = await make(team.author, { scope: 'team', name: word, systemPrompt: 'secret sauce', persona: 'p' })
    const b = await make(team.author, { scope: 'team', role: `knows ${word}` })
    expect(ids(await list(team.viewer, `?search=${word}`))).toEqual([a.id, b.id].sort())
    expect(JSON.stringify(await list(team.viewer))).not.toContain('secret sauce')
    await put(team.author, b.id, { status: 'archived' })
    expect(ids(await list(team.viewer, `?search=${word}`))).toEqual([a.id])
    expect(ids(await list(team.viewer, `?search=${word}&status=archived`))).toEqual([b.id])
    expect((await list(team.viewer, '?limit=1&total=true')).total).toBe(1)
  })
})

describe('changing an agent', () => {
  test('is for members if it is the team’s, for its author if personal, for author and admins if public', async () => {
    const team = await newTeam()
    const made = {
      personal: await make(team.author),
      team: await make(team.author, { scope: 'team' }),
      public: await make(team.author, { scope: 'public' }),
    }
    const may = async (who: Person) =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(made).map(async ([scope, a]) => [scope, (await put(who, a.id, { role: unique('r') })).status]),
        ),
      )
    expect(await may(team.author)).toEqual({ personal: 200, team: 200, public: 200 })
    expect(await may(team.member)).toEqual({ personal: 404, team: 200, public: 403 })
    expect(await may(team.admin)).toEqual({ personal: 404, team: 200, public: 200 })
    expect(await may(team.viewer)).toEqual({ personal: 403, team: 403, public: 403 })
    expect(await may(team.stranger)).toEqual({ personal: 404, team: 404, public: 403 })
    await expectRefusal(t, await put(team.member, made.team.id, { scope: 'public' }), 403, 'forbidden')
    await expectRefusal(t, await drop(team.stranger, made.public.id), 403, 'forbidden')
  })

  test('changes only the given fields; null clears a field; of many at one version one wins', async () => {
    const agent = await make(people.author, { role: 'r', model: 'm' })
    const changed = await put(people.author, agent.id, { name: ' New ', role: null })
    expect(changed.body).toEqual({ ...agent, name: 'New', role: null, version: 2, updatedAt: changed.body.updatedAt })
    expect(await expectEvent(t, changed, 'agent.updated')).toMatchObject({
      data: { version: 2, fields: ['name', 'role'] },
    })
    const answers = await Promise.all(
      times(5, (i) => put(people.author, agent.id, { role: `${i}` }, { 'if-match': '"2"' })),
    )
    expect(statuses(answers)).toEqual([200, 412, 412, 412, 412])
  })

  test('by deleting hides it; whoever deleted it and the admins can restore it', async () => {
    const team = await newTeam()
    const agent = await make(team.author, { scope: 'team' })
    const gone = await drop(team.member, agent.slug)
    expect(gone.body).toEqual({ id: agent.id, deleted: true, memories: { count: 0, kept: false } })
    await expectEvent(t, gone, 'agent.deleted')
    expect((await get(team.owner, agent.id)).status).toBe(404)
    await expectRefusal(t, await restore(team.author, agent.id), 403, 'forbidden')
    await expectRefusal(t, await restore(team.stranger, agent.id), 404, 'not_found')
    const back = await restore(team.owner, agent.id)
    expect(back.body).toMatchObject({ id: agent.id, version: 3 })
    await expectEvent(t, back, 'agent.restored')
  })
})

test('the public page of an agent shows it with those of its skills that are public too', async () => {
  const team = await newTeam()
  const [open, closed] = [await skill(team.author, { scope: 'public' }), await skill(team.author, { scope: 'team' })]
  const input = { role: 'r', persona: 'p', systemPrompt: 's', model: 'm', provider: 'v' }
  const agent = await make(team.author, { ...input, scope: 'public', skills: [closed.id, open.id] })
  const { handle } = (await people.author.fetch<{ handle: string }>('GET', '/api/auth/me')).body
  expect((await visit(agent.slug)).body).toEqual({
    ...input,
    name: agent.name,
    slug: agent.slug,
    memoryScope: 'project',
    skills: [{ name: open.name, slug: open.slug }],
    author: { handle, name: 'Alan' },
    createdAt: agent.createdAt,
    updatedAt: agent.updatedAt,
  })
  for (const scope of ['personal', 'team'] as const)
    expect((await visit((await make(team.author, { scope })).slug)).status).toBe(404)
  await team.owner.fetch('DELETE', `/api/teams/${team.id}`)
  expect((await visit(agent.slug)).status).toBe(404)
})

/** An agent as `get_agent` shows it. */
type AgentShown = Omit<AgentDetail, 'recentActivity'> & { recentActivity: string[] }

describe('agents over MCP', () => {
  const connected = async <T>(token: string, work: (client: McpClient) => Promise<T>): Promise<T> => {
    const client = await (ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string])(t.url, token)
    try {
      return await work(client)
    } finally {
      await client.close()
    }
  }

  test('hide the activity of a public agent from strangers, and its personal time from the team', async () => {
    const team = await newTeam()
    const agent = await make(team.author)
    await put(team.author, agent.id, { scope: 'public' })
    const types = async (who: Person) =>
      connected(await mcpToken(t, who, { organizationId: who.organizationId }), async (client) => {
        const { recentActivity } = factsOf<Partial<AgentShown>>(await client.call('get_agent', { agent: agent.slug }))
        return recentActivity ?? []
      })
    expect(await types(team.viewer)).toEqual([expect.stringContaining('«changed scope of agent')])
    expect(await types(people.stranger)).toEqual([])
  })

  test('of a personal space are changed with its token, and not found with the token of a team', async () => {
    const team = await newTeam()
    const { author } = people
    const [agent, theirs] = [await make(author), await skill(author)]
    const note = (await author.fetch<{ id: string }>('POST', '/api/notes', { title: 'Mine', scope: 'personal' })).body
    const reads = [
      ['get_agent', { agent: agent.slug }],
      ['get_skill', { skill: theirs.slug }],
      ['get_note', { note: note.id }],
      ['update_agent', { agent: agent.id, role: 'mine' }],
      ['update_note', { note: note.id, title: 'Still mine' }],
    ] as const
    await connected(await mcpToken(t, author), async (client) => {
      for (const [name, args] of reads)
        expect([name, (await client.call(name, args)).isError]).toEqual([name, undefined])
      const { items } = factsOf<AgentPage>(await client.call('list_agents'))
      expect(items.map(({ slug }) => slug)).toContain(agent.slug)
    })
    for (const token of [
      await mcpToken(t, team.author, { organizationId: team.id }),
      await mcpToken(t, author, { kind: 'test' }),
      await mcpToken(t, people.stranger),
    ])
      await connected(token, async (client) => {
        for (const [name, args] of reads)
          expect([name, (await client.call(name, args)).structuredContent?.code]).toEqual([name, 'not_found'])
      })
    const shown = (await get(author, agent.id)).body as AgentDetail
    expect(shown.recentActivity.map((e) => e.type)).toEqual(['agent.updated', 'agent.created'])
  })
})

test('other teams see a public agent without the person it works for and the program it runs in', async () => {
  const ada = await person(t, { name: 'Ada Lovelace' })
  await mcpToken(t, ada, { client: 'Claude Code' })
  const [made] = (await ada.fetch<AgentPage>('GET', '/api/agents')).body.items
  await ada.fetch('PUT', `/api/agents/${made?.id}`, { scope: 'public' })
  const shown = async (who: Person) => (await who.fetch<AgentDetail>('GET', `/api/agents/${made?.id}`)).body
  expect(await shown(ada)).toMatchObject({ client: 'Claude Code', for: { id: ada.userId, name: 'Ada Lovelace' } })
  expect(await shown(people.stranger)).toMatchObject({ name: made?.name, client: null, for: null })
})
