import { beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Note, NotePage } from '../../src/features/notes/schema.ts'
import * as notes from '../../src/features/notes/service.ts'
import type { Organization, OrganizationPage } from '../../src/features/organizations/schema.ts'
import { organizations as organizationTable } from '../../src/features/organizations/table.ts'
import { remove as removeProject } from '../../src/features/projects/deletion.ts'
import { patch } from '../../src/features/projects/moving.ts'
import type { Project, ProjectPage } from '../../src/features/projects/schema.ts'
import * as projects from '../../src/features/projects/service.ts'
import type {
  ApiKeyCreate,
  ApiKeyCreated,
  ApiKeyPage,
  McpTokenCreate,
  McpTokenCreated,
  McpTokenPage,
} from '../../src/features/tokens/schema.ts'
import {
  call,
  logged,
  mcpToken,
  member,
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
  expectEvents,
  expectNoEvents,
  expectRefusal,
  failure,
  ids,
  inside,
  statuses,
  times,
  watch,
} from './support.ts'

let t: TestApp
let ada: Person
let grace: Person
beforeAll(async () => {
  t = watch(await sharedApp())
  ada = await person(t)
  grace = await person(t, { name: 'Grace Hopper' })
})

const createKey = (who: Person, over: Partial<ApiKeyCreate> = {}) =>
  who.fetch<ApiKeyCreated>('POST', '/api/settings/api-keys', { name: 'laptop', ...over })
const createToken = (who: Person, over: Partial<McpTokenCreate> = {}) =>
  who.fetch<McpTokenCreated>('POST', '/api/mcp-tokens', { name: 'agent', organizationId: who.organizationId, ...over })
const using = (secret: string, at = t) =>
  function send<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    return call<T>(at, method, path, body, { authorization: `Bearer ${secret}`, ...headers })
  }
const refused = async (secret: string, at = t) =>
  expect(await failure(at.app.auth.authenticate(secret))).toMatchObject({ code: 'unauthenticated' })
const newTeam = async (owner: Person) =>
  (await owner.fetch<Organization>('POST', '/api/teams', { name: unique('team') })).body
const days = (n: number) => n * 86_400_000

/** Both kinds of secret share a life cycle. */
const kinds = [
  {
    what: 'an API key',
    path: '/api/settings/api-keys',
    event: 'api_key',
    create: (who: Person) => createKey(who),
    shape: /^svc_[0-9A-Za-z]{38}$/,
  },
  {
    what: 'an MCP token',
    path: '/api/mcp-tokens',
    event: 'mcp_token',
    create: (who: Person) => createToken(who),
    shape: /^svc_live_[0-9A-Za-z]{38}$/,
  },
] as const

