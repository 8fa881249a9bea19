import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Ctx, contextOf } from '../../src/action.ts'
import { AppError } from '../../src/errors.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import type {
  AdminUser,
  AdminUserDetail,
  AdminUserPage,
  SubscriptionSet,
  UserNotePage,
  UserProjectPage,
  UserSessionPage,
  UserTeamPage,
} from '../../src/features/admin/schema.ts'
import * as powers from '../../src/features/admin/user-actions.ts'
import type { ReportedIssuePage } from '../../src/features/issues/schema.ts'
import type { Announcement, NotificationPage } from '../../src/features/notifications/schema.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import {
  apiKey,
  call,
  mcpToken,
  member,
  PASSWORD,
  type Person,
  person,
  sharedApp,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'
import { keptMail, linkSecretIn, mailServer } from '../support/mail.ts'
import { addPasskey, otherLogins } from './accounts-support.ts'
import { expectEvent, expectEvents, expectRefusal, ids, ownApp, statuses, TestClock, watch } from './support.ts'

let t: TestApp
let admin: Person
let ada: Person
beforeAll(async () => {
  t = watch(await sharedApp())
  ;[admin, ada] = (await Promise.all([person(t, { admin: true, name: 'Barbara Liskov' }), person(t)])) as [
    Person,
    Person,
  ]
})

const nobody = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
const at = (who: { userId: string }, rest = '') => `/api/admin/users/${who.userId}${rest}`
const list = async (query: string) => (await admin.fetch<AdminUserPage>('GET', `/api/admin/users${query}`)).body
const detail = async (who: Person) => (await admin.fetch<AdminUserDetail>('GET', at(who))).body
const newest = async (who: Person) => (await who.fetch<NotificationPage>('GET', '/api/notifications')).body.items[0]
const login = (email: string, password = PASSWORD) =>
  call<{ token: string }>(t, 'POST', '/api/auth/login', { email, password })

describe('GET /api/admin/users', () => {
  test('finds a part of the name, the address or the handle; % and _ are plain characters', async () => {
    const mark = unique('Zuse')
    const who = await person(t, { name: `Konrad ${mark}` })
    await who.fetch('PATCH', '/api/auth/profile', { handle: unique('plankalkuel') })
    const { handle } = (await who.fetch<{ handle: string }>('GET', '/api/auth/me')).body
    for (const part of [mark, mark.toUpperCase(), who.email.slice(2, -2), handle.slice(3)])
      expect([part, ids(await list(`?search=${part}`))]).toEqual([part, [who.userId]])
    for (const part of [`${mark}%25`, `${mark}_`, '%25%25%25%25', `_____%25${mark}`, '%5C%5C', "'"])
      expect([part, ids(await list(`?search=${part}`))]).toEqual([part, []])
  })

  test('filters by role and status, and pages without gaps', async () => {
    const mark = unique('Paged')
    const people = [
      await person(t, { name: mark, admin: true }),
      await person(t, { name: mark }),
      await person(t, { name: mark }),
    ]
    await admin.fetch('PATCH', at(people[2] as Person, '/suspend'), {})
    expect(ids(await list(`?search=${mark}&role=admin`))).toEqual([people[0]?.userId as string])
    expect(ids(await list(`?search=${mark}&status=suspended`))).toEqual([people[2]?.userId as string])
    for (const sort of ['createdAt', 'name', 'email']) {
      const seen: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: AdminUserPage = await list(
          `?search=${mark}&limit=1&total=true&sort=${sort}${cursor && `&cursor=${cursor}`}`,
        )
        expect(page.total).toBe(3)
        seen.push(...page.items.map((u) => u.id))
        cursor = page.nextCursor
      }
      expect(seen.sort()).toEqual(people.map((p) => p.userId).sort())
    }
  })

  test('shows accounts without private fields', async () => {
    const [found] = (await list(`?search=${ada.email}`)).items as [AdminUser]
    expect(found).toMatchObject({
      id: ada.userId,
      email: ada.email,
      role: 'user',
      status: 'active',
      lastSeenAt: expect.any(String),
    })
    expect(Object.keys(found).filter((key) => /password|hash|preferences|secret/i.test(key))).toEqual([])
  })
})

