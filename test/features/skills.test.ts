import { beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import * as accounts from '../../src/features/accounts/service.ts'
import { memberships } from '../../src/features/organizations/table.ts'
import type { PublicSkill, Skill, SkillCreate, SkillPage } from '../../src/features/skills/schema.ts'
import * as skills from '../../src/features/skills/service.ts'
import { skills as skillTable } from '../../src/features/skills/table.ts'
import * as keys from '../../src/features/tokens/keys.ts'
import { factsOf, type McpClient, ways } from '../mcp/support.ts'
import {
  anyoneCtx,
  call,
  mcpToken,
  PASSWORD,
  type Person,
  person,
  sharedApp,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'
import { expectEvent, expectNoEvents, expectRefusal, ids, TestClock, times, watch } from './support.ts'
import { newPeople, type People, teamOf } from './team-support.ts'

let t: TestApp
let people: People<'author'>
beforeAll(async () => {
  t = watch(await sharedApp())
  people = await newPeople(t, 'author')
})

const newTeam = () => teamOf(t, people)

/** A person without any membership: signed in again, so that nothing remembers the last one. */
async function loner(): Promise<Person> {
  const who = await person(t, { name: 'Emmy' })
  await t.app.db.delete(memberships).where(eq(memberships.userId, who.userId))
  const { token } = await accounts.login(anyoneCtx(t), { email: who.email, password: PASSWORD })
  expect((await t.app.auth.authenticate(token)).organizationId).toBeNull()
  return {
    ...who,
    token,
    fetch: (method, path, body, headers = {}) =>
      call(t, method, path, body, { authorization: `Bearer ${token}`, ...headers }),
  }
}

const write = async (who: Person, input: Partial<SkillCreate> = {}): Promise<Skill> => {
  const made = await who.fetch<Skill>('POST', '/api/skills', { name: unique('skill'), scope: 'personal', ...input })
  expect(made.status).toBe(201)
  return made.body
}
const get = (who: Person, ref: string) => who.fetch<Skill>('GET', `/api/skills/${ref}`)
const put = (who: Person, ref: string, patch: object, headers = {}) =>
  who.fetch<Skill>('PUT', `/api/skills/${ref}`, patch, headers)
const drop = (who: Person, ref: string) => who.fetch('DELETE', `/api/skills/${ref}`)
const restore = (who: Person, ref: string) => who.fetch<Skill>('POST', `/api/skills/${ref}/restore`)
const list = async (who: Person, query = '') => {
  const answer = await who.fetch<SkillPage>('GET', `/api/skills${query}`)
  expect(answer.status).toBe(200)
  return answer.body
}
/** Of a list that others write to as well, those among these. */
const among = async (who: Person, made: Skill[], query = '?limit=200') => {
  const seen = new Set(ids(await list(who, query)))
  return made.filter((skill) => seen.has(skill.id)).map((skill) => skill.scope)
}
const visit = (slug: string) => call<PublicSkill>(t, 'GET', `/api/skills/public/${slug}`)

describe('creating a skill', () => {
  test('puts it into the current team by default; a personal one belongs to its author alone', async () => {
    const made = await people.author.fetch<Skill>('POST', '/api/skills', { name: '  Review a migration ' })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/skills/${made.body.id}`)
    expect(made.body).toEqual({
      id: made.body.id,
      createdAt: made.body.createdAt,
      updatedAt: made.body.createdAt,
      version: 1,
      organizationId: people.author.organizationId,
      createdById: people.author.userId,
      name: 'Review a migration',
      slug: made.body.slug,
      description: null,
      content: '',
      tags: [],
      scope: 'team',
    })
    expect(made.body.slug).toMatch(/^review-a-migration-[a-z0-9]{6}$/)
    expect(await expectEvent(t, made, 'skill.created')).toMatchObject({
      subjectId: made.body.id,
      organizationId: people.author.organizationId,
      userId: null,
      data: { name: 'Review a migration', version: 1 },
    })
    const own = await people.author.fetch<Skill>('POST', '/api/skills', { name: 'Mine', scope: 'personal' })
    expect(own.body).toMatchObject({ scope: 'personal', organizationId: null })
    expect(await expectEvent(t, own, 'skill.created')).toMatchObject({
      organizationId: null,
      userId: people.author.userId,
    })
  })

  test('for the team or the public puts it into the current organization, and returns every field sent', async () => {
    const team = await newTeam()
    const input = {
      name: 'Deploy',
      description: 'When "main" is green',
      content: '# \\ 🎼',
      tags: ['a,b', '{x}', 'quo"te'],
    }
    for (const scope of ['team', 'public'] as const) {
      const made = await team.member.fetch<Skill>('POST', '/api/skills', { ...input, scope })
      expect(made.body).toMatchObject({ ...input, scope, organizationId: team.id, createdById: people.member.userId })
      expect(await expectEvent(t, made, 'skill.created')).toMatchObject({ organizationId: team.id, userId: null })
      expect((await get(team.viewer, made.body.id)).body).toMatchObject(made.body)
    }
  })

  test('limits the content in bytes', async () => {
    const fits = 'é'.repeat(128 << 10)
    expect((await write(people.author, { content: fits })).content).toBe(fits)
    const refused = await people.author.fetch('POST', '/api/skills', { name: 'x', content: `${fits}é` })
    expect(await expectRefusal(t, refused, 422, 'invalid')).toMatchObject({
      errors: [{ pointer: '/content', code: 'too_long' }],
    })
    const skill = await write(people.author)
    await expectRefusal(t, await put(people.author, skill.id, { content: `${fits}é` }), 422, 'invalid')
  })
})

describe('a skill', () => {
  test('is visible to its author if personal, to members if the team’s, to signed-in users if public', async () => {
    const team = await newTeam()
    const made = [
      await write(team.author),
      await write(team.author, { scope: 'team' }),
      await write(team.author, { scope: 'public' }),
    ] as [Skill, Skill, Skill]
    const seenBy = async (who: Person) => (await Promise.all(made.map((s) => get(who, s.id)))).map((a) => a.status)
    expect(await seenBy(team.author)).toEqual([200, 200, 200])
    for (const who of [team.owner, team.admin, team.member, team.viewer])
      expect(await seenBy(who)).toEqual([404, 200, 200])
    expect(await seenBy(team.stranger)).toEqual([404, 404, 200])

    expect(await among(team.author, made)).toEqual(['personal', 'team', 'public'])
    for (const who of [team.owner, team.admin, team.member, team.viewer])
      expect(await among(who, made)).toEqual(['team', 'public'])
    expect(await among(team.stranger, made)).toEqual(['public'])
    expect((await call(t, 'GET', `/api/skills/${made[2].id}`)).status).toBe(401)
  })

  test('is listed for the current organization, and found by reference in any', async () => {
    const [here, there] = [await newTeam(), await newTeam()]
    const made = [await write(here.member, { scope: 'team' }), await write(there.member, { scope: 'team' })] as [
      Skill,
      Skill,
    ]
    expect(await among(here.member, [made[0]])).toEqual(['team'])
    expect(await among(here.member, [made[1]])).toEqual([])
    expect((await get(here.member, made[1].id)).status).toBe(200)
  })

  test('of a person or a stranger is not in the team’s own list', async () => {
    const [here, there] = [await newTeam(), await newTeam()]
    await write(here.author)
    await write(there.author, { scope: 'public' })
    const own = [await write(here.author, { scope: 'team' }), await write(here.author, { scope: 'public' })]
    const ctx = await here.author.ctx()
    const inTeam = { ...ctx, actor: { ...ctx.actor, organizationId: here.id } }
    expect(ids(await skills.listInTeam(inTeam, { total: true }))).toEqual(own.map((s) => s.id).sort())
  })

  test('can be created and seen by a user without a team (Errors 2 of the specification)', async () => {
    const team = await newTeam()
    const shared = [await write(team.author, { scope: 'team' }), await write(team.author, { scope: 'public' })]
    const alone = await loner()
    expect((await list(alone, '?scope=personal&total=true')).total).toBe(0)
    expect(await list(alone, '?scope=team&total=true')).toMatchObject({ items: [], nextCursor: null, total: 0 })
    expect(await among(alone, shared)).toEqual(['public'])

    const own = await write(alone, { name: 'Mine' })
    expect(own).toMatchObject({ organizationId: null, scope: 'personal' })
    expect(await among(alone, [own, ...shared])).toEqual(['personal', 'public'])
    expect((await put(alone, own.id, { content: 'Better' })).body).toMatchObject({ content: 'Better', version: 2 })
    await expectRefusal(t, await put(alone, own.id, { scope: 'team' }), 403, 'forbidden')

    // Made public, it still belongs to its author alone.
    const published = (await put(alone, own.id, { scope: 'public' })).body
    expect(published).toMatchObject({ organizationId: null, scope: 'public' })
    expect(await among(people.stranger, [published])).toEqual(['public'])
    expect((await visit(published.slug)).status).toBe(200)
    await expectRefusal(t, await put(people.stranger, own.id, { content: 'Mine now' }), 403, 'forbidden')
    expect((await drop(alone, own.id)).status).toBe(200)
    expect((await restore(alone, own.id)).body).toMatchObject({ id: own.id, scope: 'public' })
  })

  test('is found by its slug in upper or lower case and by a unique prefix of its id', async () => {
    const [a, b] = [await write(people.author), await write(people.author)]
    expect((await get(people.author, a.slug.toUpperCase())).body.id).toBe(a.id)
    expect((await get(people.author, a.id.slice(0, 30))).body.id).toBe(a.id)
    expect((await get(people.stranger, a.slug)).status).toBe(404)
    expect((await get(people.stranger, a.id.slice(0, 30))).status).toBe(404)
    const common = times(36, (i) => i).findLast((i) => a.id.slice(0, i) === b.id.slice(0, i)) as number
    if (common >= 8) expect((await get(people.author, a.id.slice(0, common))).status).toBe(404)
  })

  test('that is personal is invisible to a credential bound to one organization', async () => {
    const team = await newTeam()
    const { token } = await keys.createKey(await people.author.ctx(), { name: 'bound', organizationId: team.id })
    const bound: Person = {
      ...people.author,
      fetch: (m, p, b, h = {}) => call(t, m, p, b, { authorization: `Bearer ${token}`, ...h }),
    }
    const made = [
      await write(team.author),
      await write(team.author, { scope: 'team' }),
      await write(people.author, { scope: 'public' }),
    ] as [Skill, Skill, Skill]
    expect(await among(bound, made)).toEqual(['team', 'public'])
    expect((await get(bound, made[0].id)).status).toBe(404)
    await expectRefusal(t, await bound.fetch('POST', '/api/skills', { name: 'x', scope: 'personal' }), 422, 'invalid')
    expect(await write(bound, { scope: undefined })).toMatchObject({ scope: 'team', organizationId: team.id })
    // The author’s, but in another organization: readable, and no more.
    await expectRefusal(t, await put(bound, made[2].id, { content: 'x' }), 403, 'forbidden')
    await expectRefusal(t, await put(bound, made[1].id, { scope: 'personal' }), 422, 'invalid')
  })

  test('of a deleted organization or a sandbox is not public', async () => {
    const team = await newTeam()
    const skill = await write(team.author, { scope: 'public' })
    expect((await visit(skill.slug)).status).toBe(200)
    await team.owner.fetch('DELETE', `/api/teams/${team.id}`)
    expect((await visit(skill.slug)).status).toBe(404)
    expect((await get(people.stranger, skill.id)).status).toBe(404)
    expect(await among(people.stranger, [skill])).toEqual([])

    const token = await mcpToken(t, people.author, { kind: 'test' })
    const { organizationId } = await t.app.auth.authenticate(token)
    const hidden = await write(people.author, { scope: 'public' })
    await t.app.db.update(skillTable).set({ organizationId }).where(eq(skillTable.id, hidden.id))
    expect((await visit(hidden.slug)).status).toBe(404)
    expect(await among(people.stranger, [hidden])).toEqual([])
    expect((await get(people.stranger, hidden.id)).status).toBe(404)
  })
})

describe('GET /api/skills', () => {
  test('pages through all three scopes in one order, each skill once', async () => {
    const team = await newTeam()
    const tag = unique('tag').slice(0, 50)
    const made: Skill[] = []
    for (const scope of ['personal', 'public', 'team', 'public', 'personal', 'team', 'team'] as const)
      made.push(await write(team.author, { scope, tags: [tag], name: unique(scope) }))
    for (const sort of ['updatedAt', 'createdAt', 'name'])
      for (const order of ['asc', 'desc']) {
        const seen: string[] = []
        let cursor = ''
        do {
          const page = await list(team.author, `?tag=${tag}&limit=2&sort=${sort}&order=${order}&total=true${cursor}`)
          expect(page.total).toBe(7)
          seen.push(...page.items.map((i) => i.id))
          cursor = page.nextCursor ? `&cursor=${encodeURIComponent(page.nextCursor)}` : ''
        } while (cursor)
        const key = sort as 'updatedAt' | 'createdAt' | 'name'
        const wanted = made.toSorted((a, b) => (a[key] === b[key] ? (a.id < b.id ? -1 : 1) : a[key] < b[key] ? -1 : 1))
        expect(seen).toEqual((order === 'asc' ? wanted : wanted.reverse()).map((s) => s.id))
      }
  })

  test('filters by scope, tag and words, and returns no content', async () => {
    const team = await newTeam()
    const word = unique('word').replaceAll('-', '')
    const made = [
      await write(team.author, { name: word, tags: ['x'] }),
      await write(team.author, { scope: 'team', description: `for ${word}` }),
      await write(team.author, { scope: 'public', content: `so ${word} it is`, tags: ['x', 'y'] }),
      await write(team.author, { scope: 'team', name: 'another' }),
    ] as [Skill, Skill, Skill, Skill]
    const found = async (query: string): Promise<string[]> =>
      (await list(team.author, query)).items.map((i) => i.scope).sort()
    expect(await found(`?search=${word}`)).toEqual(['personal', 'public', 'team'])
    expect(await found(`?search=${word}&tag=x`)).toEqual(['personal', 'public'])
    for (const scope of ['personal', 'team', 'public'])
      expect(await found(`?search=${word}&scope=${scope}`)).toEqual([scope])
    expect((await list(team.author, `?search=${word}`)).items.every((i) => !('content' in i))).toBe(true)
    expect((await list(people.stranger, `?search=${word}&total=true`)).total).toBe(1)
    expect(ids(await list(people.stranger, `?search=${word}`))).toEqual([made[2].id])
  })

  test('lists and counts a team’s public skill once', async () => {
    const team = await newTeam()
    const word = unique('once').replaceAll('-', '')
    const skill = await write(team.author, { scope: 'public', name: word })
    const page = await list(team.author, `?search=${word}&total=true`)
    expect([ids(page), page.total]).toEqual([[skill.id], 1])
  })
})

describe('changing a skill', () => {
  test('is for members if it is the team’s, for its author if personal, for author and admins if public', async () => {
    const team = await newTeam()
    const made = {
      personal: await write(team.author),
      team: await write(team.author, { scope: 'team' }),
      public: await write(team.author, { scope: 'public' }),
    }
    const may = async (who: Person) =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(made).map(async ([scope, skill]) => [
            scope,
            (await put(who, skill.id, { description: unique('d') })).status,
          ]),
        ),
      )
    expect(await may(team.author)).toEqual({ personal: 200, team: 200, public: 200 })
    expect(await may(team.member)).toEqual({ personal: 404, team: 200, public: 403 })
    expect(await may(team.admin)).toEqual({ personal: 404, team: 200, public: 200 })
    expect(await may(team.owner)).toEqual({ personal: 404, team: 200, public: 200 })
    expect(await may(team.viewer)).toEqual({ personal: 403, team: 403, public: 403 })
    // From their own team, where they may write: what they see but do not own is 403, the rest is 404.
    expect(await may(team.stranger)).toEqual({ personal: 404, team: 404, public: 403 })
    await expectRefusal(t, await drop(team.stranger, made.public.id), 403, 'forbidden')
    await expectRefusal(t, await drop(team.member, made.public.id), 403, 'forbidden')
    await expectRefusal(t, await drop(team.stranger, made.team.id), 404, 'not_found')
  })

  test('of the team is refused to an author who left it', async () => {
    const team = await newTeam()
    const skill = await write(team.author, { scope: 'public' })
    await team.owner.fetch('DELETE', `/api/teams/${team.id}/members/${people.author.userId}`)
    await expectRefusal(t, await put(people.author, skill.id, { content: 'x' }), 403, 'forbidden')
  })

  test('changes only the given fields; null clears a field, and the event names the fields', async () => {
    const skill = await write(people.author, { description: 'd', content: 'c', tags: ['t'] })
    const changed = await put(people.author, skill.slug, { name: ' New ', description: null })
    expect(changed.body).toEqual({
      ...skill,
      name: 'New',
      description: null,
      version: 2,
      updatedAt: changed.body.updatedAt,
    })
    expect(await expectEvent(t, changed, 'skill.updated')).toMatchObject({
      subjectId: skill.id,
      userId: people.author.userId,
      data: { name: 'New', version: 2, fields: ['name', 'description'] },
    })
  })

  test('shares it, publishes it and takes it back', async () => {
    const team = await newTeam()
    const skill = await write(team.author)
    const shared = await put(team.author, skill.id, { scope: 'team' })
    expect(shared.body).toMatchObject({ scope: 'team', organizationId: team.id })
    expect(await expectEvent(t, shared, 'skill.updated')).toMatchObject({ organizationId: team.id, userId: null })
    // A member could not withdraw somebody else's record after publishing it, so they may not publish it.
    await expectRefusal(t, await put(team.member, skill.id, { scope: 'public' }), 403, 'forbidden')
    await expectRefusal(t, await put(team.member, skill.id, { scope: 'personal' }), 403, 'forbidden')
    await expectRefusal(t, await put(team.admin, skill.id, { scope: 'personal' }), 403, 'forbidden')
    expect((await put(team.admin, skill.id, { scope: 'public' })).body).toMatchObject({
      scope: 'public',
      organizationId: team.id,
    })
    expect((await visit(skill.slug)).status).toBe(200)
    expect((await put(team.author, skill.id, { scope: 'personal' })).body).toMatchObject({
      scope: 'personal',
      organizationId: null,
    })
    expect((await visit(skill.slug)).status).toBe(404)
    expect((await get(team.owner, skill.id)).status).toBe(404)
  })
})

describe('the public page of a skill', () => {
  test('shows a public skill and its author to anyone', async () => {
    const skill = await write(people.author, { scope: 'public', description: 'd', content: '# C', tags: ['t'] })
    const { body } = await visit(skill.slug.toUpperCase())
    const { handle } = (await people.author.fetch<{ handle: string }>('GET', '/api/auth/me')).body
    expect(body).toEqual({
      name: skill.name,
      slug: skill.slug,
      description: 'd',
      content: '# C',
      tags: ['t'],
      author: { handle, name: 'Alan' },
      createdAt: skill.createdAt,
      updatedAt: skill.updatedAt,
    })
    for (const scope of ['personal', 'team'] as const)
      expect((await visit((await write(people.author, { scope })).slug)).status).toBe(404)
    expect((await visit(skill.id)).status).toBe(404)
    await drop(people.author, skill.id)
    expect((await visit(skill.slug)).status).toBe(404)
  })
})

describe('deleting a skill', () => {
  test('hides it at once; an admin can restore it', async () => {
    const team = await newTeam()
    const skill = await write(team.author, { scope: 'team', content: 'kept' })
    const gone = await drop(team.member, skill.id)
    expect(gone.body).toEqual({ id: skill.id, deleted: true })
    expect(await expectEvent(t, gone, 'skill.deleted')).toMatchObject({ subjectId: skill.id, organizationId: team.id })
    expect((await get(team.author, skill.id)).status).toBe(404)
    await expectRefusal(t, await drop(team.member, skill.id), 404, 'not_found')

    // Whoever deleted it may bring it back too; these did not.
    for (const who of [team.author, team.viewer]) await expectRefusal(t, await restore(who, skill.id), 403, 'forbidden')
    await expectRefusal(t, await restore(team.stranger, skill.id), 404, 'not_found')
    const back = await restore(team.admin, skill.slug)
    expect(back.body).toEqual({ ...skill, version: 3, updatedAt: back.body.updatedAt })
    await expectEvent(t, back, 'skill.restored')
    expect((await get(team.viewer, skill.id)).body).toMatchObject(back.body)
    expect((await restore(team.admin, skill.id)).body).toEqual(back.body)
  })

  test('that is personal can be undone by its author only', async () => {
    const team = await newTeam()
    const skill = await write(team.author)
    await drop(team.author, skill.id)
    for (const who of [team.owner, team.stranger])
      await expectRefusal(t, await restore(who, skill.id), 404, 'not_found')
    expect((await restore(team.author, skill.id)).status).toBe(200)
  })

  test('can be undone for thirty days', async () => {
    const clock = new TestClock()
    const timed = await testApp({ background: 'off' }, clock.now)
    try {
      const who = await person(timed)
      const made = [await write(who), await write(who)] as [Skill, Skill]
      for (const { id } of made) await drop(who, id)
      const later = async (days: number, ref: string) => {
        clock.forward({ days })
        const { token } = await accounts.login(anyoneCtx(timed), { email: who.email, password: PASSWORD })
        return (
          await call(timed, 'POST', `/api/skills/${ref}/restore`, undefined, { authorization: `Bearer ${token}` })
        ).status
      }
      expect([await later(29, made[0].id), await later(1, made[1].id)]).toEqual([200, 404])
    } finally {
      await timed.close()
    }
  })
})

describe('skills over MCP', () => {
  const connected = async <T>(token: string, work: (client: McpClient) => Promise<T>): Promise<T> => {
    const client = await (ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string])(t.url, token)
    try {
      return await work(client)
    } finally {
      await client.close()
    }
  }

  test('are read with get_skill, which lists the team’s before strangers’ public ones', async () => {
    const team = await newTeam()
    const [personal, shared] = [
      await write(team.author),
      await write(team.author, { scope: 'team', content: '# How', tags: ['x'] }),
    ]
    await write(people.stranger, { scope: 'public' })
    await connected(await mcpToken(t, team.author, { organizationId: team.id }), async (client) => {
      const one = await client.call('get_skill', { skill: shared.slug })
      const { name, slug, content, tags, version } = shared
      expect(one.structuredContent).toMatchObject({ name, slug, content, tags, version })
      const all = factsOf<SkillPage>(await client.call('get_skill'))
      expect(all.items[0]?.slug).toBe(shared.slug)
      expect(all.items.slice(1).every((s) => s.scope === 'public')).toBe(true)
      expect(all.items.length).toBeGreaterThan(1)
      expect(all.total).toBeGreaterThanOrEqual(all.items.length)
      expect(JSON.stringify(all)).not.toContain(personal.slug)
      expect(JSON.stringify(all)).not.toContain('# How')
      const none = await client.call('get_skill', { skill: personal.id })
      expect(none).toMatchObject({ isError: true, structuredContent: { code: 'not_found' } })
    })
    await connected(await mcpToken(t, people.stranger), async (client) => {
      expect(await client.call('get_skill', { skill: shared.id })).toMatchObject({
        isError: true,
        structuredContent: { code: 'not_found' },
      })
    })
  })
})

test('reading skills writes no events', async () => {
  const skill = await write(people.author)
  await expectNoEvents(t, await get(people.author, skill.id))
})
