import { beforeAll, describe, expect, test } from 'bun:test'
import type { AuditEntry, AuditPage, Impersonation, SystemState } from '../../src/features/admin/schema.ts'
import { openRaw } from '../mcp/support.ts'
import { call, mcpToken, PASSWORD, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { indexed, newWord } from './search-support.ts'

let t: TestApp
let admin: Person
beforeAll(async () => {
  t = await sharedApp()
  admin = await person(t, { admin: true })
})

const audit = async (query: string) => {
  const { status, body } = await admin.fetch<AuditPage>('GET', `/api/admin/audit?${query}`)
  expect(status).toBe(200)
  return body
}
const types = (page: AuditPage) => page.items.map((e) => e.type).reverse()

describe('the audit log', () => {
  test('lists events in order, with the address of the caller', async () => {
    const since = new Date().toISOString()
    const who = await person(t, { name: 'Grace Hopper' })
    const fetched = { email: who.email, password: PASSWORD }
    await call(t, 'POST', '/api/auth/login', { ...fetched, password: 'wrong wrong wrong' })
    const { token } = (await call<{ token: string }>(t, 'POST', '/api/auth/login', fetched)).body
    const asUser = (method: string, path: string, body?: unknown) =>
      call(t, method, path, body, { authorization: `Bearer ${token}` })
    const key = (await asUser('POST', '/api/settings/api-keys', { name: 'laptop' })).body
    await asUser('DELETE', `/api/settings/api-keys/${key.id}`)
    const mcp = (await asUser('POST', '/api/mcp-tokens', { name: 'agent', organizationId: who.organizationId })).body
    await asUser('DELETE', `/api/mcp-tokens/${mcp.id}`)
    const note = (await asUser('POST', '/api/notes', { title: 'Diary', scope: 'personal' })).body
    await asUser('DELETE', `/api/notes/${note.id}`)
    await asUser('PATCH', '/api/auth/profile', { bio: 'Hello' })
    await admin.fetch('PATCH', `/api/admin/users/${who.userId}/role`, { role: 'admin' })
    await admin.fetch('PATCH', `/api/admin/users/${who.userId}/role`, { role: 'user' })
    await asUser('POST', '/api/auth/logout')
    await admin.fetch('PATCH', `/api/admin/users/${who.userId}/suspend`, { reason: 'Tour' })
    await admin.fetch('PATCH', `/api/admin/users/${who.userId}/unsuspend`)
    const about = await audit(`userId=${who.userId}&since=${since}`)
    expect(types(about)).toEqual([
      'user.registered',
      'auth.sign_in_failed',
      'user.signed_in',
      'api_key.created',
      'api_key.revoked',
      'mcp_token.created',
      'mcp_token.revoked',
      'note.created',
      'note.deleted',
      'user.updated',
      'user.role_changed',
      'notification.created',
      'user.role_changed',
      'notification.created',
      'session.revoked',
      'user.suspended',
      'user.unsuspended',
    ])
    expect(about.items.map(({ sentence }) => sentence).reverse()).toEqual([
      'Grace Hopper registered',
      'Someone failed to sign in as Grace Hopper',
      'Grace Hopper signed in (password)',
      'Grace Hopper created the API key laptop',
      'Grace Hopper revoked the API key laptop',
      'Grace Hopper created the MCP token agent',
      'Grace Hopper revoked the MCP token agent',
      'Grace Hopper created note Diary',
      'Grace Hopper deleted note Diary',
      'Grace Hopper changed bio of their account',
      'Ada Lovelace changed the role of Grace Hopper from user to admin',
      'Ada Lovelace sent the notification “You are now an administrator”',
      'Ada Lovelace changed the role of Grace Hopper from admin to user',
      'Ada Lovelace sent the notification “You are no longer an administrator”',
      'Grace Hopper ended a login session of their account (signed out)',
      'Ada Lovelace suspended Grace Hopper: Tour',
      'Ada Lovelace ended the suspension of Grace Hopper',
    ])
    const suspended = about.items.find((e) => e.type === 'user.suspended') as AuditEntry
    expect(suspended).toEqual({
      id: expect.any(String),
      seq: expect.any(Number),
      at: expect.any(String),
      type: 'user.suspended',
      description: 'An administrator suspended an account and ended its credentials',
      sentence: 'Ada Lovelace suspended Grace Hopper: Tour',
      action: 'admin.suspend',
      actor: { kind: 'session', id: admin.userId, name: 'Ada Lovelace' },
      impersonatorId: null,
      credentialId: expect.any(String),
      organizationId: null,
      projectId: null,
      userId: who.userId,
      subjectId: who.userId,
      data: { reason: 'Tour' },
      requestId: expect.any(String),
      ip: '127.0.0.1',
    })
    // What a team does is found by the team.
    const project = unique('Shared')
    const { slug } = (await admin.fetch<{ slug: string }>('POST', '/api/projects', { name: project })).body
    await admin.fetch('POST', `/api/projects/${slug}/share`, { visibility: 'public' })
    await admin.fetch('DELETE', `/api/projects/${slug}`)
    expect(types(await audit(`organizationId=${admin.organizationId}&type=project.`))).toEqual([
      'project.created',
      'project.shared',
      'project.deleted',
    ])
  })

  test('is filtered by the name or address of a person who acted or is affected', async () => {
    const name = unique('Hedy')
    const who = await person(t, { name })
    const since = new Date().toISOString()
    await who.fetch('POST', '/api/notes', { title: 'Diary' })
    await admin.fetch('PATCH', `/api/admin/users/${who.userId}/suspend`, {})
    for (const filter of [name.slice(0, -1).toUpperCase() + name.slice(-1), who.email])
      expect(types(await audit(`person=${encodeURIComponent(filter)}&since=${since}`))).toEqual([
        'note.created',
        'user.suspended',
      ])
    expect(types(await audit(`person=${encodeURIComponent(name)}&type=note.&since=${since}`))).toEqual(['note.created'])
    expect(types(await audit(`person=nobody-has-this-name&since=${since}`))).toEqual([])
  })

  test('is filtered by the beginning of the type, by actor and by time, and read page by page', async () => {
    const who = await person(t)
    const from = new Date().toISOString()
    for (const bio of ['a', 'b', 'c', 'd', 'e']) await who.fetch('PATCH', '/api/auth/profile', { bio })
    await who.fetch('POST', '/api/notes', { title: 'Diary' })
    const filter = `actorId=${who.userId}&since=${from}`
    expect(types(await audit(filter))).toEqual([...Array<string>(5).fill('user.updated'), 'note.created'])
    expect(types(await audit(`${filter}&type=note.`))).toEqual(['note.created'])
    expect(types(await audit(`${filter}&type=user.up`))).toHaveLength(5)
    expect(types(await audit(`${filter}&type=%25`))).toEqual([])
    expect(types(await audit(`${filter}&until=${from}`))).toEqual([])
    for (const order of ['asc', 'desc']) {
      const seen: number[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: AuditPage = await audit(`${filter}&limit=2&order=${order}${cursor && `&cursor=${cursor}`}`)
        seen.push(...page.items.map((e) => e.seq))
        cursor = page.nextCursor
      }
      expect(seen).toHaveLength(6)
      expect(seen).toEqual(seen.toSorted((a, b) => (order === 'asc' ? a - b : b - a)))
    }
  })

  test('names the administrator who acted as a user, and can be searched by their id', async () => {
    const [boss, who] = [await person(t, { admin: true, name: 'Root' }), await person(t, { name: 'Grace' })]
    const { token } = (
      await boss.fetch<Impersonation>('POST', `/api/admin/users/${who.userId}/impersonate`, { reason: 'help' })
    ).body
    await call(t, 'GET', '/api/notes', undefined, { authorization: `Bearer ${token}` })
    await call(t, 'POST', '/api/notes', { title: 'Diary' }, { authorization: `Bearer ${token}` })
    const entries = await audit(`actorId=${boss.userId}`)
    expect(types(entries).slice(-4)).toEqual([
      'user.impersonated',
      'notification.created',
      'notes.list',
      'note.created',
    ])
    expect(entries.items.slice(0, 2).map(({ sentence }) => sentence)).toEqual([
      'Root as Grace created note Diary',
      'Root as Grace called the action notes.list',
    ])
    expect(entries.items.slice(0, 2).map((e) => [e.actor.id, e.impersonatorId])).toEqual([
      [who.userId, boss.userId],
      [who.userId, boss.userId],
    ])
  })

  test('contains no rows of the server’s own work, but everything an administrator does as a user', async () => {
    const [boss, who] = [await person(t, { admin: true }), await person(t)]
    const from = new Date().toISOString()
    for (const _ of [1, 2, 3]) expect((await who.fetch('POST', '/api/ws/ticket')).status).toBe(200)
    const word = newWord()
    await who.fetch('POST', '/api/notes', { title: word })
    await indexed(t)
    expect(types(await audit(`actorId=${who.userId}&since=${from}`))).toEqual(['note.created'])
    for (const type of ['search.follow', 'search.keep', 'search.indexThese', 'teams.sumRange'])
      expect([type, types(await audit(`type=${type}&since=${from}`))]).toEqual([type, []])
    const { token } = (
      await boss.fetch<Impersonation>('POST', `/api/admin/users/${who.userId}/impersonate`, { reason: 'help' })
    ).body
    await call(t, 'POST', '/api/ws/ticket', undefined, { authorization: `Bearer ${token}` })
    expect(types(await audit(`actorId=${boss.userId}`)).slice(-1)).toEqual(['hub.ticket'])
  })

  test('is readable by administrators only, and cannot be changed', async () => {
    const who = await person(t)
    expect((await who.fetch('GET', '/api/admin/audit')).status).toBe(403)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await admin.fetch(method, '/api/admin/audit', method === 'DELETE' ? undefined : {})
      expect([method, answer.status]).toEqual([method, 405])
    }
  })
})