describe('GET /api/admin/users/:id', () => {
  test('counts the user’s records and names them without their content', async () => {
    const who = await person(t)
    const friend = await person(t)
    const project = (
      await who.fetch('POST', '/api/projects', {
        name: unique('Engine'),
        description: 'secret plan',
        visibility: 'private',
      })
    ).body
    const gone = (await who.fetch('POST', '/api/projects', { name: unique('Gone') })).body
    await who.fetch('DELETE', `/api/projects/${gone.id}`)
    await who.fetch('POST', '/api/notes', { title: 'Diary', content: 'secret thoughts', scope: 'personal' })
    await who.fetch('POST', '/api/issues', { title: 'Broken', description: 'Very' })
    const joined = await member(t, { ...friend }, 'viewer')
    await apiKey(t, who)
    await mcpToken(t, who)
    expect(await detail(who)).toMatchObject({
      id: who.userId,
      counts: { teams: 1, projects: 1, notes: 1, issues: 1, sessions: 1, apiKeys: 1, mcpTokens: 1 },
      signIn: { password: true, passkeys: 0, providers: [] },
      lastSeenAt: expect.any(String),
    })
    const projects = (await admin.fetch<UserProjectPage>('GET', at(who, '/projects?total=true'))).body
    expect(projects).toMatchObject({ total: 1, items: [{ id: project.id, visibility: 'private' }] })
    const notes = (await admin.fetch<UserNotePage>('GET', at(who, '/notes'))).body
    expect(notes.items).toMatchObject([{ title: 'Diary', scope: 'personal', organizationId: null }])
    expect(JSON.stringify([projects, notes])).not.toContain('secret')
    const sessions = (await admin.fetch<UserSessionPage>('GET', at(who, '/sessions'))).body
    expect(sessions.items).toMatchObject([{ via: 'password', impersonatorId: null, revokedAt: null }])
    const issues = (await admin.fetch<ReportedIssuePage>('GET', at(who, '/issues'))).body
    expect(issues.items).toMatchObject([{ title: 'Broken', reporter: { id: who.userId } }])
    const teams = (await admin.fetch<UserTeamPage>('GET', at(joined, '/teams?total=true'))).body
    expect(teams).toMatchObject({
      total: 2,
      items: [
        { personal: true, role: 'owner' },
        { id: friend.organizationId, role: 'viewer' },
      ],
    })
  })

  test('returns 404 for an unknown user', async () => {
    for (const rest of ['', '/projects', '/notes', '/sessions', '/teams', '/issues', '/otp'])
      expect([rest, (await admin.fetch('GET', at({ userId: nobody }, rest))).status]).toEqual([rest, 404])
    for (const [method, rest, body] of [
      ['PATCH', '/role', { role: 'admin' }],
      ['PATCH', '/suspend', {}],
      ['PATCH', '/unsuspend', undefined],
      ['POST', '/password', undefined],
      ['POST', '/impersonate', { reason: 'x' }],
      ['POST', '/notify', { title: 'x' }],
      ['POST', '/subscription', { plan: 'pro', status: 'active' }],
    ] as const)
      await expectRefusal(t, await admin.fetch(method, at({ userId: nobody }, rest), body), 404, 'not_found')
  })
})

describe('the role of a user', () => {
  test('is granted and revoked with immediate effect, and the user is notified', async () => {
    const who = await person(t)
    const given = await admin.fetch<AdminUser>('PATCH', at(who, '/role'), { role: 'admin' })
    expect(given.body).toMatchObject({ role: 'admin', version: 2 })
    const [changed] = await expectEvents(t, given, 'user.role_changed', 'notification.created')
    expect(changed).toMatchObject({ userId: who.userId, subjectId: who.userId, data: { from: 'user', to: 'admin' } })
    expect((await who.fetch('GET', '/api/admin/users')).status).toBe(200)
    expect(await newest(who)).toMatchObject({ reason: 'security', title: 'You are now an administrator' })
    expect((await admin.fetch('PATCH', at(who, '/role'), { role: 'user' })).status).toBe(200)
    expect((await who.fetch('GET', '/api/admin/users')).status).toBe(403)
    const same = await admin.fetch<AdminUser>('PATCH', at(who, '/role'), { role: 'user' })
    expect(same.body.version).toBe(3)
  })

  test('is changed only by an administrator who confirmed their identity within the hour', async () => {
    const clock = new TestClock()
    const late = await testApp({}, clock.now)
    try {
      const [boss, who] = [await person(late, { admin: true }), await person(late)]
      clock.forward({ minutes: 59 })
      const [, again] = [
        0,
        await call<{ token: string }>(late, 'POST', '/api/auth/refresh', { refreshToken: boss.refreshToken }),
      ]
      const asBoss = (path: string, body: object) =>
        call(late, 'PATCH', path, body, { authorization: `Bearer ${again.body.token}` })
      expect((await asBoss(at(who, '/role'), { role: 'admin' })).status).toBe(200)
      clock.forward({ minutes: 2 })
      expect(await asBoss(at(who, '/role'), { role: 'user' })).toMatchObject({
        status: 403,
        body: { code: 'forbidden.reauth' },
      })
      expect((await asBoss(at(who, '/suspend'), {})).status).toBe(200)
    } finally {
      await late.close()
    }
  })

  test('is changed at the version of If-Match only', async () => {
    const who = await person(t)
    const stale = await admin.fetch('PATCH', at(who, '/role'), { role: 'admin' }, { 'if-match': '"7"' })
    expect(stale).toMatchObject({ status: 412, body: { current: { id: who.userId, version: 1, role: 'user' } } })
  })
})

