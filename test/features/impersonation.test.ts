import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Impersonation } from '../../src/features/admin/schema.ts'
import type { NotificationPage } from '../../src/features/notifications/schema.ts'
import { documentedRoutes, type RouteLike, routeAction } from '../../src/http/openapi.ts'
import {
  type Answer,
  call,
  member,
  PASSWORD,
  type Person,
  person,
  sharedApp,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'
import { allowing } from '../support/timing.ts'
import { expectEvents, expectRefusal, TestClock, watch } from './support.ts'

let t: TestApp
let admin: Person
beforeAll(async () => {
  t = watch(await sharedApp())
  admin = await person(t, { admin: true, name: 'Barbara Liskov' })
})

const at = (who: { userId: string }, rest: string) => `/api/admin/users/${who.userId}${rest}`
const start = (who: Person, by = admin, reason = 'ticket 42') =>
  by.fetch<Required<Impersonation>>('POST', at(who, '/impersonate'), { reason })

interface Acting {
  token: string
  fetch<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Answer<T>>
}
async function actAs(who: Person, by = admin, app = t): Promise<Acting> {
  const { status, body } = await start(who, by)
  expect(status).toBe(201)
  return {
    token: body.token,
    fetch: (method, path, sent) => call(app, method, path, sent, { authorization: `Bearer ${body.token}` }),
  }
}

describe('impersonating a user', () => {
  test('needs a reason; the user is notified and sees the session', async () => {
    const who = await person(t)
    const started = await start(who)
    expect(started.status).toBe(201)
    expect(Object.keys(started.body).sort()).toEqual(['expiresAt', 'token', 'user'])
    expect(started.headers.getSetCookie()).toEqual([])
    expect(started.body.user.id).toBe(who.userId)
    const [event] = await expectEvents(t, started, 'user.impersonated', 'notification.created')
    expect(event).toMatchObject({
      actor: { id: admin.userId },
      userId: who.userId,
      subjectId: who.userId,
      data: { reason: 'ticket 42', until: started.body.expiresAt },
    })
    expect(JSON.stringify(event)).not.toContain('eyJ')
    const [told] = (await who.fetch<NotificationPage>('GET', '/api/notifications')).body.items
    expect(told).toMatchObject({ reason: 'security', type: 'warning', title: 'An administrator is acting as you' })
    expect(told?.message).toContain('ticket 42')
    const sessions = (
      await who.fetch<{ items: { id: string; via: string; impersonated: boolean }[] }>('GET', '/api/settings/sessions')
    ).body
    const [acting] = sessions.items.filter((s) => s.impersonated)
    expect(acting?.via).toBe('impersonation')
    expect((await who.fetch('DELETE', `/api/settings/sessions/${acting?.id}`)).status).toBe(200)
    expect(
      (await call(t, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${started.body.token}` })).status,
    ).toBe(401)
  })

  test('is refused for administrators, suspended users, oneself, and without a reason', async () => {
    const [other, who] = [await person(t, { admin: true }), await person(t)]
    await expectRefusal(t, await start(other), 403, 'forbidden')
    await expectRefusal(t, await start(admin), 403, 'forbidden')
    await expectRefusal(t, await start(who, who), 403, 'forbidden')
    await expectRefusal(t, await start(who, admin, '  '), 422, 'invalid')
    await admin.fetch('PATCH', at(who, '/suspend'), {})
    await expectRefusal(t, await start(who), 409, 'conflict')
    const { rows } = await t.app.driver.query(
      `select 1 from login_sessions where via = 'impersonation' and user_id = any($1::uuid[])`,
      [`{${[other, who, admin].map((p) => p.userId).join(',')}}`],
    )
    expect(rows).toEqual([])
  })

  test('does not return the token again for a repeated call', async () => {
    const who = await person(t)
    const key = { 'idempotency-key': unique('act') }
    const ask = () => admin.fetch<Impersonation>('POST', at(who, '/impersonate'), { reason: 'x' }, key)
    const [first, again] = [await ask(), await ask()]
    expect(first.body.token).toBeString()
    expect(again).toMatchObject({ status: 201, body: { expiresAt: first.body.expiresAt } })
    expect(again.body.token).toBeUndefined()
  })
})

describe('an impersonator', () => {
  let who: Person
  let acting: Acting
  beforeAll(async () => {
    who = await person(t)
    acting = await actAs(who)
  })

  const all = (): RouteLike[] => documentedRoutes(t.server.routes)
  const nameOf = ({ method, path }: RouteLike) => `${method} ${path}`
  const anyId = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'

  test('cannot touch credentials or administration', async () => {
    const refused = all().filter((route) => routeAction(route).rule.own)
    const wrong: string[] = []
    for (const route of refused) {
      const body = route.method === 'GET' ? undefined : {}
      const answer = await acting.fetch(route.method, route.path.replace(/:\w+/g, anyId), body)
      if (answer.status !== 403 || answer.body.code !== 'forbidden')
        wrong.push(`${nameOf(route)}: ${answer.status} ${answer.body.code}`)
    }
    expect(wrong).toEqual([])
    // The rule must stand where it matters, or the loop above proves nothing.
    const names = new Set(refused.map(nameOf))
    const mustHave = all().filter(
      ({ method, path }) =>
        path.startsWith('/api/admin/') ||
        (method !== 'GET' &&
          /^\/api\/(settings\/(sessions|api-keys|passkeys|connected-accounts|integrations)|mcp-tokens)/.test(path)) ||
        /^\/api\/auth\/(reauth|change-password|email-change|account|device\/approve|passkey\/register.*)$/.test(path),
    )
    expect(mustHave.map(nameOf).filter((name) => !names.has(name))).toEqual([])
    for (const name of [
      'POST /api/settings/api-keys',
      'DELETE /api/settings/api-keys/:id',
      'POST /api/mcp-tokens',
      'DELETE /api/mcp-tokens/:id',
      'DELETE /api/settings/sessions/:id',
      'DELETE /api/settings/passkeys/:id',
      'DELETE /api/settings/connected-accounts/:provider',
      'POST /api/auth/reauth',
      'POST /api/auth/change-password',
      'POST /api/auth/email-change',
      'DELETE /api/auth/account',
      'POST /api/auth/device/approve',
      'GET /api/sync/export',
      'POST /api/admin/users/:id/impersonate',
      'GET /api/admin/users/:id/otp',
      'PATCH /api/admin/users/:id/role',
      'GET /api/admin/audit',
      'GET /api/admin/outbox',
      'PATCH /api/notifications/read-all',
    ])
      expect([name, names.has(name)]).toEqual([name, true])
  })

  test('loses access if the user becomes an administrator meanwhile', async () => {
    const rising = await person(t)
    const mine = await actAs(rising)
    expect((await mine.fetch('GET', '/api/auth/me')).status).toBe(200)
    const raised = await admin.fetch('PATCH', at(rising, '/role'), { role: 'admin' })
    await expectEvents(t, raised, 'session.revoked', 'user.role_changed', 'notification.created')
    expect((await mine.fetch('GET', '/api/auth/me')).status).toBe(401)
    expect((await rising.fetch('GET', '/api/auth/me')).status).toBe(200)
  })

  test('loses access when they lose their own role or are suspended', async () => {
    for (const [rest, body] of [
      ['/role', { role: 'user' }],
      ['/suspend', {}],
    ] as const) {
      const [boss, target] = [await person(t, { admin: true }), await person(t)]
      const acting = await actAs(target, boss)
      expect((await acting.fetch('GET', '/api/auth/me')).status).toBe(200)
      expect((await admin.fetch('PATCH', at(boss, rest), body)).status).toBe(200)
      expect((await acting.fetch('GET', '/api/auth/me')).status).toBe(401)
      expect((await target.fetch('GET', '/api/auth/me')).status).toBe(200)
    }
  })

  test('reads and writes as the user, and each call leaves one event with both names', async () => {
    const calls: [string, string, unknown?][] = [
      ['GET', '/api/auth/me'],
      ['GET', '/api/notes'],
      ['GET', '/api/notifications'],
      ['GET', '/api/settings/sessions'],
      ['POST', '/api/notes', { title: unique('Seen') }],
      ['PATCH', '/api/auth/profile', { bio: 'Hello' }],
      ['POST', '/api/issues', { title: 'Broken', description: 'Yes' }],
      ['GET', '/api/issues'],
    ]
    const traces = async () =>
      (
        await t.app.driver.query(
          `select type, actor_id::text, data->>'impersonatorId', request_id from events e
           where credential_id = (select id from login_sessions where via = 'impersonation' and user_id = $1) order by seq`,
          [who.userId],
        )
      ).rows
    const before = (await traces()).length
    const asked: string[] = []
    for (const [method, path, body] of calls) {
      const answer = await acting.fetch(method, path, body)
      expect([path, answer.status < 300]).toEqual([path, true])
      asked.push(answer.headers.get('x-request-id') as string)
    }
    const rows = (await traces()).slice(before)
    expect(rows.map((row) => row[3])).toEqual(asked)
    expect(new Set(rows.map((row) => `${row[1]} ${row[2]}`))).toEqual(new Set([`${who.userId} ${admin.userId}`]))
    expect(rows.map((row) => row[0])).toEqual([
      'accounts.me',
      'notes.list',
      'notifications.list',
      'accounts.listSessions',
      'note.created',
      'user.updated',
      'issue.created',
      'issues.list',
    ])
  })

  test('cannot review, verify or override a feature in the user’s name', async () => {
    const author = await person(t)
    const mate = await member(t, author, 'admin')
    const headers = { 'x-organization-id': author.organizationId }
    const project = await author.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Gates') })
    const made = await author.fetch<{ id: string }>('POST', `/api/projects/${project.body.id}/features`, {
      title: 'Gate',
    })
    const path = `/api/features/${made.body.id}`
    expect((await author.fetch('POST', `${path}/override`, { status: 'in_review', reason: 'Test' })).status).toBe(200)
    const { token } = await actAs(mate)
    const use = (method: string, at: string, body?: object) =>
      call<Record<string, unknown>>(t, method, at, body, { authorization: `Bearer ${token}`, ...headers })
    for (const verdict of ['approved', 'changes_requested'])
      await expectRefusal(t, await use('POST', `${path}/reviews`, { verdict }), 403, 'forbidden')
    await expectRefusal(t, await use('POST', `${path}/override`, { status: 'done', reason: 'x' }), 403, 'forbidden')
    const settings = { settings: { allowSelfReview: true } }
    await expectRefusal(t, await use('PUT', `/api/projects/${project.body.id}`, settings), 403, 'forbidden')
    const seen = (await use('GET', path)).body
    expect(seen).toMatchObject({
      status: 'in_review',
      can: { review: { code: 'forbidden' }, override: { code: 'forbidden' } },
    })
    expect((await author.fetch('POST', `${path}/override`, { status: 'in_progress', reason: 'Test' })).status).toBe(200)
    const evidence = { summary: 'Seen', files: ['src/1.ts'] }
    await expectRefusal(t, await use('POST', `${path}/advance`, { evidence, level: 'verified' }), 403, 'forbidden')
    expect((await use('POST', `${path}/advance`, { evidence })).status).toBe(200)
  })

  test('has no access beyond the user’s', async () => {
    const stranger = await person(t)
    const there = { authorization: `Bearer ${acting.token}`, 'x-organization-id': stranger.organizationId }
    expect((await call(t, 'GET', '/api/notes', undefined, there)).status).toBe(404)
    expect((await acting.fetch('GET', `/api/teams/${stranger.organizationId}`)).status).toBe(404)
    expect((await acting.fetch('GET', `/api/teams/${who.organizationId}`)).status).toBe(200)
  })
})

describe('the time of an impersonation', () => {
  const clock = new TestClock()
  let late: TestApp
  let boss: Person
  beforeAll(async () => {
    late = await testApp({}, clock.now)
    boss = await person(late, { admin: true })
  })
  afterAll(() => late.close())

  test('is 30 minutes and cannot be extended', async () => {
    const who = await person(late)
    const acting = await actAs(who, boss, late)
    const { rows } = await late.app.driver.query(
      `select (select count(*)::int from refresh_tokens r where r.session_id = s.id), extract(epoch from expires_at - created_at)::int
       from login_sessions s where user_id = $1 and via = 'impersonation'`,
      [who.userId],
    )
    expect(rows.map((row) => [Number(row[0]), Number(row[1])])).toEqual([[0, 1800]])
    clock.forward({ minutes: 29, seconds: 59 })
    expect((await acting.fetch('GET', '/api/auth/me')).status).toBe(200)
    expect((await acting.fetch('POST', '/api/auth/refresh', {})).status).toBe(401)
    // The clock stands still between calls, the cache does not: a second of real time is what the contract allows.
    clock.forward({ seconds: 1 })
    const deadline = performance.now() + allowing(3000)
    let status = 200
    while (status === 200 && performance.now() < deadline) status = (await acting.fetch('GET', '/api/auth/me')).status
    expect(status).toBe(401)
  })

  test('begins only within five minutes of confirming one’s identity', async () => {
    const fresh = await person(late, { admin: true })
    const who = await person(late)
    clock.forward({ minutes: 5, seconds: 1 })
    expect(await start(who, fresh)).toMatchObject({ status: 403, body: { code: 'forbidden.reauth' } })
    expect((await fresh.fetch('POST', '/api/auth/reauth', { password: PASSWORD })).status).toBe(200)
    expect((await start(who, fresh)).status).toBe(201)
  })
})