describe('GET /api/admin/system', () => {
  test('reports version, database, mail, disk, memory and connections to administrators', async () => {
    const stream = await openRaw(t.url, await mcpToken(t, admin))
    const { status, body } = await admin.fetch<SystemState>('GET', '/api/admin/system')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      database: { kind: process.env.TEST_DB === 'postgres' ? 'postgres' : 'pglite', ok: true, readOnly: false },
      mail: { mode: 'outbox', waiting: expect.any(Number) },
    })
    expect(body.database.version).toContain('PostgreSQL')
    expect(body.database.bytes).toBeGreaterThan(1 << 20)
    expect(body.disk.totalBytes).toBeGreaterThan(body.disk.freeBytes)
    expect(body.disk.freeBytes).toBeGreaterThan(0)
    expect(body.memory.residentBytes).toBeGreaterThan(1 << 20)
    expect(body.connections.mcpStreams).toBeGreaterThan(0)
    expect(body.connections.http).toBeGreaterThan(0)
    expect(Math.abs(Date.parse(body.startedAt) + body.uptimeSeconds * 1000 - Date.now())).toBeLessThan(60_000)
    expect(JSON.stringify(body)).not.toContain(t.app.config.DATA_DIR)
    stream.abort()
    const who = await person(t)
    expect((await who.fetch('GET', '/api/admin/system')).status).toBe(403)
  })
})
