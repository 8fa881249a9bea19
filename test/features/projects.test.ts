import { beforeAll, describe, expect, test } from 'bun:test'
import { eq, getTableName } from 'drizzle-orm'
import { contextOf } from '../../src/action.ts'
import type { Note, NotePage } from '../../src/features/notes/schema.ts'
import { notes as noteTable } from '../../src/features/notes/table.ts'
import type {
  Project,
  ProjectCreate,
  ProjectDetail,
  ProjectPage,
  PublicProject,
} from '../../src/features/projects/schema.ts'
import * as projects from '../../src/features/projects/service.ts'
import { projects as projectTable } from '../../src/features/projects/table.ts'
import { call, mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import {
  expectEvent,
  expectEvents,
  expectNoEvents,
  expectRefusal,
  ids,
  inside,
  statuses,
  times,
  watch,
} from './support.ts'
import { newPeople, type People, teamOf } from './team-support.ts'

let t: TestApp
/** Each test makes a team of its own with these people in it. */
let people: People<'creator'>
beforeAll(async () => {
  t = watch(await sharedApp())
  people = await newPeople(t, 'creator')
})

const newTeam = () => teamOf(t, people)

const create = async (who: Person, input: Partial<ProjectCreate> = {}): Promise<Project> => {
  const made = await who.fetch<Project>('POST', '/api/projects', { name: unique('project'), ...input })
  expect(made.status).toBe(201)
  return made.body
}
const get = (who: Person, ref: string) => who.fetch<ProjectDetail>('GET', `/api/projects/${ref}`)
const list = async (who: Person, query = '') => (await who.fetch<ProjectPage>('GET', `/api/projects${query}`)).body
const addNote = async (who: Person, projectId: string, over = {}): Promise<Note> =>
  (await who.fetch<Note>('POST', '/api/notes', { title: unique('note'), projectId, ...over })).body
const handleOf = async (who: Person) => (await who.fetch<{ handle: string }>('GET', '/api/auth/me')).body.handle

describe('creating a project', () => {
  test('returns a slug, a key and defaults', async () => {
    const team = await newTeam()
    const made = await team.member.fetch<Project>('POST', '/api/projects', {
      name: '  Tutti Server ',
      description: 'One binary',
      settings: { color: 'red' },
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/projects/${made.body.id}`)
    expect(made.body).toEqual({
      id: made.body.id,
      createdAt: made.body.createdAt,
      updatedAt: made.body.createdAt,
      version: 1,
      organizationId: team.id,
      createdById: people.member.userId,
      workspaceId: null,
      name: 'Tutti Server',
      slug: 'tutti-server',
      key: 'TS',
      description: 'One binary',
      color: 'green',
      visibility: 'team',
      status: 'active',
      archivedAt: null,
      settings: { color: 'red' },
    })
    expect(await expectEvent(t, made, 'project.created')).toMatchObject({
      subjectId: made.body.id,
      projectId: made.body.id,
      organizationId: team.id,
      userId: null,
      actor: { kind: 'session', id: people.member.userId, name: 'Edsger' },
      data: { name: 'Tutti Server', slug: 'tutti-server', version: 1 },
    })
  })

  test('takes the colour that the fewest projects of the team have', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    await create(team.member, { color: 'blue' })
    const colors: string[] = []
    for (let i = 0; i < 8; i++) colors.push((await create(team.member)).color)
    expect(colors).toEqual(['green', 'amber', 'violet', 'pink', 'teal', 'red', 'grey', 'green'])
    expect((await create(other.member)).color).toBe('green')
    await expectRefusal(
      t,
      await team.member.fetch('POST', '/api/projects', { name: 'Loud', color: '#ff0000' }),
      422,
      'invalid',
    )
  })

  test('derives slugs and keys from unusual names', async () => {
    const team = await newTeam()
    const made: [string, string, string][] = []
    for (const name of [
      'Tutti',
      'Zauberflöte',
      'a',
      '2026',
      '项目',
      '!!!',
      `${'long '.repeat(19)}name`,
      'Über Maß & Ziel',
      'one two three four five six',
    ]) {
      const { slug, key } = await create(team.member, { name })
      expect(slug).toMatch(/^[a-z0-9](-?[a-z0-9])*$/)
      expect(slug.length).toBeLessThanOrEqual(63)
      expect(key).toMatch(/^[A-Z]{2,6}$/)
      made.push([name.slice(0, 12), slug.slice(0, 15), key])
    }
    expect(made).toEqual([
      ['Tutti', 'tutti', 'TUT'],
      ['Zauberflöte', 'zauberflote', 'ZAU'],
      ['a', 'a', 'AX'],
      ['2026', '2026', 'XX'],
      ['项目', 'project', 'XXA'],
      ['!!!', 'project-2', 'XXB'],
      ['long long lo', 'long-long-long-', 'LLLL'],
      ['Über Maß & Z', 'uber-ma-ziel', 'UMZ'],
      ['one two thre', 'one-two-three-f', 'OTTF'],
    ])
  })

  test('adds a number to a taken slug and a letter to a taken key of the same organization', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const made: string[] = []
    for (let i = 0; i < 4; i++) {
      const { slug, key } = await create(team.member, { name: 'Tutti Server' })
      made.push(`${slug} ${key}`)
    }
    expect(made).toEqual(['tutti-server TS', 'tutti-server-2 TSA', 'tutti-server-3 TSB', 'tutti-server-4 TSC'])
    expect(await create(other.member, { name: 'Tutti Server' })).toMatchObject({ slug: 'tutti-server', key: 'TS' })
  })

  test('accepts a key, unless it is taken', async () => {
    const team = await newTeam()
    expect((await create(team.member, { name: 'Tutti', key: 'ENGINE' })).key).toBe('ENGINE')
    await expectRefusal(
      t,
      await team.member.fetch('POST', '/api/projects', { name: 'Other', key: 'ENGINE' }),
      409,
      'conflict.exists',
    )
    for (const key of ['E', 'ENGINES', 'engine', 'EN1'])
      await expectRefusal(t, await team.member.fetch('POST', '/api/projects', { name: 'Other', key }), 422, 'invalid')
  })

  test('with the same name twenty times at once gives distinct slugs and keys', async () => {
    const team = await newTeam()
    const who = [team.owner, team.admin, team.member, team.creator]
    const answers = await Promise.all(
      times(20, (i) => (who[i % 4] as Person).fetch<Project>('POST', '/api/projects', { name: 'Rush Hour' })),
    )
    expect(statuses(answers)).toEqual(times(20, () => 201))
    expect(answers.map((a) => a.body.slug).sort()).toEqual(
      times(20, (i) => (i === 0 ? 'rush-hour' : `rush-hour-${i + 1}`)).sort(),
    )
    expect(new Set(answers.map((a) => a.body.key)).size).toBe(20)
    for (const answer of answers) await expectEvents(t, answer, 'project.created')
  })

  test('with the same key ten times at once succeeds once; the others get the reason', async () => {
    const team = await newTeam()
    const answers = await Promise.all(
      times(10, () => team.member.fetch<Project>('POST', '/api/projects', { name: unique('p'), key: 'SAME' })),
    )
    expect(statuses(answers)).toEqual([201, ...times(9, () => 409)])
    for (const lost of answers.filter((a) => a.status === 409))
      expect((await expectRefusal(t, lost, 409, 'conflict.exists')).detail).toContain('SAME')
  })

  test.each([
    ['with an empty name', { name: '\n ' }],
    ['with more than 16 KiB of settings', { name: 'x', settings: { x: 'é'.repeat(8 << 10) } }],
  ])('is refused %s', async (_, body) => {
    await expectRefusal(t, await people.owner.fetch('POST', '/api/projects', body), 422, 'invalid')
  })
})

describe('finding a project', () => {
  test('works by id, slug, key or a unique beginning of the id, in upper or lower case', async () => {
    const team = await newTeam()
    const made = await create(team.creator, { name: 'Analytical Engine' })
    const refs = [
      made.id,
      made.id.toUpperCase(),
      made.slug,
      'Analytical-Engine',
      made.key,
      made.key.toLowerCase(),
      made.id.slice(0, 20),
      made.id.slice(0, -1),
    ]
    for (const ref of refs) expect([ref, (await get(team.viewer, ref)).body.id]).toEqual([ref, made.id])
    for (const ref of [made.id.slice(0, 7), 'analytical', 'AEX', Bun.randomUUIDv7(), '%', 'deadbeef%'])
      await expectRefusal(t, await get(team.viewer, encodeURIComponent(ref)), 404, 'not_found')
  })

  test('is refused by a beginning that fits two ids', async () => {
    const team = await newTeam()
    const [a, b] = [await create(team.creator), await create(team.creator)]
    const shared = times(a.id.length, (i) => a.id.slice(0, i + 1)).findLast((start) => b.id.startsWith(start)) as string
    expect(shared.length).toBeGreaterThanOrEqual(8)
    const refused = await expectRefusal(t, await get(team.viewer, shared), 404, 'not_found')
    expect(refused.detail).toMatch(
      new RegExp(
        `^Several ids begin with ${shared.toLowerCase()}, such as (${a.id}|${b.id}) ".+" and (${a.id}|${b.id}) ".+"\\. Use a longer one\\.$`,
      ),
    )
  })

  test('prefers the slug in lower case and the key in upper case if both exist', async () => {
    const team = await newTeam()
    const keyed = await create(team.creator, { name: 'Tutti' })
    const slugged = await create(team.creator, { name: 'Tut' })
    expect([keyed.key, slugged.slug]).toEqual(['TUT', 'tut'])
    expect((await get(team.viewer, 'tut')).body.id).toBe(slugged.id)
    expect((await get(team.viewer, 'TUT')).body.id).toBe(keyed.id)
  })

  test('looks for slug and key in the current organization, for an id in all of the caller’s', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const [here, there] = [await create(team.creator, { name: 'Same' }), await create(other.creator, { name: 'Same' })]
    expect((await get(team.viewer, 'same')).body.id).toBe(here.id)
    expect((await get(other.viewer, 'same')).body.id).toBe(there.id)
    expect((await get(team.viewer, there.id)).body.id).toBe(there.id)
  })

  test('by the list returns the last changed first, searched, filtered by status, and paged', async () => {
    const team = await newTeam()
    const made: Project[] = []
    for (const name of ['Steam engine', 'Difference engine', 'Loom'])
      made.push(await create(team.creator, { name, description: `All about ${name}` }))
    const [steam, difference, loom] = made as [Project, Project, Project]
    await team.creator.fetch('PUT', `/api/projects/${steam.id}`, { description: 'Hot water' })
    await team.creator.fetch('POST', `/api/projects/${loom.id}/archive`)
    const names = (page: ProjectPage) => page.items.map((p) => p.name)
    expect(names(await list(team.viewer))).toEqual(['Steam engine', 'Difference engine'])
    expect(names(await list(team.viewer, '?status=archived'))).toEqual(['Loom'])
    expect(names(await list(team.viewer, '?status=all'))).toContain('Loom')
    expect(names(await list(team.viewer, '?sort=name&order=asc'))).toEqual(['Difference engine', 'Steam engine'])
    expect(names(await list(team.viewer, '?search=ENGINE&sort=createdAt&order=asc'))).toEqual([
      'Steam engine',
      'Difference engine',
    ])
    expect(names(await list(team.viewer, '?search=water'))).toEqual(['Steam engine'])
    expect(names(await list(team.viewer, '?search=engine%20-water'))).toEqual(['Difference engine'])
    for (const odd of ['"', "'", '&|!', ':*', '\\'])
      expect((await team.viewer.fetch('GET', `/api/projects?search=${encodeURIComponent(odd)}`)).status).toBe(200)
    const first = await list(team.viewer, '?limit=1&total=true')
    expect(first).toMatchObject({ items: [{ id: steam.id }], total: 2 })
    expect(await list(team.viewer, `?limit=1&cursor=${first.nextCursor}`)).toMatchObject({
      items: [{ id: difference.id }],
      nextCursor: null,
    })
    await expectRefusal(
      t,
      await team.viewer.fetch('GET', `/api/projects?sort=name&cursor=${first.nextCursor}`),
      400,
      'invalid.cursor',
    )
    await expectRefusal(t, await team.viewer.fetch('GET', '/api/projects?sort=settings'), 422, 'invalid')
  })
})

describe('access to a project', () => {
  const visibilities = ['private', 'team', 'public'] as const
  const everybody = ['owner', 'admin', 'creator', 'member', 'viewer', 'stranger'] as const
  type Team = Awaited<ReturnType<typeof newTeam>>
  /** One project of each kind, made by a plain member. */
  const three = async (team: Team) => {
    const made: Project[] = []
    for (const visibility of visibilities) made.push(await create(team.creator, { visibility }))
    return made
  }
  const grid = async (team: Team, made: Project[], ask: (who: Person, project: Project) => Promise<number>) => {
    const got: Record<string, number[]> = {}
    for (const who of everybody) {
      got[who] = []
      for (const project of made) got[who].push(await ask(team[who], project))
    }
    return got
  }

  test('allows reading by visibility and role', async () => {
    const team = await newTeam()
    const made = await three(team)
    expect(await grid(team, made, async (who, { id }) => (await get(who, id)).status)).toEqual({
      owner: [200, 200, 200],
      admin: [200, 200, 200],
      creator: [200, 200, 200],
      member: [404, 200, 200],
      viewer: [404, 200, 200],
      stranger: [404, 404, 404],
    })
    const [, shared, open] = made as [Project, Project, Project]
    for (const who of ['owner', 'admin', 'creator'] as const)
      expect(ids(await list(team[who]))).toEqual(ids({ items: made }))
    for (const who of ['member', 'viewer'] as const) {
      expect(ids(await list(team[who], '?total=true'))).toEqual(ids({ items: [shared, open] }))
      expect((await list(team[who], '?total=true')).total).toBe(2)
    }
    expect(ids(await list(team.stranger)).filter((id) => made.some((p) => p.id === id))).toEqual([])
    expect((await call(t, 'GET', `/api/projects/${open.id}`)).status).toBe(401)
  })

  test('allows changes by visibility and role', async () => {
    const team = await newTeam()
    const made = await three(team)
    expect(
      await grid(
        team,
        made,
        async (who, { id }) => (await who.fetch('PUT', `/api/projects/${id}`, { description: 'x' })).status,
      ),
    ).toEqual({
      owner: [200, 200, 200],
      admin: [200, 200, 200],
      creator: [200, 200, 200],
      member: [404, 200, 200],
      // The missing role is seen before the row is.
      viewer: [403, 403, 403],
      stranger: [404, 404, 404],
    })
  })

  test('allows archiving and restoring by visibility and role', async () => {
    const team = await newTeam()
    const made = await three(team)
    for (const what of ['archive', 'restore'])
      expect(
        await grid(team, made, async (who, { id }) => (await who.fetch('POST', `/api/projects/${id}/${what}`)).status),
      ).toEqual({
        owner: [200, 200, 200],
        admin: [200, 200, 200],
        creator: [200, 200, 200],
        member: [404, 200, 200],
        viewer: [403, 403, 403],
        stranger: [404, 404, 404],
      })
  })

  test('allows sharing and unsharing to its creator and the organization’s admins', async () => {
    const team = await newTeam()
    const made = await three(team)
    const expected = {
      owner: [200, 200, 200],
      admin: [200, 200, 200],
      creator: [200, 200, 200],
      member: [404, 403, 403],
      viewer: [403, 403, 403],
      stranger: [404, 404, 404],
    }
    const share = (who: Person, { id, visibility }: Project) =>
      who.fetch('POST', `/api/projects/${id}/share`, { visibility })
    expect(await grid(team, made, async (who, p) => (await share(who, p)).status)).toEqual(expected)
    const unshared = await grid(team, made, async (who, p) => {
      const { status } = await who.fetch('DELETE', `/api/projects/${p.id}/share`)
      await share(team.owner, p)
      return status
    })
    expect(unshared).toEqual(expected)
  })

  test('lets only its creator and the team’s admins delete it', async () => {
    for (const who of everybody) {
      const team = await newTeam()
      const made = await three(team)
      const got: number[] = []
      for (const { id } of made) got.push((await team[who].fetch('DELETE', `/api/projects/${id}`)).status)
      const expected: Record<string, number[]> = {
        member: [404, 403, 403],
        viewer: [403, 403, 403],
        stranger: [404, 404, 404],
      }
      expect({ who, got }).toEqual({ who, got: expected[who] ?? [200, 200, 200] })
    }
  })

  test('ends for a member who leaves, even for their own records', async () => {
    const team = await newTeam()
    const [secret] = await three(team)
    await people.creator.fetch('DELETE', `/api/teams/${team.id}/members/${people.creator.userId}`)
    expect((await get(people.creator, (secret as Project).id)).status).toBe(404)
    expect((await get(team.owner, (secret as Project).id)).status).toBe(200)
  })
})

describe('changing a project', () => {
  test('changes only the given fields; the slug stays when the name changes', async () => {
    const team = await newTeam()
    const made = await create(team.creator, { name: 'First name', description: 'd', settings: { a: 1 } })
    const path = `/api/projects/${made.slug}`
    const renamed = await team.member.fetch<Project>('PUT', path, { name: ' Second name ' })
    expect(renamed.body).toEqual({ ...made, name: 'Second name', version: 2, updatedAt: renamed.body.updatedAt })
    expect(await expectEvent(t, renamed, 'project.updated')).toMatchObject({
      projectId: made.id,
      data: { fields: ['name'], version: 2, slug: 'first-name' },
    })
    const painted = await team.member.fetch<Project>('PATCH', path, { color: 'teal' })
    expect([made.color, painted.body.color]).toEqual(['green', 'teal'])
    const cleared = await team.member.fetch<Project>('PUT', path, { description: null, settings: {}, key: 'NEW' })
    expect(cleared.body).toMatchObject({
      name: 'Second name',
      slug: 'first-name',
      description: null,
      settings: {},
      key: 'NEW',
      color: 'teal',
      version: 4,
    })
  })

  test('is refused for a key of another project, but not for its own', async () => {
    const team = await newTeam()
    const [a, b] = [await create(team.creator, { key: 'AAA' }), await create(team.creator, { key: 'BBB' })]
    await expectRefusal(
      t,
      await team.creator.fetch('PUT', `/api/projects/${a.id}`, { key: b.key }),
      409,
      'conflict.exists',
    )
    expect((await team.creator.fetch('PUT', `/api/projects/${a.id}`, { key: a.key })).status).toBe(200)
  })
})

describe('archiving a project', () => {
  test('removes it from the list and keeps its data; restoring reverts it', async () => {
    const team = await newTeam()
    const made = await create(team.creator)
    const note = await addNote(team.creator, made.id)
    const archived = await team.member.fetch<Project>('POST', `/api/projects/${made.slug}/archive`)
    expect(archived.body).toMatchObject({ status: 'archived', archivedAt: archived.body.updatedAt, version: 2 })
    await expectEvent(t, archived, 'project.archived')
    expect(ids(await list(team.viewer))).toEqual([])
    expect((await get(team.viewer, made.slug)).body).toMatchObject({
      status: 'archived',
      stats: { notes: 1, tasks: 0, tasksDone: 0 },
    })
    expect((await team.viewer.fetch('GET', `/api/notes/${note.id}`)).status).toBe(200)

    const restored = await team.member.fetch<Project>('POST', `/api/projects/${made.slug}/restore`)
    expect(restored.body).toEqual({ ...made, version: 3, updatedAt: restored.body.updatedAt })
    await expectEvent(t, restored, 'project.restored')
    expect(ids(await list(team.viewer))).toEqual([made.id])
  })

  test('twice has the same result as once', async () => {
    const team = await newTeam()
    const made = await create(team.creator)
    const [first, second] = [
      await team.member.fetch<Project>('POST', `/api/projects/${made.id}/archive`),
      await team.member.fetch<Project>('POST', `/api/projects/${made.id}/archive`),
    ]
    expect(second.body).toEqual(first.body)
    // No change, so no event of the project: only the trace that every write leaves.
    expect(await expectEvent(t, second, 'projects.archive')).toMatchObject({
      organizationId: null,
      projectId: null,
      userId: people.member.userId,
    })
    const again = await team.member.fetch<Project>('POST', `/api/projects/${made.id}/restore`)
    expect((await team.member.fetch<Project>('POST', `/api/projects/${made.id}/restore`)).body).toEqual(again.body)
  })
})

describe('POST and DELETE /api/projects/:slug/share', () => {
  const share = (who: Person, { id }: Project, body: object) =>
    who.fetch<Project>('POST', `/api/projects/${id}/share`, body)
  const unshare = (who: Person, { id }: Project) => who.fetch<Project>('DELETE', `/api/projects/${id}/share`)

  test('share with the team by default, and restore the earlier visibility', async () => {
    const team = await newTeam()
    const made = await create(team.creator, { visibility: 'private' })
    const shared = await share(team.creator, made, {})
    expect(shared.body).toMatchObject({ visibility: 'team', version: 2 })
    await expectEvent(t, shared, 'project.shared')
    expect((await get(team.viewer, made.id)).status).toBe(200)
    const open = await share(team.creator, made, { visibility: 'public' })
    expect(await expectEvent(t, open, 'project.shared')).toMatchObject({ data: { visibility: 'public' } })
    const closed = await unshare(team.creator, made)
    expect(closed.body).toMatchObject({ visibility: 'private', version: 4 })
    await expectEvent(t, closed, 'project.unshared')
    expect((await get(team.viewer, made.id)).status).toBe(404)
    // Repeating it shows the project to nobody else.
    expect((await unshare(team.creator, made)).body.visibility).toBe('private')
  })

  test.each([
    // [the visibility at first, what is shared, what un-sharing restores]
    ['team', [{ visibility: 'public' }], 'team'],
    ['team', [], 'team'],
    ['private', [{}], 'private'],
    ['private', [{ visibility: 'team' }, { visibility: 'public' }], 'private'],
    // Somebody narrows it on purpose: un-sharing does not widen it again.
    ['team', [{ visibility: 'public' }, { visibility: 'private' }], 'private'],
    ['private', [{ visibility: 'public' }, { visibility: 'private' }, { visibility: 'team' }], 'private'],
    ['team', [{ visibility: 'private' }], 'private'],
    // It was public from the start, so nobody knows of another visibility.
    ['public', [], 'team'],
  ] as const)('restore, for a project that is %s and then shared as %j: %s', async (visibility, steps, restored) => {
    const team = await newTeam()
    const made = await create(team.creator, { visibility })
    for (const step of steps) expect((await share(team.creator, made, step)).status).toBe(200)
    expect((await unshare(team.creator, made)).body.visibility).toBe(restored)
    expect((await get(team.viewer, made.id)).status).toBe(restored === 'private' ? 404 : 200)
  })

  test('refuse to move the project to another team, and name both alternatives', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const made = await create(team.admin)
    const refused = await share(team.admin, made, { organizationId: other.id })
    await expectRefusal(t, refused, 422, 'invalid')
    expect(refused.body).toMatchObject({
      errors: [{ pointer: '/organizationId' }],
      next: [{ route: 'POST /api/workspaces/:id/invites' }, { route: `PATCH /api/projects/${made.id}` }],
    })
    expect((await get(team.admin, made.id)).body).toMatchObject({ organizationId: team.id, version: 1 })
  })
})

describe('PATCH /api/projects/:slug', () => {
  test('changes the given fields, and moves the project in the same change', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const made = await create(team.admin, { name: 'Before', visibility: 'private' })
    const path = `/api/projects/${made.id}`
    expect((await team.admin.fetch<Project>('PATCH', path, { description: 'x' })).body.description).toBe('x')
    const body = { name: 'After', organizationId: other.id }
    await expectRefusal(t, await team.admin.fetch('PATCH', path, body, { 'if-match': '"1"' }), 412, 'version_mismatch')
    const moved = await team.admin.fetch<Project>('PATCH', path, body, { 'if-match': '"2"' })
    expect(moved.body).toMatchObject({
      name: 'After',
      slug: 'after',
      organizationId: other.id,
      visibility: 'private',
      description: 'x',
    })
    expect((await get(other.viewer, made.id)).status).toBe(404)
    expect((await team.admin.fetch<Project>('PATCH', path, { organizationId: other.id })).body.version).toBe(
      moved.body.version,
    )
  })

  test('moves the project to another team with its notes, where it gets a free slug and key', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    await create(other.creator, { name: 'Mover' })
    const made = await create(team.creator, { name: 'Mover' })
    const note = await addNote(team.creator, made.id)
    const gone = await addNote(team.creator, made.id)
    await team.creator.fetch('DELETE', `/api/notes/${gone.id}`)
    // Not by the member who made it: it takes everybody's work along.
    const path = `/api/projects/${made.id}`
    await expectRefusal(t, await team.creator.fetch('PATCH', path, { organizationId: other.id }), 403, 'forbidden')
    const moved = await team.admin.fetch<Project>('PATCH', path, { organizationId: other.id })
    expect(moved.body).toMatchObject({
      id: made.id,
      organizationId: other.id,
      slug: 'mover-2',
      key: 'MOVA',
      visibility: 'team',
      version: 2,
    })
    expect(await expectEvent(t, moved, 'project.shared')).toMatchObject({
      organizationId: other.id,
      data: { from: team.id },
    })
    expect((await get(team.viewer, 'mover')).status).toBe(404)
    expect((await get(other.viewer, 'mover-2')).body).toMatchObject({
      id: made.id,
      stats: { notes: 1, tasks: 0, tasksDone: 0 },
    })
    expect((await other.viewer.fetch<Note>('GET', `/api/notes/${note.id}`)).body).toMatchObject({
      organizationId: other.id,
      projectId: made.id,
    })
    expect(ids((await team.viewer.fetch<NotePage>('GET', '/api/notes')).body)).toEqual([])
    expect(ids((await other.viewer.fetch<NotePage>('GET', '/api/notes')).body)).toEqual([note.id])
    // The name is free again where it was.
    expect((await create(team.creator, { name: 'Mover' })).slug).toBe('mover')
  })

  test('needs the role of a member in the new team, and returns 404 for a team that the caller is not in', async () => {
    const team = await newTeam()
    const made = await create(team.creator)
    const path = `/api/projects/${made.id}`
    const other = await newTeam()
    await people.owner.fetch('PATCH', `/api/teams/${other.id}/members/${people.admin.userId}`, { role: 'viewer' })
    await expectRefusal(t, await team.admin.fetch('PATCH', path, { organizationId: other.id }), 403, 'forbidden')
    for (const organizationId of [people.stranger.organizationId, Bun.randomUUIDv7()])
      await expectRefusal(t, await team.creator.fetch('PATCH', path, { organizationId }), 404, 'not_found')
    expect((await get(team.creator, made.id)).body.organizationId).toBe(team.id)
  })

  test('finds a slug for each of twenty projects that move to one team at once', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const made: Project[] = []
    for (let i = 0; i < 20; i++) made.push(await create(team.creator, { name: 'Flock' }))
    const answers = await Promise.all(
      made.map(({ id }) => team.admin.fetch<Project>('PATCH', `/api/projects/${id}`, { organizationId: other.id })),
    )
    expect(statuses(answers)).toEqual(times(20, () => 200))
    expect(new Set(answers.map((a) => a.body.slug)).size).toBe(20)
  })
})

describe('deleting a project', () => {
  test('hides it with its notes and frees slug and key', async () => {
    const team = await newTeam()
    const made = await create(team.creator, { name: 'Ephemeral', visibility: 'public' })
    const other = await create(team.creator)
    const inside = await addNote(team.member, made.id, { scope: 'public' })
    const outside = await addNote(team.member, other.id)
    const handle = await handleOf(people.creator)

    const gone = await team.creator.fetch('DELETE', `/api/projects/${made.slug}`)
    expect(gone.body).toEqual({ id: made.id, deleted: true })
    expect(await expectEvent(t, gone, 'project.deleted')).toMatchObject({
      subjectId: made.id,
      projectId: made.id,
      organizationId: team.id,
      data: { version: 2 },
    })

    for (const ref of [made.id, made.slug, made.key]) expect((await get(team.owner, ref)).status).toBe(404)
    expect((await team.owner.fetch('GET', `/api/notes/${inside.id}`)).status).toBe(404)
    expect((await call(t, 'GET', `/api/notes/public/${inside.slug}`)).status).toBe(404)
    expect((await call(t, 'GET', `/api/public/projects/${handle}/${made.slug}`)).status).toBe(404)
    expect((await team.owner.fetch('GET', `/api/notes/${outside.id}`)).status).toBe(200)
    expect(ids(await list(team.owner))).toEqual([other.id])
    await expectRefusal(t, await team.creator.fetch('DELETE', `/api/projects/${made.id}`), 404, 'not_found')
    expect(await create(team.creator, { name: 'Ephemeral' })).toMatchObject({ slug: 'ephemeral', key: made.key })

    // Soft: the rows are there, both with the time of the deletion.
    const [project] = await t.app.db.select().from(projectTable).where(eq(projectTable.id, made.id))
    const [note] = await t.app.db.select().from(noteTable).where(eq(noteTable.id, inside.id))
    expect(project).toMatchObject({ slug: 'ephemeral', version: 2, deletedAt: note?.deletedAt as string })
    expect(note).toMatchObject({ version: 2, title: inside.title })
  })
})

describe('the public view of a project', () => {
  test('shows a public project to anyone by its creator’s handle, with public fields only', async () => {
    const team = await newTeam()
    const made = await create(team.creator, {
      name: 'Open work',
      description: 'See',
      visibility: 'public',
      settings: { secret: 'plan' },
    })
    await addNote(team.member, made.id)
    const handle = await handleOf(people.creator)
    const seen = await call<PublicProject>(t, 'GET', `/api/public/projects/${handle.toUpperCase()}/${made.slug}`)
    expect(seen.status).toBe(200)
    expect(seen.body).toEqual({
      id: made.id,
      name: 'Open work',
      slug: made.slug,
      description: 'See',
      owner: { handle, name: 'Alan' },
      archived: false,
      stats: { notes: 1, tasks: 0, tasksDone: 0 },
      updatedAt: made.updatedAt,
    })
    await expectNoEvents(t, seen)
    await team.creator.fetch('POST', `/api/projects/${made.id}/archive`)
    expect((await call<PublicProject>(t, 'GET', `/api/public/projects/${handle}/${made.slug}`)).body.archived).toBe(
      true,
    )
    // By its creator, not by others of the team.
    expect((await call(t, 'GET', `/api/public/projects/${await handleOf(people.owner)}/${made.slug}`)).status).toBe(404)
    await team.creator.fetch('DELETE', `/api/projects/${made.id}/share`)
    expect((await call(t, 'GET', `/api/public/projects/${handle}/${made.slug}`)).status).toBe(404)
  })

  test('does not exist for other projects, even for people who can see them', async () => {
    const team = await newTeam()
    const handle = await handleOf(people.creator)
    for (const visibility of ['private', 'team'] as const) {
      const { slug } = await create(team.creator, { visibility })
      expect((await call(t, 'GET', `/api/public/projects/${handle}/${slug}`)).status).toBe(404)
      expect((await team.creator.fetch('GET', `/api/public/projects/${handle}/${slug}`)).status).toBe(404)
    }
  })

  test('belongs to the older of two projects with the same slug in two organizations', async () => {
    const name = unique('twice')
    const made: Project[] = []
    for (let i = 0; i < 2; i++) made.push(await create((await newTeam()).creator, { name, visibility: 'public' }))
    const [older, newer] = made as [Project, Project]
    expect(newer.slug).toBe(older.slug)
    const path = `/api/public/projects/${await handleOf(people.creator)}/${older.slug}`
    expect((await call(t, 'GET', path)).body).toMatchObject({ id: older.id })
    await inside(people.creator, newer.organizationId).fetch('PUT', `/api/projects/${older.id}`, {
      description: 'touched',
    })
    expect((await call(t, 'GET', path)).body).toMatchObject({ id: older.id })
  })
})

describe('numbers and recent activity of a project', () => {
  test('count its records, and name who did what, last first', async () => {
    const team = await newTeam()
    const made = await create(team.creator)
    const first = await addNote(team.creator, made.id, { title: 'First' })
    await addNote(team.member, made.id, { title: 'Second' })
    await team.admin.fetch('PUT', `/api/notes/${first.id}`, { content: 'changed' })
    await team.admin.fetch('DELETE', `/api/notes/${first.id}`)
    const { body } = await get(team.viewer, made.id)
    expect(body.stats).toMatchObject({ notes: 1, tasks: 0, tasksDone: 0 })
    expect(body.recentActivity?.map((a) => [a.type, a.actor.name, a.data.title ?? a.data.name])).toEqual([
      ['note.deleted', 'Grace', 'First'],
      ['note.updated', 'Grace', 'First'],
      ['note.created', 'Edsger', 'Second'],
      ['note.created', 'Alan', 'First'],
      ['project.created', 'Alan', made.name],
    ])
    for (const entry of body.recentActivity ?? [])
      expect(Object.keys(entry).sort()).toEqual(['actor', 'at', 'data', 'description', 'id', 'type'])
  })

  test('contain the last ten entries', async () => {
    const team = await newTeam()
    const made = await create(team.creator)
    for (let i = 1; i <= 12; i++) await addNote(team.member, made.id, { title: `Note ${i}` })
    const { body } = await get(team.viewer, made.id)
    expect(body.recentActivity?.map((a) => a.data.title)).toEqual(times(10, (i) => `Note ${12 - i}`))
    expect(body.stats.notes).toBe(12)
  })

  test('leave out personal records and other projects', async () => {
    const team = await newTeam()
    const made = await create(team.creator)
    const hidden = await create(team.creator, { visibility: 'private' })
    const moving = await addNote(team.creator, made.id, { title: 'Draft' })
    await team.creator.fetch('POST', '/api/notes', { title: 'Dear diary' })
    await team.creator.fetch('POST', '/api/notes', { title: 'For all', scope: 'team' })
    await addNote(team.creator, hidden.id, { title: 'Plot' })
    // What leaves the project takes its new name with it.
    await team.creator.fetch('PUT', `/api/notes/${moving.id}`, { title: 'Plot, continued', projectId: hidden.id })
    await team.creator.fetch('PUT', `/api/notes/${moving.id}`, {
      title: 'Dear diary, again',
      projectId: null,
      scope: 'personal',
    })
    for (const who of [team.viewer, team.member, team.owner]) {
      const { body } = await get(who, made.id)
      expect(body.recentActivity?.map((a) => [a.type, a.data.title ?? a.data.name])).toEqual([
        ['note.created', 'Draft'],
        ['project.created', made.name],
      ])
      expect(body.stats.notes).toBe(0)
    }
  })
})

test('every table with rows of a project is moved and deleted with it', async () => {
  const { rows } = await t.app.driver.query(
    `select table_name from information_schema.columns where table_schema = current_schema() and column_name = 'project_id' order by 1`,
  )
  // Events and their sums are history and stay where they happened; the default of a token or a permission is ignored
  // when it is gone.
  // Triggers keep the numbers of tasks, which name nothing but their project.
  const exempt = ['event_days', 'events', 'mcp_tokens', 'oauth_grants', 'task_counts', 'task_days']
  expect(rows.flat().filter((name) => !exempt.includes(name as string))).toEqual(
    // Chats, passages, sessions and views only carry the team's id: their features handle `projectMoved`.
    [
      ...t.app.records.inProjects.map((table) => getTableName(table)),
      'ai_sessions',
      'passages',
      'sessions',
      'views',
    ].sort(),
  )
})

describe('GET /api/projects', () => {
  test('lists the projects of all teams of the caller, or of the given one', async () => {
    const owner = await person(t)
    const guest = await member(t, owner, 'member')
    const { items: teams } = (await guest.fetch<{ items: { id: string }[] }>('GET', '/api/teams')).body
    const own = String(teams.find(({ id }) => id !== owner.organizationId)?.id)
    const as = (headers: Record<string, string> = {}) => ({ authorization: `Bearer ${guest.token}`, ...headers })
    const inOwn = { 'x-organization-id': own }
    await owner.fetch('POST', '/api/projects', { name: 'Theirs' })
    await call(t, 'POST', '/api/projects', { name: 'Mine' }, as(inOwn))
    const names = async (query = '', headers = {}) => {
      const path = `/api/projects?sort=name&order=asc&total=true${query}`
      const { body } = await call<ProjectPage>(t, 'GET', path, undefined, as(headers))
      return [body.total, ...body.items.map(({ name }) => name)]
    }
    expect(await names()).toEqual([2, 'Mine', 'Theirs'])
    expect(await names(`&organizationId=${owner.organizationId}`)).toEqual([1, 'Theirs'])
    expect(await names('', inOwn)).toEqual([1, 'Mine'])
    expect(await names(`&organizationId=${owner.organizationId}`, inOwn)).toEqual([1, 'Theirs'])
    const stranger = await person(t)
    expect(await names(`&organizationId=${stranger.organizationId}`)).toEqual([0])
    const token = await mcpToken(t, guest)
    const { items } = await projects.list(contextOf(t.app, await t.app.auth.authenticate(token)), {})
    expect(items.map(({ name }) => name)).toEqual(['Theirs'])
  })
})
