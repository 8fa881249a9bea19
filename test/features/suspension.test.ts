import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AdminUser } from '../../src/features/admin/schema.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import * as tokens from '../../src/features/tokens/service.ts'
import { openRaw, type RawStream } from '../mcp/support.ts'
import {
  apiKey,
  call,
  mcpToken,
  PASSWORD,
  type Person,
  person,
  systemCtx,
  type TestApp,
  testApp,
} from '../support/app.ts'
import { allowing } from '../support/timing.ts'
import { expectEvent, expectRefusal, watch } from './support.ts'

/** Two instances on one Postgres; an embedded database belongs to one by nature. */
const instances = process.env.TEST_DB === 'postgres' ? 2 : 1
let apps: TestApp[]
let t: TestApp
let admin: Person
beforeAll(async () => {
  apps = await Promise.all(Array.from({ length: instances }, () => testApp()))
  t = watch(apps[0] as TestApp)
  admin = await person(t, { admin: true })
})
afterAll(() => Promise.all(apps.map((app) => app.close())))

const at = (who: { userId: string }, rest: string) => `/api/admin/users/${who.userId}${rest}`
const suspend = (who: Person, body: object = {}) => admin.fetch<AdminUser>('PATCH', at(who, '/suspend'), body)
const me = (app: TestApp, secret: string) =>
  call(app, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${secret}` })

/** A second after the answer is the promise; a little more, so that a busy machine does not lie. */
async function within(act: () => Promise<unknown>, ...so: (() => Promise<boolean>)[]): Promise<void> {
  await act()
  const since = performance.now()
  await Promise.all(
    so.map(async (look) => {
      while (!(await look()))
        if (performance.now() - since > allowing(1500)) throw new Error(`not within a second: ${look}`)
    }),
  )
}
const ended = (stream: RawStream) => async () =>
  (await Promise.race([stream.ended.then(() => true), Bun.sleep(5)])) === true

describe('suspending a user', () => {
  test('ends every credential and open stream within a second, on every instance', async () => {
    const who = await person(t)
    const [key, token] = [await apiKey(t, who), await mcpToken(t, who)]
    const bystander = await person(t)
    const streams = await Promise.all(apps.map((app) => openRaw(app.url, token)))
    const other = await openRaw(t.url, await mcpToken(t, bystander))
    // Every instance knows the credentials, so that only being told can make it forget them.
    for (const app of apps) for (const secret of [who.token, key]) expect((await me(app, secret)).status).toBe(200)
    await within(
      async () => expect((await suspend(who)).status).toBe(200),
      ...apps.flatMap((app) => [who.token, key].map((secret) => async () => (await me(app, secret)).status === 401)),
      ...apps.map(
        (app) => async () => (await call(app, 'POST', '/mcp', {}, { authorization: `Bearer ${token}` })).status === 401,
      ),
      ...streams.map(ended),
    )
    expect((await call(t, 'POST', '/api/auth/refresh', { refreshToken: who.refreshToken })).status).toBe(401)
    expect((await call(t, 'POST', '/api/auth/login', { email: who.email, password: PASSWORD })).status).toBe(401)
    expect((await bystander.fetch('GET', '/api/auth/me')).status).toBe(200)
    expect((await other.call(1, 'list_notes')).result?.isError).toBeFalsy()
    other.abort()
  })

  test('is announced once, with the reason', async () => {
    const who = await person(t)
    const done = await suspend(who, { reason: 'Spam' })
    expect(done.body).toMatchObject({ id: who.userId, status: 'suspended', version: 2 })
    expect(await expectEvent(t, done, 'user.suspended')).toMatchObject({
      subjectId: who.userId,
      userId: who.userId,
      actor: { id: admin.userId },
      data: { reason: 'Spam' },
    })
    expect((await suspend(who)).body.version).toBe(2)
    await expectRefusal(t, await suspend(who, { reason: ' ' }), 422, 'invalid')
  })

  test('makes earlier codes and links invalid', async () => {
    const who = await person(t)
    await call(t, 'POST', '/api/auth/otp/send', { email: who.email })
    const { code } = (await admin.fetch<{ code: string }>('GET', at(who, '/otp'))).body
    expect(code).toMatch(/^\d{6}$/)
    await suspend(who)
    expect((await call(t, 'POST', '/api/auth/otp/verify', { email: who.email, code })).status).toBe(401)
    await admin.fetch('PATCH', at(who, '/unsuspend'))
    expect((await call(t, 'POST', '/api/auth/otp/verify', { email: who.email, code })).status).toBe(401)
  })

  test('can be undone: the user can sign in again, but ended sessions stay ended', async () => {
    const who = await person(t)
    const key = await apiKey(t, who)
    await suspend(who)
    const back = await admin.fetch<AdminUser>('PATCH', at(who, '/unsuspend'))
    expect(back.body).toMatchObject({ status: 'active', version: 3 })
    expect(await expectEvent(t, back, 'user.unsuspended')).toMatchObject({ userId: who.userId })
    expect((await admin.fetch<AdminUser>('PATCH', at(who, '/unsuspend'))).body.version).toBe(3)
    for (const secret of [who.token, key]) expect((await me(t, secret)).status).toBe(401)
    const again = await call<{ token: string }>(t, 'POST', '/api/auth/login', { email: who.email, password: PASSWORD })
    expect((await me(t, again.body.token)).status).toBe(200)
  })
})

describe('losing rights', () => {
  test('as an administrator takes effect with the next call, on any instance', async () => {
    const boss = await person(t, { admin: true })
    const users = (app: TestApp) =>
      call(app, 'GET', '/api/admin/users?limit=1', undefined, { authorization: `Bearer ${boss.token}` })
    for (const app of apps) expect((await users(app)).status).toBe(200)
    await within(
      async () => expect((await admin.fetch('PATCH', at(boss, '/role'), { role: 'user' })).status).toBe(200),
      ...apps.map((app) => async () => (await users(app)).status === 403),
    )
    expect((await boss.fetch('GET', '/api/auth/me')).status).toBe(200)
  })

  test.each([
    ['removed', 'DELETE', undefined],
    ['made a viewer', 'PATCH', { role: 'viewer' }],
  ] as const)('as a member who is %s affects streams and calls on every instance', async (_what, method, body) => {
    const [owner, who] = [await person(t), await person(t)]
    await addMember(systemCtx(t), { id: owner.organizationId, userId: who.userId, role: 'member' })
    const { token } = await tokens.createToken(await who.ctx(), { name: 'agent', organizationId: owner.organizationId })
    const inTeam = { authorization: `Bearer ${who.token}`, 'x-organization-id': owner.organizationId }
    const make = (app: TestApp) => call(app, 'POST', '/api/notes', { title: 'x', scope: 'team' }, inTeam)
    const streams = await Promise.all(apps.map((app) => openRaw(app.url, token as string)))
    for (const app of apps) expect((await make(app)).status).toBe(201)
    await within(
      () => admin.fetch(method, `/api/admin/teams/${owner.organizationId}/members/${who.userId}`, body),
      ...apps.map((app) => async () => (await make(app)).status === (method === 'DELETE' ? 404 : 403)),
      ...(method === 'DELETE' ? streams.map(ended) : []),
    )
    if (method === 'PATCH')
      for (const stream of streams) {
        expect((await stream.call(1, 'create_note', { title: 'x' })).result).toMatchObject({ isError: true })
        expect((await stream.call(2, 'list_notes')).result?.isError).toBeFalsy()
        stream.abort()
      }
  })
})
