import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import { startImpersonation } from '../../src/features/accounts/sessions.ts'
import type { User } from '../../src/features/users/schema.ts'
import { loginSessions } from '../../src/features/users/table.ts'
import { apiKey, call, mcpToken, PASSWORD, type Person, person, systemCtx, type TestApp } from '../support/app.ts'
import { approve, Devices, look, network } from './devices-support.ts'
import { expectRefusal, statuses, times } from './support.ts'

const d = new Devices()
const { clock } = d
let t: TestApp
let ada: Person
let eve: Person
beforeAll(async () => {
  t = await d.start()
})
afterAll(() => d.close())
/** Access tokens and recent sign-ins run out while the clock moves, so each test has people of its own. */
beforeEach(async () => {
  ada = await person(t)
  eve = await person(t, { name: 'Eve' })
})

describe('D2: a device code', () => {
  test('belongs to the first signed-in viewer; other users do not find it', async () => {
    const { deviceCode, userCode } = await d.request()
    const seen = await look(ada, userCode)
    expect(seen.body).toEqual({
      clientName: 'tutti on laptop',
      userAgent: expect.stringContaining('Bun') as unknown as string,
      ip: expect.stringMatching(/^2001:db8:/) as unknown as string,
      createdAt: expect.any(String) as unknown as string,
      expiresAt: new Date(Date.parse(seen.body.createdAt) + 600_000).toISOString(),
      status: 'pending',
    } as never)
    await expectRefusal(t, await look(eve, userCode), 404, 'not_found')
    await expectRefusal(t, await approve(eve, userCode), 404, 'not_found')
    await expectRefusal(t, await approve(eve, userCode, { deny: true }), 404, 'not_found')
    expect(await d.row(deviceCode)).toMatchObject({ status: 'pending', claimedById: ada.userId })
    expect((await look(ada, userCode)).status).toBe(200)
    expect((await approve(ada, userCode)).status).toBe(200)
    expect((await d.poll(deviceCode)).body.user.id).toBe(ada.userId)
    // Not even what was answered is told to others.
    expect((await look(eve, userCode)).status).toBe(404)
    expect((await approve(eve, userCode)).status).toBe(404)
  })

  test('is accepted however it is typed', async () => {
    const { userCode } = await d.request()
    const bare = userCode.replace('-', '')
    for (const typed of [
      userCode,
      bare,
      userCode.toLowerCase(),
      ` ${userCode.replace('-', ' ')} `,
      [...bare].join('-'),
    ])
      expect([typed, (await look(ada, typed)).status]).toEqual([typed, 200])
    for (const typed of ['BCDF-GHJ', 'BCDF-GHJKL', 'ABCD-EFGH', 'BCDF-GHJ1', 'ВСDF-GHJK', '%'])
      expect([typed, (await look(ada, typed)).body.errors?.[0]?.pointer]).toEqual([typed, '/userCode'])
  })

  test('goes to one of many who open or approve it at once', async () => {
    const crowd = [ada, eve, ...(await Promise.all(times(4, () => person(t))))]
    const seen = await d.request()
    const looks = await Promise.all(crowd.map((who) => look(who, seen.userCode)))
    expect(statuses(looks)).toEqual([200, 404, 404, 404, 404, 404])
    const blind = await d.request()
    const approvals = await Promise.all(crowd.map((who) => approve(who, blind.userCode)))
    expect(statuses(approvals)).toEqual([200, 404, 404, 404, 404, 404])
    const winner = crowd[approvals.findIndex((a) => a.status === 200)] as Person
    expect((await d.poll(blind.deviceCode)).body.user.id).toBe(winner.userId)
  })

  test('is either approved or denied if both are sent at once', async () => {
    for (const _ of times(5, () => 0)) {
      const { deviceCode, userCode } = await d.request()
      const [yes, no] = await Promise.all([approve(ada, userCode), approve(ada, userCode, { deny: true })])
      expect(statuses([yes, no])).toEqual([200, 409])
      expect((await d.row(deviceCode))?.status).toBe(yes.status === 200 ? 'approved' : 'denied')
    }
  })
})