describe('the last administrator', () => {
  let own: TestApp
  let one: Person
  let two: Person
  beforeAll(async () => {
    own = watch(await ownApp())
    one = await person(own, { admin: true })
    two = await person(own, { admin: true })
  })
  afterAll(() => own.close())

  /** As somebody who was an administrator at the time of the call. */
  async function as({ userId }: Person): Promise<Ctx> {
    const actor = await own.app.auth.actorFor(userId)
    const session = { via: 'password' as const, authenticatedAt: own.app.clock().toISOString(), impersonatorId: null }
    return contextOf(own.app, { ...actor, admin: true, session })
  }
  const restore = () =>
    own.app.driver.query(`update users set role = 'admin', status = 'active' where id in ($1, $2)`, [
      one.userId,
      two.userId,
    ])
  const left = async () =>
    Number(
      (await own.app.driver.query(`select count(*)::int from users where role = 'admin' and status = 'active'`))
        .rows[0]?.[0],
    )

  test('can neither give up the role nor be suspended, not even by themselves', async () => {
    expect((await one.fetch('PATCH', at(two, '/role'), { role: 'user' })).status).toBe(200)
    await expectRefusal(own, await one.fetch('PATCH', at(one, '/role'), { role: 'user' }), 409, 'conflict.last_admin')
    await expectRefusal(own, await one.fetch('PATCH', at(one, '/suspend'), {}), 409, 'conflict.last_admin')
    // A suspended one does not count.
    await restore()
    expect((await one.fetch('PATCH', at(two, '/suspend'), {})).status).toBe(200)
    await expectRefusal(own, await one.fetch('PATCH', at(one, '/role'), { role: 'user' }), 409, 'conflict.last_admin')
    await restore()
  })

  test('remains when two administrators demote each other at the same moment', async () => {
    const acts = [
      (ctx: Ctx, id: string) => powers.setRole(ctx, { id, role: 'user' }),
      (ctx: Ctx, id: string) => powers.suspend(ctx, { id }),
    ]
    const outcomes = new Map<string, number>()
    for (let round = 0; round < (process.env.SOAK ? 100 : 40); round++) {
      const [first, second] = [acts[round % 2], acts[(round >> 1) % 2]] as typeof acts
      const [byOne, byTwo] = [await as(one), await as(two)]
      const results = await Promise.allSettled([first?.(byOne, two.userId), second?.(byTwo, one.userId)])
      const outcome = results
        .map((r) =>
          r.status === 'fulfilled' ? 'done' : r.reason instanceof AppError ? r.reason.code : String(r.reason),
        )
        .sort()
        .join(' ')
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      expect(await left()).toBe(1)
      await restore()
    }
    expect([...outcomes.keys()]).toEqual(['conflict.last_admin done'])
  }, 300_000)
})