describe.each(kinds)('$what', ({ path, event, create, shape }) => {
  test('is shown once, listed masked and stored as a hash', async () => {
    const made = await create(ada)
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`${path}/${made.body.id}`)
    const { token, ...record } = made.body
    expect(token).toMatch(shape)
    expect(record).toMatchObject({
      scopes: ['write'],
      last4: token?.slice(-4),
      revokedAt: null,
      lastUsedAt: null,
      version: 1,
    })
    expect(token).toStartWith(record.prefix)
    expect(Date.parse(record.expiresAt) - Date.parse(record.createdAt)).toBe(days(90))

    // A token without an agent gets one.
    const types = event === 'mcp_token' ? ['agent.created', 'mcp_token.created'] : [`${event}.created`]
    const fired = (await expectEvents(t, made, ...types)).at(-1)
    expect(fired).toMatchObject({
      subjectId: record.id,
      userId: ada.userId,
      organizationId: null,
      data: { name: record.name, scopes: ['write'] },
    })
    expect(JSON.stringify(fired)).not.toContain(token as string)

    const listed = await ada.fetch<ApiKeyPage>('GET', path)
    expect(listed.body.items).toContainEqual(record as ApiKeyPage['items'][number])
    expect(JSON.stringify(listed.body)).not.toMatch(/"token"|"hash"/)
    expect(JSON.stringify(listed.body)).not.toContain(token as string)
    const table = event === 'api_key' ? 'api_keys' : 'mcp_tokens'
    const { rows } = await t.app.driver.query(`select row_to_json(r)::text from ${table} r where id = $1`, [record.id])
    expect(rows).toHaveLength(1)
    expect(String(rows[0]?.[0])).not.toContain(token as string)
    expect(logged.join('\n')).not.toContain(token as string)
  })

  test('is listed newest first for its owner only, page by page', async () => {
    const me = await person(t)
    await create(ada)
    const made = [(await create(me)).body.id, (await create(me)).body.id, (await create(me)).body.id]
    const first = await me.fetch<ApiKeyPage>('GET', `${path}?limit=2&total=true`)
    expect(first.body.items.map((k) => k.id)).toEqual([made[2], made[1]] as string[])
    expect(first.body.total).toBe(3)
    const rest = await me.fetch<ApiKeyPage>('GET', `${path}?limit=2&cursor=${first.body.nextCursor}`)
    expect(rest.body).toMatchObject({ items: [{ id: made[0] as string }], nextCursor: null })
  })

  test('ends at once when revoked, by its own user only', async () => {
    const { id, token } = (await create(ada)).body
    const actor = await t.app.auth.authenticate(token as string)
    expect(actor).toMatchObject({ userId: ada.userId, credentialId: id })

    await expectRefusal(t, await grace.fetch('DELETE', `${path}/${id}`), 404, 'not_found')
    await expectRefusal(t, await ada.fetch('DELETE', `${path}/${Bun.randomUUIDv7()}`), 404, 'not_found')
    expect((await t.app.auth.authenticate(token as string)).credentialId).toBe(id)

    const gone = await ada.fetch('DELETE', `${path}/${id}`)
    expect(gone.body).toEqual({ id, deleted: true })
    expect(await expectEvent(t, gone, `${event}.revoked`)).toMatchObject({ subjectId: id, userId: ada.userId })
    await refused(token as string)
    const listed = (await ada.fetch<ApiKeyPage>('GET', path)).body.items.find((k) => k.id === id)
    expect(listed?.revokedAt).toBeString()
    const among = async (active: boolean) =>
      ids((await ada.fetch<ApiKeyPage>('GET', `${path}?active=${active}&limit=200`)).body).includes(id)
    expect([await among(true), await among(false)]).toEqual([false, true])
    const again = await ada.fetch('DELETE', `${path}/${id}`)
    expect(again.status).toBe(200)
    expect((await ada.fetch<ApiKeyPage>('GET', path)).body.items.find((k) => k.id === id)?.revokedAt).toBe(
      listed?.revokedAt as string,
    )
  })

  test('expires', async () => {
    const body = { name: 'short', organizationId: ada.organizationId, expiresInDays: 3 }
    const made = event === 'api_key' ? await createKey(ada, body) : await createToken(ada, body)
    const { token, expiresAt } = made.body
    expect(Date.parse(expiresAt) - Date.parse(made.body.createdAt)).toBe(days(3))
    const later = (ms: number) => testApp({ background: 'off' }, () => new Date(Date.parse(expiresAt) + ms))
    const [before, after] = [await later(-1), await later(0)]
    expect((await before.app.auth.authenticate(token as string)).userId).toBe(ada.userId)
    await refused(token as string, after)
    await Promise.all([before, after].map((app) => app.close()))
  })

  test('created again with the same Idempotency-Key is the same one, without its value', async () => {
    const key = { 'idempotency-key': unique('k') }
    const body = { name: unique('once'), organizationId: ada.organizationId }
    const first = await ada.fetch<ApiKeyCreated>('POST', path, body, key)
    const second = await ada.fetch<ApiKeyCreated>('POST', path, body, key)
    const { token, ...rest } = first.body
    expect(token).toMatch(shape)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body).toEqual(rest as ApiKeyCreated)
    await expectNoEvents(t, second)
    const listed = await ada.fetch<ApiKeyPage>('GET', `${path}?limit=200`)
    expect(listed.body.items.filter((k) => k.name === body.name)).toHaveLength(1)
    await expectRefusal(t, await ada.fetch('POST', path, { ...body, name: 'other' }, key), 409, 'conflict.idempotency')
  })

  test.each([
    ['without a name', { name: undefined }],
    ['for administration', { scopes: ['admin'] }],
    ['with an unknown scope', { scopes: ['notes:delete'] }],
    ['without an end', { expiresInDays: 0 }],
    ['for longer than ten years', { expiresInDays: 3651 }],
    ['with a value of its own', { token: 'svc_mine' }],
    ['for another user', { userId: Bun.randomUUIDv7() }],
  ])('cannot be made %s', async (_, over) => {
    const body = { name: 'x', organizationId: ada.organizationId, ...over }
    await expectRefusal(t, await ada.fetch('POST', path, body), 422, 'invalid')
  })

  test('has its uses recorded', async () => {
    const { id, token } = (await create(ada)).body
    for (let i = 0; i < 3; i++) await t.app.auth.authenticate(token as string, { ip: '192.0.2.7' })
    await t.app.auth.flushUsage()
    const seen = (await ada.fetch<McpTokenPage>('GET', `${path}?limit=200`)).body.items.find((k) => k.id === id)
    expect(seen?.lastUsedAt).toBeString()
    expect(seen?.version).toBe(1)
    if (event === 'mcp_token') expect(seen).toMatchObject({ useCount: 3, lastUsedIp: '192.0.2.7' })
  })
})

