import { beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Ctx } from '../../src/action.ts'
import { tools } from '../../src/all-features.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Note, NoteCreate, NoteDetail, NotePage, PublicNote } from '../../src/features/notes/schema.ts'
import { notes as noteTable } from '../../src/features/notes/table.ts'
import type { Project, ProjectCreate } from '../../src/features/projects/schema.ts'
import {
  call,
  mcpToken,
  type Person,
  person,
  sharedApp,
  systemCtx,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'
import {
  ctxOf,
  expectEvent,
  expectNoEvents,
  expectRefusal,
  failure,
  ids,
  inside,
  TestClock,
  times,
  watch,
} from './support.ts'
import { newPeople, type People, teamOf } from './team-support.ts'

let t: TestApp
let people: People<'author'>
beforeAll(async () => {
  t = watch(await sharedApp())
  people = await newPeople(t, 'author')
})

const newTeam = () => teamOf(t, people)

const write = async (who: Person, input: Partial<NoteCreate> = {}): Promise<Note> => {
  const made = await who.fetch<Note>('POST', '/api/notes', {
    title: unique('note'),
    ...(!input.projectId && { scope: 'personal' as const }),
    ...input,
  })
  expect(made.status).toBe(201)
  return made.body
}
const project = async (who: Person, input: Partial<ProjectCreate> = {}) =>
  (await who.fetch<Project>('POST', '/api/projects', { name: unique('project'), ...input })).body
const get = (who: Person, id: string) => who.fetch<Note>('GET', `/api/notes/${id}`)
const put = (who: Person, id: string, patch: object, headers = {}) =>
  who.fetch<Note>('PUT', `/api/notes/${id}`, patch, headers)
const list = async (who: Person, query = '') => (await who.fetch<NotePage>('GET', `/api/notes${query}`)).body
const visit = (slug: string) => call<PublicNote>(t, 'GET', `/api/notes/public/${slug}`)
const run = (name: string, ctx: Ctx, input: object) => {
  const tool = tools.find((candidate) => candidate.name === name)
  if (!tool) throw new Error(`no tool ${name}`)
  return tool.run(ctx, input as never).then(({ shown }) => shown)
}
const detail = (ctx: Ctx, note: string) => run('get_note', ctx, { note }) as Promise<NoteDetail>

describe('creating a note', () => {
  test('puts it into the current team by default; a personal one belongs to its author alone', async () => {
    const made = await people.author.fetch<Note>('POST', '/api/notes', { title: '  How we deploy! ' })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/notes/${made.body.id}`)
    expect(made.body).toEqual({
      id: made.body.id,
      createdAt: made.body.createdAt,
      updatedAt: made.body.createdAt,
      version: 1,
      organizationId: people.author.organizationId,
      createdById: people.author.userId,
      projectId: null,
      title: 'How we deploy!',
      slug: made.body.slug,
      content: '',
      tags: [],
      links: [],
      scope: 'team',
      pinned: false,
    })
    expect(made.body.slug).toMatch(/^how-we-deploy-[a-z0-9]{10}$/)
    expect(await expectEvent(t, made, 'note.created')).toMatchObject({
      subjectId: made.body.id,
      organizationId: people.author.organizationId,
      projectId: null,
      userId: null,
      data: { title: 'How we deploy!', version: 1 },
    })
    const own = await people.author.fetch<Note>('POST', '/api/notes', { title: 'Mine', scope: 'personal' })
    expect(own.body).toMatchObject({ scope: 'personal', organizationId: null })
    expect(await expectEvent(t, own, 'note.created')).toMatchObject({
      organizationId: null,
      userId: people.author.userId,
    })
  })

  test('in a project makes it the team’s, and returns every field that was sent', async () => {
    const team = await newTeam()
    const { id: projectId } = await project(team.author)
    const links = [
      { url: 'https://example.com/a', title: 'A' },
      { url: 'http://example.com' },
      { type: 'task', id: Bun.randomUUIDv7(), kind: 'relates' },
    ]
    const input = {
      title: 'Runbook',
      content: '# Run\n\n"quotes", \\backslashes\\, emoji 🎼',
      tags: ['ops', 'a,b', '{x}', 'quo"te', 'ünï'],
      links,
      projectId,
      pinned: true,
    }
    const made = await team.member.fetch<Note>('POST', '/api/notes', input)
    expect(made.body).toMatchObject({
      ...input,
      scope: 'team',
      organizationId: team.id,
      createdById: people.member.userId,
    })
    expect(await expectEvent(t, made, 'note.created')).toMatchObject({
      organizationId: team.id,
      projectId,
      userId: null,
    })
    expect((await get(team.viewer, made.body.id)).body).toMatchObject(made.body)
  })

  test('accepts titles that exist', async () => {
    const [a, b] = [await write(people.author, { title: 'Same' }), await write(people.author, { title: 'Same' })]
    expect(a.slug).not.toBe(b.slug)
  })

  test.each([
    ['with an empty title', { title: ' ' }],
    ['with 51 tags', { title: 'x', tags: times(51, (i) => `t${i}`) }],
    ['with a tag of 51 characters', { title: 'x', tags: ['x'.repeat(51)] }],
    ['with an empty tag', { title: 'x', tags: [''] }],
    ['with the same tag twice', { title: 'x', tags: ['a', 'a'] }],
    ['with a link that runs script', { title: 'x', links: [{ url: 'javascript:alert(1)' }] }],
    ['with a link without an address', { title: 'x', links: [{ title: 'y' }] }],
    ['with 101 links', { title: 'x', links: times(101, () => ({ url: 'https://example.com' })) }],
  ])('is refused %s', async (_, body) => {
    await expectRefusal(t, await people.author.fetch('POST', '/api/notes', body), 422, 'invalid')
  })

  test('accepts content of 256 KiB, counted in bytes, as changing it does', async () => {
    const limit = 256 << 10
    const long = [
      ['a'.repeat(limit + 1), 'a'.repeat(limit)],
      ['é'.repeat(limit / 2 + 1), 'é'.repeat(limit / 2)],
      ['🎼'.repeat(limit / 4 + 1), '🎼'.repeat(limit / 4)],
    ] as const
    const made = await write(people.author)
    for (const [over, full] of long) {
      const refused = await expectRefusal(
        t,
        await people.author.fetch('POST', '/api/notes', { title: 'x', content: over }),
        422,
        'invalid',
      )
      expect(refused.errors).toMatchObject([{ pointer: '/content', code: 'too_long' }])
      await expectRefusal(t, await put(people.author, made.id, { content: over }), 422, 'invalid')
      expect((await write(people.author, { content: full })).content).toBe(full)
      expect((await put(people.author, made.id, { content: full })).body.content).toBe(full)
    }
  })

  test('indexes words of every shape and any number', async () => {
    const words = times(20_000, (i) => `w${i}-x${i}.example.com/p${i}`).join(' ')
    const made = await write(people.author, { content: words.slice(0, 256 << 10) })
    expect(ids(await list(people.author, `?search=${encodeURIComponent('w17-x17.example.com')}`))).toContain(made.id)
  })

  // Postgres' own text parser takes time that grows with the square of such a text: 12 KB of './' take it seconds.
  test.each(['./', '/~', '_a', 'a1@', '<!--', '&a;', 'a-'])(
    'with text that is hard to parse (%s …) does not block the database',
    async (part) => {
      const ada = await person(t)
      const hard = part.repeat(200_000 / part.length)
      // Postgres' own parser takes minutes for some of these, so the statement's time limit answers 503 where they reach it.
      expect((await ada.fetch('POST', '/api/notes', { title: 'Hard', content: hard })).status).toBe(201)
      expect(
        (await ada.fetch('GET', `/api/notes?search=${encodeURIComponent(part.repeat(200 / part.length))}`)).status,
      ).toBe(200)
    },
  )
})

describe('access to a note', () => {
  const everybody = ['owner', 'admin', 'author', 'member', 'viewer', 'stranger'] as const
  type Team = Awaited<ReturnType<typeof newTeam>>
  const kinds = [
    'personal',
    'team',
    'public',
    'in a private project',
    'in a team project',
    'public in a private project',
  ] as const
  const one = async (team: Team, kind: (typeof kinds)[number]): Promise<Note> => {
    if (kind === 'personal' || kind === 'team' || kind === 'public') return write(team.author, { scope: kind })
    const visibility = kind === 'in a team project' ? 'team' : 'private'
    const { id: projectId } = await project(team.author, { visibility })
    return write(team.author, { projectId, ...(kind.startsWith('public') && { scope: 'public' }) })
  }

  const seen: Record<(typeof kinds)[number], readonly (typeof everybody)[number][]> = {
    personal: ['author'],
    team: ['owner', 'admin', 'author', 'member', 'viewer'],
    public: ['owner', 'admin', 'author', 'member', 'viewer'],
    'in a private project': ['owner', 'admin', 'author'],
    'in a team project': ['owner', 'admin', 'author', 'member', 'viewer'],
    'public in a private project': ['owner', 'admin', 'author'],
  }

  test.each(kinds.map((kind) => [kind] as const))('%s: follows the roles of the reader', async (kind) => {
    const team = await newTeam()
    const note = await one(team, kind)
    for (const who of everybody) {
      const sees = seen[kind].includes(who)
      expect({ who, status: (await get(team[who], note.id)).status }).toEqual({ who, status: sees ? 200 : 404 })
      expect({ who, listed: ids(await list(team[who], '?limit=200')).includes(note.id) }).toEqual({ who, listed: sees })
      // A viewer lacks the role whatever the note is.
      const mayWrite = who === 'viewer' ? 403 : sees ? 200 : 404
      expect({ who, status: (await put(team[who], note.id, { pinned: true })).status }).toEqual({
        who,
        status: mayWrite,
      })
      if (mayWrite === 200) continue
      const refused = await team[who].fetch('DELETE', `/api/notes/${note.id}`)
      await expectRefusal(t, refused, mayWrite, mayWrite === 403 ? 'forbidden' : 'not_found')
    }
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect(
        (await call(t, method, `/api/notes/${note.id}`, method === 'PUT' ? { pinned: true } : undefined)).status,
      ).toBe(401)
    for (const who of everybody.filter((w) => seen[kind].includes(w) && w !== 'viewer')) {
      const victim = kind === 'personal' ? note : await one(team, kind)
      expect((await team[who].fetch('DELETE', `/api/notes/${victim.id}`)).status).toBe(200)
    }
  })

  test('puts personal notes and those of the current team into the list', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const me = await person(t)
    await addMember(systemCtx(t), { id: team.id, userId: me.userId, role: 'member' })
    await addMember(systemCtx(t), { id: other.id, userId: me.userId, role: 'member' })
    const [mine, here, there] = [
      await write(me),
      await write(team.author, { scope: 'team' }),
      await write(other.author, { scope: 'team' }),
    ]
    expect(ids(await list(inside(me, team.id), '?total=true'))).toEqual(ids({ items: [mine, here] }))
    expect((await list(inside(me, team.id), '?total=true')).total).toBe(2)
    expect(ids(await list(inside(me, other.id)))).toEqual(ids({ items: [mine, there] }))
    expect(ids(await list(me))).toEqual([mine.id])
    // By id, wherever the caller stands.
    expect((await get(inside(me, team.id), there.id)).status).toBe(200)
  })
})

describe('finding notes', () => {
  test('filters by tag, project, scope, pin and words; lists contain no bodies', async () => {
    const me = await person(t)
    const { id: projectId } = await project(me)
    const a = await write(me, { title: 'Alpha', tags: ['ops', 'red'], content: 'the quick brown fox', scope: 'team' })
    const b = await write(me, { title: 'Beta', tags: ['ops'], content: 'lazy dogs', projectId })
    const c = await write(me, { title: 'Gamma quick', tags: ['a,b', 'x"y'], content: 'nothing' })
    const found = async (query: string) => (await list(me, query)).items.map((n) => n.title).sort()
    expect(await found('')).toEqual(['Alpha', 'Beta', 'Gamma quick'])
    expect(await found('?tag=ops')).toEqual(['Alpha', 'Beta'])
    expect(await found('?tag=red')).toEqual(['Alpha'])
    expect(await found('?tag=op')).toEqual([])
    expect(await found(`?tag=${encodeURIComponent('a,b')}`)).toEqual(['Gamma quick'])
    expect(await found(`?tag=${encodeURIComponent('x"y')}`)).toEqual(['Gamma quick'])
    expect(await found(`?projectId=${projectId}`)).toEqual(['Beta'])
    expect((await list(me, `?projectId=${projectId}&total=true`)).total).toBe(1)
    expect(await found('?scope=personal')).toEqual(['Gamma quick'])
    expect(await found('?scope=team')).toEqual(['Alpha', 'Beta'])
    await me.fetch('PUT', `/api/notes/${a.id}`, { pinned: true })
    expect(await found('?pinned=true')).toEqual(['Alpha'])
    expect(await found('?pinned=false&tag=ops')).toEqual(['Beta'])
    expect(await found('?search=QUICK')).toEqual(['Alpha', 'Gamma quick'])
    expect(await found('?search=quick%20fox')).toEqual(['Alpha'])
    expect(await found('?search=quick%20-fox')).toEqual(['Gamma quick'])
    expect(await found('?search=%22brown%20fox%22')).toEqual(['Alpha'])
    expect(await found('?search=quick&tag=red&scope=team')).toEqual(['Alpha'])
    for (const odd of ['"', "'", '&|!', ':*', '\\', '(('])
      expect((await me.fetch('GET', `/api/notes?search=${encodeURIComponent(odd)}`)).status).toBe(200)
    const [first] = (await list(me, '?sort=title&order=asc')).items
    expect(Object.keys(first as object).sort()).toEqual(
      [
        'createdAt',
        'createdById',
        'id',
        'organizationId',
        'pinned',
        'projectId',
        'scope',
        'slug',
        'tags',
        'title',
        'updatedAt',
        'version',
      ].sort(),
    )
    expect([a, b, c].map((n) => n.version)).toEqual([1, 1, 1])
  })

  test('matches changed text and no longer the old', async () => {
    const me = await person(t)
    const note = await write(me, { content: 'aardvark' })
    expect(ids(await list(me, '?search=aardvark'))).toEqual([note.id])
    await put(me, note.id, { content: 'zebra' })
    expect(ids(await list(me, '?search=aardvark'))).toEqual([])
    expect(ids(await list(me, '?search=zebra'))).toEqual([note.id])
  })

  test('by the time of the last change includes since and excludes until', async () => {
    const clock = new TestClock()
    const own = await testApp({ background: 'off' }, clock.now)
    const me = await person(own)
    const made: Note[] = []
    for (let i = 0; i < 3; i++) {
      made.push(await write(me))
      clock.forward({ minutes: 5 })
    }
    const [a, b, c] = made as [Note, Note, Note]
    expect([a, b, c].map((n) => n.updatedAt)).toEqual([
      '2026-11-15T09:30:00.000Z',
      '2026-11-15T09:35:00.000Z',
      '2026-11-15T09:40:00.000Z',
    ])
    const between = async (query: string) =>
      (await list(me, `?sort=createdAt&order=asc&${query}`)).items.map((n) => n.id)
    expect(await between('since=2026-11-15T09:35:00Z')).toEqual([b.id, c.id])
    expect(await between('since=2026-11-15T09:35:00.001Z')).toEqual([c.id])
    expect(await between('until=2026-11-15T09:35:00Z')).toEqual([a.id])
    expect(await between('until=2026-11-15T09:35:00.001Z')).toEqual([a.id, b.id])
    expect(await between('since=2026-11-15T09:35:00Z&until=2026-11-15T09:40:00Z')).toEqual([b.id])
    expect(await between('since=2026-11-15T11:35:00%2B02:00')).toEqual([b.id, c.id])
    await put(me, a.id, { pinned: true })
    expect(await between('since=2026-11-15T09:45:00Z')).toEqual([a.id])
    for (const bad of ['yesterday', '2026-11-31', '2026-13-01T00:00:00Z'])
      expect((await me.fetch('GET', `/api/notes?since=${bad}`)).status).toBe(422)
    await own.close()
  })

  test('returns stable pages while others write', async () => {
    const me = await person(t)
    const made: Note[] = []
    for (let i = 0; i < 5; i++) made.push(await write(me, { title: `Note ${i}` }))
    const first = await list(me, '?sort=title&order=asc&limit=2')
    expect(first.items.map((n) => n.title)).toEqual(['Note 0', 'Note 1'])
    await write(me, { title: 'A new first' })
    await me.fetch('DELETE', `/api/notes/${made[1]?.id}`)
    const second = await list(me, `?sort=title&order=asc&limit=2&cursor=${first.nextCursor}`)
    expect(second.items.map((n) => n.title)).toEqual(['Note 2', 'Note 3'])
    expect(
      (await list(me, `?sort=title&order=asc&limit=2&cursor=${second.nextCursor}`)).items.map((n) => n.title),
    ).toEqual(['Note 4'])
  })

  test('with tools also works by a slug or the beginning of an id', async () => {
    const me = await person(t)
    const ctx = await ctxOf(t, await mcpToken(t, me))
    const note = await write(me, { title: 'Named', scope: 'team' })
    for (const ref of [note.id, note.id.toUpperCase(), note.slug, note.slug.toUpperCase(), note.id.slice(0, -2)])
      expect([ref, (await detail(ctx, ref)).id]).toEqual([ref, note.id])
    for (const ref of ['Named', note.id.slice(0, 7), Bun.randomUUIDv7()])
      expect(await failure(detail(ctx, ref))).toMatchObject({ code: 'not_found' })
  })
})

describe('wiki links', () => {
  test('list the notes that name a note, as far as the caller can see them', async () => {
    const team = await newTeam()
    const { id: secret } = await project(team.author, { visibility: 'private' })
    const target = await write(team.author, { title: 'Error budget', scope: 'team' })
    const open = await write(team.author, {
      title: 'Deploy',
      content: 'First [[Error budget]], then [[ERROR BUDGET ]] again.',
      scope: 'team',
    })
    const hidden = await write(team.author, { title: 'Plot', content: '[[error budget]]', projectId: secret })
    const diary = await write(team.author, { title: 'Diary', content: 'I fear the [[Error budget]]' })
    await write(team.author, {
      title: 'Not one',
      content: '[Error budget] [[Error]] Error budget [[Error\nbudget]]',
      scope: 'team',
    })
    const names = async (ctx: Ctx) => (await detail(ctx, target.id)).backlinks.map((b) => b.title)
    expect(await names(await people.author.ctx())).toEqual(['Deploy', 'Diary', 'Plot'])
    expect(await names(await people.admin.ctx())).toEqual(['Deploy', 'Plot'])
    expect(await names(await people.viewer.ctx())).toEqual(['Deploy'])
    // A token is bound to the organization and sees nobody's diary.
    expect(await names(await ctxOf(t, await mcpToken(t, team.author)))).toEqual(['Deploy', 'Plot'])
    expect((await detail(await people.viewer.ctx(), target.id)).backlinks).toEqual([
      { id: open.id, title: 'Deploy', slug: open.slug },
    ])
    expect([hidden.id, diary.id]).not.toContain(open.id)
  })

  test('follow changes of text and title, and end with deletion', async () => {
    const me = await person(t)
    const ctx = await me.ctx()
    const target = await write(me, { title: 'Goal' })
    const from = await write(me, { title: 'Way', content: '[[Goal]] and myself, the [[Way]]' })
    const names = async (id: string) => (await detail(ctx, id)).backlinks.map((b) => b.title)
    expect(await names(target.id)).toEqual(['Way'])
    // Not from itself to itself.
    expect(await names(from.id)).toEqual([])
    await put(me, target.id, { title: 'Aim' })
    expect(await names(target.id)).toEqual([])
    await put(me, from.id, { content: '[[aim]]' })
    expect(await names(target.id)).toEqual(['Way'])
    await put(me, target.id, { title: ' Aim ' })
    expect(await names(target.id)).toEqual(['Way'])
    await me.fetch('DELETE', `/api/notes/${from.id}`)
    expect(await names(target.id)).toEqual([])
  })
})

describe('changing a note', () => {
  test('changes only the given fields', async () => {
    const team = await newTeam()
    const made = await write(team.author, {
      scope: 'team',
      content: 'old',
      tags: ['a'],
      links: [{ url: 'https://example.com' }],
    })
    const changed = await put(team.member, made.id, { content: 'new', pinned: true })
    expect(changed.body).toEqual({
      ...made,
      content: 'new',
      pinned: true,
      version: 2,
      updatedAt: changed.body.updatedAt,
    })
    expect(await expectEvent(t, changed, 'note.updated')).toMatchObject({
      subjectId: made.id,
      organizationId: team.id,
      actor: { id: people.member.userId },
      data: { fields: ['content', 'pinned'], version: 2, title: made.title },
    })
    const cleared = await put(team.member, made.id, { tags: [], links: [], content: '' })
    expect(cleared.body).toMatchObject({
      tags: [],
      links: [],
      content: '',
      title: made.title,
      slug: made.slug,
      createdById: people.author.userId,
    })
    for (const patch of [
      { title: null },
      { slug: 'x' },
      { createdById: people.member.userId },
      { organizationId: people.member.organizationId },
      { version: 9 },
    ])
      await expectRefusal(t, await put(team.member, made.id, patch), 422, 'invalid')
  })

  test('without a version loses no change of twenty editors silently', async () => {
    const team = await newTeam()
    const made = await write(team.author, { scope: 'team' })
    const answers = await Promise.all(times(20, (i) => put(team.member, made.id, { content: `by ${i}` })))
    const won = answers.filter((a) => a.status === 200).map((a) => a.body.version)
    expect(new Set(answers.map((a) => a.status)).isSubsetOf(new Set([200, 412]))).toBe(true)
    expect(won.toSorted((a, b) => a - b)).toEqual(times(won.length, (i) => i + 2))
    expect((await get(team.viewer, made.id)).body.version).toBe(won.length + 1)
  })

  test('while someone deletes it succeeds for one of the two', async () => {
    const team = await newTeam()
    for (let i = 0; i < 10; i++) {
      const { id } = await write(team.author, { scope: 'team' })
      const match = { 'if-match': '"1"' }
      const [edited, deleted] = await Promise.all([
        put(team.member, id, { content: 'x' }, match),
        team.author.fetch('DELETE', `/api/notes/${id}`, undefined, match),
      ])
      const outcome = `${edited.status} ${deleted.status}`
      expect(['200 412', '404 200', '412 200']).toContain(outcome)
      expect((await get(team.viewer, id)).status).toBe(deleted.status === 200 ? 404 : 200)
    }
  })

  test('moves it between scopes and projects', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const [here, there] = [await project(team.author), await project(other.author)]
    const note = await write(team.author)
    const place = (n: Note) => ({ scope: n.scope, organizationId: n.organizationId, projectId: n.projectId })

    const shared = await put(team.author, note.id, { scope: 'team' })
    expect(place(shared.body)).toEqual({ scope: 'team', organizationId: team.id, projectId: null })
    expect(await expectEvent(t, shared, 'note.updated')).toMatchObject({ organizationId: team.id, userId: null })
    expect(place((await put(team.author, note.id, { projectId: here.id })).body)).toEqual({
      scope: 'team',
      organizationId: team.id,
      projectId: here.id,
    })
    expect(place((await put(team.author, note.id, { scope: 'public' })).body)).toEqual({
      scope: 'public',
      organizationId: team.id,
      projectId: here.id,
    })
    // A project of another organization takes the note there.
    expect(place((await put(team.author, note.id, { projectId: there.id })).body)).toEqual({
      scope: 'public',
      organizationId: other.id,
      projectId: there.id,
    })
    expect((await get(team.author, note.id)).status).toBe(200)
    expect(ids(await list(team.viewer))).not.toContain(note.id)
    // Out of the project it stays where it is, whatever the current organization.
    expect(place((await put(team.author, note.id, { projectId: null })).body)).toEqual({
      scope: 'public',
      organizationId: other.id,
      projectId: null,
    })
    const back = await put(team.author, note.id, { scope: 'personal' })
    expect(place(back.body)).toEqual({ scope: 'personal', organizationId: null, projectId: null })
    expect(await expectEvent(t, back, 'note.updated')).toMatchObject({
      organizationId: null,
      projectId: null,
      userId: people.author.userId,
    })
    expect((await get(other.owner, note.id)).status).toBe(404)
    expect(back.body.version).toBe(7)
  })

  test('is refused for a personal note in a project, for others’ notes and for unwritable projects', async () => {
    const team = await newTeam()
    const { id: projectId } = await project(team.author)
    const { id: secret } = await project(team.admin, { visibility: 'private' })
    const elsewhere = await project(people.stranger)
    const note = await write(team.author, { projectId })
    const inProject = await expectRefusal(t, await put(team.author, note.id, { scope: 'personal' }), 422, 'invalid')
    expect(inProject.errors).toMatchObject([{ pointer: '/scope' }])
    await expectRefusal(
      t,
      await team.author.fetch('POST', '/api/notes', { title: 'x', projectId, scope: 'personal' }),
      422,
      'invalid',
    )
    await expectRefusal(t, await put(team.member, note.id, { scope: 'personal', projectId: null }), 403, 'forbidden')
    for (const target of [secret, elsewhere.id, Bun.randomUUIDv7()]) {
      await expectRefusal(t, await put(team.author, note.id, { projectId: target }), 404, 'not_found')
      await expectRefusal(
        t,
        await team.author.fetch('POST', '/api/notes', { title: 'x', projectId: target }),
        404,
        'not_found',
      )
    }
    // In the own organization a viewer of the team is an owner, but the note's place counts.
    await expectRefusal(t, await put(people.viewer, note.id, { pinned: true }), 403, 'forbidden')
    await expectRefusal(t, await people.viewer.fetch('POST', '/api/notes', { title: 'x', projectId }), 403, 'forbidden')
    expect((await get(team.viewer, note.id)).body).toMatchObject(note)
  })
})

describe('deleting a note', () => {
  test('hides it everywhere, once, and keeps the row', async () => {
    const team = await newTeam()
    const note = await write(team.author, { scope: 'public', content: 'findable' })
    await expectRefusal(
      t,
      await team.author.fetch('DELETE', `/api/notes/${note.id}`, undefined, { 'if-match': '"7"' }),
      412,
      'version_mismatch',
    )
    const gone = await team.member.fetch('DELETE', `/api/notes/${note.id}`)
    expect(gone.body).toEqual({ id: note.id, deleted: true })
    expect(await expectEvent(t, gone, 'note.deleted')).toMatchObject({
      subjectId: note.id,
      organizationId: team.id,
      data: { title: note.title },
    })
    expect((await get(team.author, note.id)).status).toBe(404)
    expect((await put(team.author, note.id, { title: 'x' })).status).toBe(404)
    expect((await visit(note.slug)).status).toBe(404)
    expect(ids(await list(team.author, '?search=findable'))).toEqual([])
    await expectRefusal(t, await team.author.fetch('DELETE', `/api/notes/${note.id}`), 404, 'not_found')
    const [row] = await t.app.db.select().from(noteTable).where(eq(noteTable.id, note.id))
    expect(row).toMatchObject({ content: 'findable', version: 2, deletedAt: expect.any(String) })
  })
})

describe('the public page of a note', () => {
  test('shows a public note to anyone by its slug, with its public fields only', async () => {
    const team = await newTeam()
    const note = await write(team.author, {
      title: 'Open',
      content: '# Hello',
      tags: ['a'],
      links: [{ url: 'https://internal.example.com' }],
      scope: 'public',
    })
    const seen = await visit(note.slug.toUpperCase())
    expect(seen.status).toBe(200)
    expect(seen.body).toEqual({
      title: 'Open',
      slug: note.slug,
      content: '# Hello',
      tags: ['a'],
      author: { handle: seen.body.author.handle, name: 'Alan' },
      createdAt: note.createdAt,
      updatedAt: note.updatedAt,
    })
    await expectNoEvents(t, seen)
    // Its id is no address.
    expect((await visit(note.id)).status).toBe(404)
  })

  test('disappears when the note is unpublished, and returns when it is published', async () => {
    const team = await newTeam()
    const note = await write(team.author, { scope: 'public' })
    for (const scope of ['team', 'public', 'personal'] as const) {
      await put(team.author, note.id, { scope })
      expect({ scope, status: (await visit(note.slug)).status }).toEqual({
        scope,
        status: scope === 'public' ? 200 : 404,
      })
    }
  })

  test('does not exist for notes that are not public', async () => {
    const team = await newTeam()
    const { id: projectId } = await project(team.author, { visibility: 'public' })
    for (const input of [{ scope: 'personal' }, { scope: 'team' }, { projectId }] as const)
      expect((await visit((await write(team.author, input)).slug)).status).toBe(404)
    expect((await visit('no-such-note')).status).toBe(404)
  })
})

describe('an agent with an MCP token', () => {
  test('writes notes for its organization, in its default project if it has one', async () => {
    const team = await newTeam()
    const place = await project(team.author)
    const plain = await ctxOf(t, await mcpToken(t, team.member))
    const bound = await ctxOf(t, await mcpToken(t, team.member, { projectId: place.id }))
    const made = async (ctx: Ctx, input: object) =>
      detail(ctx, ((await run('create_note', ctx, { title: 'x', ...input })) as Note).slug)
    expect(await made(plain, {})).toMatchObject({
      scope: 'team',
      organizationId: team.id,
      projectId: null,
      createdById: people.member.userId,
    })
    expect(await made(plain, { project: place.slug })).toMatchObject({ scope: 'team', projectId: place.id })
    expect(await made(bound, {})).toMatchObject({
      scope: 'team',
      organizationId: team.id,
      projectId: place.id,
    })
    const { create, update } = await import('../../src/features/notes/service.ts')
    const note = await create(plain, { title: 'x' })
    expect(await failure(create(plain, { title: 'x', scope: 'personal' }))).toMatchObject({ code: 'invalid' })
    expect(await failure(update(plain, { ref: note.id, scope: 'personal' }))).toMatchObject({ code: 'invalid' })
  })
})