describe('a forced password reset', () => {
  test('removes the other sign-in methods of an account whose address was not confirmed', async () => {
    const who = await person(t)
    await addPasskey(t, who.userId)
    expect((await admin.fetch('POST', at(who, '/password'))).status).toBe(200)
    expect(await otherLogins(t, who.userId)).toBe(0)
  })

  test('ends all access, and returns a link to set a new password', async () => {
    const who = await person(t)
    const [key, token] = [await apiKey(t, who), await mcpToken(t, who)]
    const reset = await admin.fetch('POST', at(who, '/password'))
    expect(reset).toMatchObject({ status: 200, body: { reset: true, sent: false } })
    const [event] = await expectEvents(t, reset, 'user.password_reset', 'notification.created')
    expect(event).toMatchObject({ userId: who.userId, data: { forced: true, linkReturned: true } })
    for (const secret of [who.token, key])
      expect((await call(t, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${secret}` })).status).toBe(401)
    expect((await call(t, 'POST', '/mcp', {}, { authorization: `Bearer ${token}` })).status).toBe(401)
    expect((await call(t, 'POST', '/api/auth/refresh', { refreshToken: who.refreshToken })).status).toBe(401)
    expect((await login(who.email)).status).toBe(401)
    expect((await detail(who)).signIn.password).toBe(false)
    const mail = await keptMail(t, who.email, 'reset')
    expect(mail.text).toContain('An administrator of this server asks you to choose a new password')
    const fresh = 'marmalade ladder eleven ships'
    const [page, secret] = String(reset.body.link).split('#')
    expect([page, secret]).toEqual([`${t.app.url}/reset`, linkSecretIn(mail)])
    const used = await call(t, 'POST', '/api/auth/reset-password', { token: secret, password: fresh })
    expect(used.status).toBe(200)
    const entered = await call<SignedIn>(t, 'POST', '/api/auth/login', { email: who.email, password: fresh })
    // A link that was passed on confirms no address.
    expect([entered.status, entered.body.user.emailVerifiedAt]).toEqual([200, null])
  })

  test('returns the link once: a repeated call with the same idempotency key does not contain it', async () => {
    const [who, key] = [await person(t), { 'idempotency-key': crypto.randomUUID() }]
    const [first, second] = [
      await admin.fetch('POST', at(who, '/password'), undefined, key),
      await admin.fetch('POST', at(who, '/password'), undefined, key),
    ]
    expect([first.body.link !== undefined, second.body]).toEqual([true, { reset: true, sent: false }])
  })

  test('returns no link for another administrator, nor where administrators may not read codes', async () => {
    const other = await person(t, { admin: true })
    const blind = await testApp({ ADMIN_SEES_CODES: 'off' })
    try {
      const [boss, who] = [await person(blind, { admin: true }), await person(blind)]
      for (const { body } of [
        await admin.fetch('POST', at(other, '/password')),
        await boss.fetch('POST', at(who, '/password')),
      ]) {
        expect(body).toEqual({ reset: true, sent: false, detail: expect.stringContaining('`tutti outbox`') })
      }
    } finally {
      await blind.close()
    }
  })

  test('is refused for the administrator’s own account', async () => {
    await expectRefusal(t, await admin.fetch('POST', at(admin, '/password')), 409, 'conflict')
    expect((await admin.fetch('GET', '/api/auth/me')).status).toBe(200)
  })

  test('is sent by mail where a mail server is configured', async () => {
    const server = await mailServer()
    const mailing = await testApp(server.settings)
    try {
      const [boss, who] = [await person(mailing, { admin: true }), await person(mailing)]
      expect((await boss.fetch('POST', at(who, '/password'))).body).toEqual({ reset: true, sent: true })
      const mail = await server.mailTo(who.email)
      expect(linkSecretIn({ text: mail.text })).toStartWith('svc_')
    } finally {
      await mailing.close()
      await server.close()
    }
  }, 300_000)
})

describe('the last sign-in code of a user', () => {
  const ask = (app: TestApp, who: Person) => call(app, 'POST', '/api/auth/otp/send', { email: who.email })
  const otp = (who: Person, by = admin) => by.fetch<{ code: string; expiresAt: string }>('GET', at(who, '/otp'))

  test('can be read by an administrator until it is used; each read is audited and the user is notified', async () => {
    const who = await person(t, { confirmed: true })
    await expectRefusal(t, await otp(who), 404, 'not_found')
    expect((await ask(t, who)).status).toBe(200)
    const reads = [await otp(who), await otp(who)]
    for (const read of reads) {
      expect(read.status).toBe(200)
      expect(read.body.code).toMatch(/^\d{6}$/)
      const events = await expectEvents(t, read, 'user.code_read', 'notification.created')
      expect(events[0]).toMatchObject({
        subjectId: who.userId,
        userId: who.userId,
        actor: { id: admin.userId },
        ip: '127.0.0.1',
      })
      expect(JSON.stringify(events)).not.toContain(read.body.code)
    }
    expect(await newest(who)).toMatchObject({ reason: 'security', title: 'An administrator read your sign-in code' })
    const code = reads[0]?.body.code
    expect((await call(t, 'POST', '/api/auth/otp/verify', { email: who.email, code })).status).toBe(200)
    await expectRefusal(t, await otp(who), 404, 'not_found')
  })

  test('is stored sealed, and missing from the answer to a repeated call', async () => {
    const who = await person(t)
    await ask(t, who)
    const key = { 'idempotency-key': unique('otp') }
    const { code } = (await admin.fetch<{ code: string }>('GET', at(who, '/otp'), undefined, key)).body
    const again = await admin.fetch('GET', at(who, '/otp'), undefined, key)
    expect(again).toMatchObject({ status: 200, body: { expiresAt: expect.any(String) } })
    expect(again.body.code).toBeUndefined()
    const { rows } = await t.app.driver.query(
      `select s.sealed, k.answer::text from one_time_secrets s, idempotency_keys k where s.subject = $1 and k.key = $2`,
      [who.email, key['idempotency-key']],
    )
    expect(rows).toHaveLength(1)
    expect(rows[0]?.join(' ')).not.toContain(code)
  })

  test('cannot be read if it belongs to an administrator', async () => {
    const other = await person(t, { admin: true })
    await ask(t, other)
    await expectRefusal(t, await otp(other), 403, 'forbidden')
    await expectRefusal(t, await otp(admin), 403, 'forbidden')
    await expectRefusal(t, await otp(ada, ada), 403, 'forbidden')
  })

  test('requires a confirmation of identity within five minutes, and is gone once the code expires', async () => {
    const clock = new TestClock()
    const late = await testApp({}, clock.now)
    try {
      const [boss, who] = [await person(late, { admin: true }), await person(late)]
      await ask(late, who)
      clock.forward({ minutes: 5 })
      expect((await otp(who, boss)).status).toBe(200)
      clock.forward({ seconds: 1 })
      expect(await otp(who, boss)).toMatchObject({ status: 403, body: { code: 'forbidden.reauth' } })
      await boss.fetch('POST', '/api/auth/reauth', { password: PASSWORD })
      expect((await otp(who, boss)).status).toBe(200)
      clock.forward({ minutes: 4, seconds: 59 })
      expect((await otp(who, boss)).status).toBe(404)
    } finally {
      await late.close()
    }
  })

  test.each([
    [{ ADMIN_SEES_CODES: 'auto' }, true, 403],
    [{ ADMIN_SEES_CODES: 'on' }, true, 200],
    [{ ADMIN_SEES_CODES: 'off' }, false, 403],
    [{ ADMIN_SEES_CODES: 'off' }, true, 403],
  ] as const)('with %p and a mail server %p: %p', async (settings, mailed, expected) => {
    const smtp: Record<string, string> = mailed
      ? { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'tutti@example.com', background: 'off' }
      : {}
    const other = await testApp({ ...settings, ...smtp })
    try {
      const [boss, who] = [await person(other, { admin: true }), await person(other)]
      await ask(other, who)
      expect((await otp(who, boss)).status).toBe(expected)
    } finally {
      await other.close()
    }
  })
})

describe('an administrator', () => {
  test('sends a message to one user, which the list of sent messages contains', async () => {
    const sent = await admin.fetch<Announcement>('POST', at(ada, '/notify'), {
      title: 'Hello',
      message: 'You',
      type: 'success',
      link: '/manual',
    })
    expect(sent).toMatchObject({
      status: 201,
      body: { title: 'Hello', recipients: 1, audience: { userIds: [ada.userId] } },
    })
    await expectEvents(t, sent, 'notification.created', 'announcement.sent')
    expect(await newest(ada)).toMatchObject({
      title: 'Hello',
      message: 'You',
      type: 'success',
      link: '/manual',
      reason: 'admin',
    })
  })

  test('sets a plan for a user’s personal team, or for another team of the user', async () => {
    const owner = await person(t)
    const who = await member(t, owner, 'member')
    const set = (body: object) => admin.fetch<SubscriptionSet>('POST', at(who, '/subscription'), body)
    const personal = await set({ plan: 'pro', status: 'trialing' })
    expect(personal).toMatchObject({ status: 200, body: { plan: 'pro', status: 'trialing' } })
    expect(await expectEvent(t, personal, 'organization.plan_changed')).toMatchObject({
      data: { plan: 'pro', status: 'trialing' },
    })
    const seen = await who.fetch<Organization>('GET', `/api/teams/${personal.body.organizationId}`)
    expect(seen.body).toMatchObject({ personal: true, plan: 'pro', planStatus: 'trialing', version: 2 })
    const team = await set({ plan: 'business', status: 'past_due', organizationId: owner.organizationId })
    expect(team.body).toEqual({ organizationId: owner.organizationId, plan: 'business', status: 'past_due' })
    await expectRefusal(
      t,
      await set({ plan: 'pro', status: 'active', organizationId: ada.organizationId }),
      404,
      'not_found',
    )
    expect(
      statuses([await set({ plan: 'Pro!', status: 'active' }), await set({ plan: 'pro', status: 'paid' })]),
    ).toEqual([422, 422])
  })
})