describe('scopes of an API key', () => {
  const tries = [
    ['GET', '/api/notes', undefined],
    ['POST', '/api/notes', { title: 'x' }],
    ['GET', '/api/projects', undefined],
    ['POST', '/api/projects', { name: 'x' }],
    ['GET', '/api/auth/me', undefined],
    ['PATCH', '/api/auth/profile', { bio: 'x' }],
  ] as const
  test.each([
    [['write'], [200, 201, 200, 201, 200, 200]],
    [['read'], [200, 403, 200, 403, 200, 403]],
    [['notes:read'], [200, 403, 403, 403, 403, 403]],
    [['notes:write'], [200, 201, 403, 403, 403, 403]],
    [
      ['read', 'notes:write'],
      [200, 201, 200, 403, 200, 403],
    ],
    [
      ['projects:write', 'account:read'],
      [403, 403, 200, 201, 200, 403],
    ],
    [[], [403, 403, 403, 403, 403, 403]],
  ] as [string[], number[]][])('%j decide which calls are accepted', async (scopes, expected) => {
    const send = using((await createKey(ada, { scopes })).body.token as string)
    const got: number[] = []
    for (const [method, path, body] of tries) got.push((await send(method, path, body)).status)
    expect(got).toEqual(expected)
  })

  test('do not extend the role in the organization', async () => {
    const viewer = await member(t, ada, 'viewer')
    const { token } = (await createKey(viewer, { organizationId: ada.organizationId })).body
    const send = using(token as string)
    expect((await send('GET', '/api/projects')).status).toBe(200)
    await expectRefusal(t, await send('POST', '/api/projects', { name: 'x' }), 403, 'forbidden')
  })
})