describe('D3: approving a device', () => {
  test('is refused to keys, MCP tokens, devices and impersonators, as is looking at it', async () => {
    const own = await d.request()
    await approve(ada, own.userCode)
    const device = (await d.poll(own.deviceCode)).body
    const root = await person(t, { admin: true })
    const { token: impersonated } = await startImpersonation(systemCtx(t), { id: ada.userId } as User, root.userId)
    const { deviceCode, userCode } = await d.request()
    const nobody: Person = { ...ada, fetch: (method, path, body, headers) => call(t, method, path, body, headers) }
    const refused: [string, Person, number][] = [
      ['nobody', nobody, 401],
      ['API key', d.as(ada, await apiKey(t, ada, ['write'])), 403],
      ['MCP token', d.as(ada, await mcpToken(t, ada)), 403],
      ['device', d.as(ada, device.token), 403],
      ['impersonation', d.as(ada, impersonated), 403],
    ]
    for (const [name, who, status] of refused) {
      expect([name, (await look(who, userCode)).status]).toEqual([name, status])
      for (const more of [{}, { deny: true }])
        expect([name, (await approve(who, userCode, more)).status]).toEqual([name, status])
      // Before the input is looked at.
      expect([name, (await approve(who, 'x', { surprise: 1 })).status]).toEqual([name, status])
    }
    expect(await d.row(deviceCode)).toMatchObject({ status: 'pending', claimedById: null })
    expect((await approve(ada, userCode)).status).toBe(200)
  })

  test('needs a session younger than 15 minutes; an older one can only look', async () => {
    clock.forward({ minutes: 15, seconds: 1 })
    const { body } = await call<SignedIn>(t, 'POST', '/api/auth/refresh', { refreshToken: ada.refreshToken })
    const old = d.as(ada, body.token)
    const { userCode } = await d.request()
    expect((await look(old, userCode)).status).toBe(200)
    await expectRefusal(t, await approve(old, userCode), 403, 'forbidden.reauth')
    const fresh = await accounts.login(systemCtx(t), { email: ada.email, password: PASSWORD })
    expect((await approve(d.as(ada, fresh.token), userCode)).status).toBe(200)
  })

  test('stays impossible for the session of a device, however often it is renewed', async () => {
    const { deviceCode, userCode } = await d.request()
    await approve(ada, userCode)
    const first = (await d.poll(deviceCode)).body
    const renewed = await call<SignedIn>(t, 'POST', '/api/auth/refresh', { refreshToken: first.refreshToken })
    expect(renewed.status).toBe(200)
    const other = await d.request()
    expect((await approve(d.as(ada, renewed.body.token), other.userCode)).status).toBe(403)
    const [session] = (await t.app.db.select().from(loginSessions).where(eq(loginSessions.userId, ada.userId))).filter(
      (s) => s.device,
    )
    expect(session).toMatchObject({ via: 'device', device: 'tutti on laptop', authenticatedAt: null, revokedAt: null })
  })
})

describe('D4: guessing device codes', () => {
  const wrong = (i: number): string =>
    `BCDF-${[...i.toString().padStart(4, '0')].map((d) => 'BCDFGHJKLM'[Number(d)]).join('')}`

  test('stops after five wrong codes in a session, for ten minutes', async () => {
    const { userCode } = await d.request()
    for (const i of times(4, (n) => n)) expect((await look(ada, wrong(i))).status).toBe(404)
    // Neither a right one nor a slip of the finger changes the count.
    for (const _ of times(3, () => 0)) expect((await look(ada, userCode)).status).toBe(200)
    for (const _ of times(6, () => 0)) expect((await look(ada, 'no code')).status).toBe(422)
    expect((await approve(ada, wrong(5))).status).toBe(404)
    const limited = await look(ada, userCode)
    expect({ status: limited.status, wait: limited.headers.get('retry-after') }).toEqual({ status: 429, wait: '600' })
    expect((await approve(ada, userCode)).status).toBe(429)
    expect((await look(eve, wrong(6))).status).toBe(404)
    clock.forward({ minutes: 10 })
    expect((await approve(ada, (await d.request()).userCode)).status).toBe(200)
  })

  test('stops after ten wrong codes from a network, by any user', async () => {
    const from = network()
    const nearby = { 'x-forwarded-for': from['x-forwarded-for']?.replace('::7', '::ffff:8') as string }
    const crowd = await Promise.all(times(3, () => person(t)))
    for (const i of times(10, (n) => n)) expect((await look(crowd[i % 3] as Person, wrong(i), from)).status).toBe(404)
    const { userCode } = await d.request()
    expect((await look(ada, userCode, from)).status).toBe(429)
    expect((await approve(ada, userCode, {}, nearby)).status).toBe(429)
    expect((await look(ada, userCode)).status).toBe(200)
  })

  test('stops after five of twenty simultaneous attempts', async () => {
    const answers = await Promise.all(times(20, (i) => look(ada, wrong(i))))
    expect(statuses(answers)).toEqual([...times(5, () => 404), ...times(15, () => 429)])
  })
})