describe('an API key limited to one organization', () => {
  test('sees only that one, whatever its place among the user’s teams', async () => {
    const me = await person(t)
    const teams: Organization[] = []
    for (let i = 0; i < 3; i++) teams.push(await newTeam(me))
    const last = teams[2] as Organization
    const elsewhere = (await me.fetch<Project>('POST', '/api/projects', { name: 'Elsewhere' })).body
    const here = (await inside(me, last.id).fetch<Project>('POST', '/api/projects', { name: 'Here' })).body
    const made = await createKey(me, { organizationId: last.id })
    expect(made.body.organizationId).toBe(last.id)
    const send = using(made.body.token as string)

    const listed = await send<OrganizationPage>('GET', '/api/teams?limit=1&total=true')
    expect(listed.body).toMatchObject({ items: [{ id: last.id }], nextCursor: null, total: 1 })
    expect((await send<Organization>('GET', '/api/team')).body.id).toBe(last.id)
    expect(ids((await send<ProjectPage>('GET', '/api/projects')).body)).toEqual([here.id])
    for (const path of [
      `/api/teams/${me.organizationId}`,
      `/api/teams/${me.organizationId}/members`,
      `/api/projects/${elsewhere.id}`,
    ])
      await expectRefusal(t, await send('GET', path), 404, 'not_found')
    await expectRefusal(
      t,
      await send('GET', '/api/projects', undefined, { 'x-organization-id': me.organizationId }),
      404,
      'not_found',
    )
    await expectRefusal(t, await send('DELETE', `/api/projects/${elsewhere.id}`), 404, 'not_found')
  })

  test('ends when its user leaves that organization, or it is deleted', async () => {
    const me = await person(t)
    const [left, deleted] = [await newTeam(ada), await newTeam(me)]
    await addMember(systemCtx(t), { id: left.id, userId: me.userId, role: 'member' })
    const bound = async ({ id }: Organization) =>
      using((await createKey(me, { organizationId: id })).body.token as string)
    const [first, second] = [await bound(left), await bound(deleted)]
    for (const send of [first, second]) expect((await send('GET', '/api/teams')).status).toBe(200)
    await ada.fetch('DELETE', `/api/teams/${left.id}/members/${me.userId}`)
    await me.fetch('DELETE', `/api/teams/${deleted.id}`)
    for (const send of [first, second]) await expectRefusal(t, await send('GET', '/api/teams'), 401, 'unauthenticated')
  })

  test('has access to all of its user’s teams if no limit is set', async () => {
    const team = await newTeam(ada)
    const send = using((await createKey(ada)).body.token as string)
    expect((await send('GET', `/api/teams/${team.id}`)).status).toBe(200)
    expect((await send<Organization>('GET', '/api/team', undefined, { 'x-organization-id': team.id })).body.id).toBe(
      team.id,
    )
  })
})

describe('an MCP token', () => {
  test('is bound to one organization and has the user’s role there', async () => {
    const team = await newTeam(ada)
    await addMember(systemCtx(t), { id: team.id, userId: grace.userId, role: 'viewer' })
    const made = await createToken(inside(grace, team.id), { scopes: ['read'], toolsets: ['core', 'notes'] })
    expect(made.body).toMatchObject({
      kind: 'live',
      organizationId: team.id,
      toolsets: ['core', 'notes'],
      useCount: 0,
      projectId: null,
    })
    const actor = await t.app.auth.authenticate(made.body.token as string)
    expect({ ...actor, memberships: [...actor.memberships] }).toMatchObject({
      kind: 'mcp_token',
      userId: grace.userId,
      organizationId: team.id,
      memberships: [[team.id, 'viewer']],
      scopes: ['read'],
      toolsets: ['core', 'notes'],
      admin: false,
    })
    // Not even the user's own personal organization, and no personal notes.
    const own = (await grace.fetch<Note>('POST', '/api/notes', { title: 'Diary' })).body
    const ctx = await ctxOf(t, made.body.token as string)
    expect(await failure(notes.get(ctx, { ref: own.id }))).toMatchObject({ code: 'not_found' })
    expect((await notes.list(ctx, {})).items).toEqual([])
    expect(await failure(notes.create(ctx, { title: 'x' }))).toMatchObject({ code: 'forbidden' })
  })

  test('can have a default project of that organization that its user sees', async () => {
    const team = await newTeam(ada)
    const worker = await member(t, inside(ada, team.id), 'member')
    const open = (await inside(ada, team.id).fetch<Project>('POST', '/api/projects', { name: 'Open' })).body
    const closed = (
      await inside(ada, team.id).fetch<Project>('POST', '/api/projects', { name: 'Closed', visibility: 'private' })
    ).body
    const elsewhere = (await ada.fetch<Project>('POST', '/api/projects', { name: 'Elsewhere' })).body
    const made = await createToken(worker, { projectId: open.id })
    expect(made.body.projectId).toBe(open.id)
    expect((await t.app.auth.authenticate(made.body.token as string)).projectId).toBe(open.id)
    expect((await createToken(inside(ada, team.id), { projectId: closed.id })).status).toBe(201)
    for (const projectId of [closed.id, elsewhere.id, Bun.randomUUIDv7()])
      await expectRefusal(t, await createToken(worker, { projectId }), 404, 'not_found')
  })
})

describe('a test token', () => {
  /** A live and a test token of the same organization. */
  async function both(who: Person) {
    const test = (await createToken(who, { kind: 'test' })).body
    return { live: await ctxOf(t, await mcpToken(t, who)), test: await ctxOf(t, test.token as string), made: test }
  }

  test('lives 30 days in the sandbox of its organization', async () => {
    const { made, test, live } = await both(await person(t))
    expect(made).toMatchObject({ kind: 'test', prefix: 'svc_test_', toolsets: [] })
    expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBe(days(30))
    expect(test.actor.organizationId).not.toBe(live.actor.organizationId)
    const [twin] = await t.app.db
      .select()
      .from(organizationTable)
      .where(eq(organizationTable.id, test.actor.organizationId as string))
    expect(twin?.sandboxOf).toBe(live.actor.organizationId as string)
  })

  test('never sees live data, and live tokens and people never see test data', async () => {
    const me = await person(t)
    const { live, test } = await both(me)
    const real = await projects.create(live, { name: 'Ship it' })
    const realNote = await notes.create(live, { title: 'How we ship', content: 'See [[Trial]]', projectId: real.id })
    const fake = await projects.create(test, { name: 'Ship it', visibility: 'public' })
    const fakeNote = await notes.create(test, { title: 'Trial', content: 'See [[How we ship]]', scope: 'public' })
    // The twin has a name space of its own.
    expect([fake.slug, fake.key]).toEqual([real.slug, real.key])

    expect((await projects.list(test, {})).items.map((p) => p.id)).toEqual([fake.id])
    expect((await projects.list(live, {})).items.map((p) => p.id)).toEqual([real.id])
    expect((await notes.list(test, {})).items.map((n) => n.id)).toEqual([fakeNote.id])
    expect((await notes.list(live, {})).items.map((n) => n.id)).toEqual([realNote.id])
    expect((await projects.get(test, { ref: 'ship-it' })).id).toBe(fake.id)
    expect((await projects.get(live, { ref: 'ship-it' })).id).toBe(real.id)
    expect((await notes.detail(test, { ref: fakeNote.id })).backlinks).toEqual([])
    expect((await notes.detail(live, { ref: realNote.id })).backlinks).toEqual([])

    const missing = { code: 'not_found' }
    expect(await failure(projects.get(test, { ref: real.id }))).toMatchObject(missing)
    expect(await failure(notes.get(test, { ref: realNote.id }))).toMatchObject(missing)
    expect(await failure(notes.update(test, { ref: realNote.id, title: 'x' }))).toMatchObject(missing)
    expect(await failure(notes.create(test, { title: 'x', projectId: real.id }))).toMatchObject(missing)
    expect(await failure(removeProject(test, { ref: real.id }))).toMatchObject(missing)
    expect(await failure(patch(test, { ref: fake.id, organizationId: me.organizationId }))).toMatchObject(missing)
    expect(await failure(projects.get(live, { ref: fake.id }))).toMatchObject(missing)
    expect(await failure(notes.get(live, { ref: fakeNote.id }))).toMatchObject(missing)
    expect(
      await failure(patch(live, { ref: real.id, organizationId: test.actor.organizationId as string })),
    ).toMatchObject(missing)

    for (const path of [`/api/projects/${fake.id}`, `/api/notes/${fakeNote.id}`])
      await expectRefusal(t, await me.fetch('GET', path), 404, 'not_found')
    expect(ids((await me.fetch<ProjectPage>('GET', '/api/projects')).body)).toEqual([real.id])
    expect(ids((await me.fetch<NotePage>('GET', '/api/notes')).body)).toEqual([realNote.id])
    const { handle } = (await me.fetch<{ handle: string }>('GET', '/api/auth/me')).body
    expect((await call(t, 'GET', `/api/notes/public/${fakeNote.slug}`)).status).toBe(404)
    expect((await call(t, 'GET', `/api/public/projects/${handle}/${fake.slug}`)).status).toBe(404)
  })

  test('has a sandbox that is in no list and cannot be reached by id', async () => {
    const me = await person(t)
    const { test } = await both(me)
    const twin = test.actor.organizationId as string
    expect(ids((await me.fetch<OrganizationPage>('GET', '/api/teams')).body)).toEqual([me.organizationId])
    for (const [method, path] of [
      ['GET', `/api/teams/${twin}`],
      ['PATCH', `/api/teams/${twin}`],
      ['DELETE', `/api/teams/${twin}`],
      ['GET', `/api/teams/${twin}/members`],
    ] as const)
      await expectRefusal(
        t,
        await me.fetch(method, path, method === 'PATCH' ? { name: 'x' } : undefined),
        404,
        'not_found',
      )
    await expectRefusal(t, await inside(me, twin).fetch('GET', '/api/projects'), 404, 'not_found')
    await expectRefusal(t, await createToken(me, { organizationId: twin }), 404, 'not_found')
    await expectRefusal(t, await createKey(me, { organizationId: twin }), 404, 'not_found')
    const boss = await person(t, { admin: true })
    const added = await boss.fetch('POST', `/api/admin/teams/${twin}/members`, { userId: boss.userId, role: 'owner' })
    await expectRefusal(t, added, 404, 'not_found')
  })

  test('shares one sandbox with all of its organization, even if ten first ones are created at once', async () => {
    const team = inside(ada, (await newTeam(ada)).id)
    const answers = await Promise.all(times(10, () => createToken(team, { kind: 'test' })))
    expect(statuses(answers)).toEqual(times(10, () => 201))
    const twins = await Promise.all(
      answers.map(async (a) => (await t.app.auth.authenticate(a.body.token as string)).organizationId),
    )
    expect(new Set(twins).size).toBe(1)

    const viewer = await member(t, team, 'viewer')
    const seen = await ctxOf(t, (await createToken(viewer, { kind: 'test' })).body.token as string)
    expect(seen.actor.organizationId).toBe(twins[0] as string)
    const project = await projects.create(await ctxOf(t, answers[0]?.body.token as string), { name: 'Shared' })
    expect((await projects.get(seen, { ref: project.id })).name).toBe('Shared')
    expect(await failure(projects.create(seen, { name: 'x' }))).toMatchObject({ code: 'forbidden' })
  })

  test('ends with the membership in the parent organization', async () => {
    const team = inside(ada, (await newTeam(ada)).id)
    const worker = await member(t, team, 'member')
    const { token } = (await createToken(worker, { kind: 'test' })).body
    expect((await t.app.auth.authenticate(token as string)).userId).toBe(worker.userId)
    await ada.fetch('DELETE', `/api/teams/${team.organizationId}/members/${worker.userId}`)
    await refused(token as string)
  })

  test('can have a default project in the sandbox, not outside it', async () => {
    const me = await person(t)
    const { test } = await both(me)
    const inSandbox = await projects.create(test, { name: 'Trial' })
    const outside = (await me.fetch<Project>('POST', '/api/projects', { name: 'Real' })).body
    expect((await createToken(me, { kind: 'test', projectId: inSandbox.id })).status).toBe(201)
    await expectRefusal(t, await createToken(me, { kind: 'test', projectId: outside.id }), 404, 'not_found')
    await expectRefusal(t, await createToken(me, { projectId: inSandbox.id }), 404, 'not_found')
  })
})

test('a user has at most a hundred active keys and tokens; revoking one makes room', async () => {
  const me = await person(t)
  const made: string[] = []
  for (let i = 0; i < 100; i++) made.push((await createKey(me)).body.id)
  await expectRefusal(t, await createKey(me), 409, 'conflict')
  await me.fetch('DELETE', `/api/settings/api-keys/${made[0]}`)
  expect((await createKey(me)).status).toBe(201)
}, 300_000)
