import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { write } from '../../src/action.ts'
import { machine } from '../../src/auth/policy.ts'
import { deliverRest } from '../../src/features/notifications/announcements.ts'
import type {
  Announcement,
  AnnouncementPage,
  Notification,
  NotificationPage,
} from '../../src/features/notifications/schema.ts'
import { type Notice, notify } from '../../src/features/notifications/service.ts'
import {
  apiKey,
  call,
  member,
  type Person,
  person,
  sharedApp,
  systemCtx,
  type TestApp,
  unique,
} from '../support/app.ts'
import { expectEvent, expectEvents, expectRefusal, ownApp, times, watch } from './support.ts'

let t: TestApp
let admin: Person
let ada: Person
let grace: Person
beforeAll(async () => {
  t = watch(await sharedApp())
  ;[admin, ada, grace] = (await Promise.all([
    person(t, { admin: true }),
    person(t),
    person(t, { name: 'Grace Hopper' }),
  ])) as [Person, Person, Person]
})

const give = write('test.notify', machine, (ctx, notices: Notice[]) => notify(ctx, ...notices))
const notice = (who: Person, title = unique('notice'), more: Partial<Notice> = {}): Notice => ({
  userId: who.userId,
  reason: 'assignment',
  title,
  ...more,
})
const listOf = async (who: Person, query = '') =>
  (await who.fetch<NotificationPage>('GET', `/api/notifications${query}`)).body
const unreadOf = async (who: Person) =>
  (await who.fetch<{ unread: number }>('GET', '/api/notifications/count')).body.unread
const titles = (page: NotificationPage) => page.items.map((n) => n.title)
const send = (who: Person, body: object) => who.fetch<Announcement>('POST', '/api/admin/notifications/send', body)

describe('the receiver of notifications', () => {
  test('sees their own, newest first and page by page, and the number of unread ones', async () => {
    const who = await person(t)
    for (const title of ['first', 'second', 'third'])
      await give(systemCtx(t), [notice(who, title, { type: 'warning', link: '/x', message: 'm' })])
    await give(systemCtx(t), [notice(grace)])
    const all = await listOf(who, '?total=true')
    expect(all).toMatchObject({ total: 3, nextCursor: null })
    expect(titles(all)).toEqual(['third', 'second', 'first'])
    expect(all.items[0]).toEqual({
      id: expect.any(String),
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      version: 1,
      type: 'warning',
      reason: 'assignment',
      subject: null,
      from: null,
      title: 'third',
      message: 'm',
      link: '/x',
      readAt: null,
      done: false,
      snoozedUntil: null,
    })
    const page = await listOf(who, '?limit=2')
    expect(titles(page)).toEqual(['third', 'second'])
    expect(titles(await listOf(who, `?limit=2&cursor=${page.nextCursor}`))).toEqual(['first'])
    expect(await unreadOf(who)).toBe(3)
  })

  test('marks one as read, once', async () => {
    const who = await person(t)
    await give(systemCtx(t), [notice(who, 'one'), notice(who, 'two')])
    const [two] = (await listOf(who)).items as [Notification]
    const read = await who.fetch<Notification>('PATCH', `/api/notifications/${two.id}/read`)
    expect(read).toMatchObject({ status: 200, body: { id: two.id, version: 2, readAt: expect.any(String) } })
    expect(await expectEvent(t, read, 'notification.read')).toMatchObject({
      subjectId: two.id,
      userId: who.userId,
      data: {},
    })
    const again = await who.fetch<Notification>('PATCH', `/api/notifications/${two.id}/read`)
    expect(again.body).toEqual(read.body)
    expect(titles(await listOf(who, '?unread=false'))).toEqual([two.title])
    expect(titles(await listOf(who, '?unread=true'))).toHaveLength(1)
    expect(await unreadOf(who)).toBe(1)
  })

  test('marks all of their own as read, and no others', async () => {
    const who = await person(t)
    await give(systemCtx(t), [...times(3, () => notice(who)), notice(grace)])
    const before = await unreadOf(grace)
    const read = await who.fetch<{ read: number }>('PATCH', '/api/notifications/read-all')
    expect(read.body).toEqual({ read: 3 })
    expect(await expectEvent(t, read, 'notification.read')).toMatchObject({ userId: who.userId, data: { read: 3 } })
    expect((await who.fetch('PATCH', '/api/notifications/read-all')).body).toEqual({ read: 0 })
    expect(await unreadOf(who)).toBe(0)
    expect(await unreadOf(grace)).toBe(before)
  })

  test('does not find notifications of anyone else', async () => {
    await give(systemCtx(t), [notice(grace)])
    const [hers] = (await listOf(grace)).items as [Notification]
    await expectRefusal(t, await ada.fetch('PATCH', `/api/notifications/${hers.id}/read`), 404, 'not_found')
    await expectRefusal(t, await admin.fetch('PATCH', `/api/notifications/${hers.id}/read`), 404, 'not_found')
    expect((await listOf(grace)).items[0]?.readAt).toBeNull()
  })

  test('can use a key with the scope, but not one that is bound to a team', async () => {
    const who = await person(t)
    await give(systemCtx(t), [notice(who)])
    const withKey = async (body: object) => {
      const { token } = (await who.fetch<{ token: string }>('POST', '/api/settings/api-keys', { name: 'k', ...body }))
        .body
      return call<NotificationPage>(t, 'GET', '/api/notifications', undefined, { authorization: `Bearer ${token}` })
    }
    expect((await withKey({ scopes: ['notifications:read'] })).body.items).toHaveLength(1)
    expect((await withKey({ scopes: ['notes:read'] })).status).toBe(403)
    expect((await withKey({ organizationId: who.organizationId })).status).toBe(403)
    const reads = await apiKey(t, who, ['read'])
    expect(
      (await call(t, 'PATCH', '/api/notifications/read-all', undefined, { authorization: `Bearer ${reads}` })).status,
    ).toBe(403)
  })
})

describe('an administrator', () => {
  test('notifies several people, with an event for each', async () => {
    const title = unique('Maintenance')
    const sent = await send(admin, {
      title: ` ${title} `,
      message: 'At six',
      type: 'warning',
      link: '/manual',
      audience: { userIds: [ada.userId, grace.userId] },
    })
    expect(sent.status).toBe(201)
    expect(sent.headers.get('location')).toBe(`/api/admin/notifications/${sent.body.id}`)
    expect(sent.body).toMatchObject({
      title,
      recipients: 2,
      sentBy: { id: admin.userId },
      audience: { userIds: [ada.userId, grace.userId] },
    })
    const events = await expectEvents(t, sent, 'notification.created', 'notification.created', 'announcement.sent')
    expect(events.map((e) => e.userId).sort()).toEqual([ada.userId, grace.userId, null].sort())
    const [got] = (await listOf(ada)).items as [Notification]
    expect(got).toMatchObject({
      title,
      message: 'At six',
      type: 'warning',
      link: '/manual',
      reason: 'admin',
      readAt: null,
    })
    expect(got.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/)
    expect(Number.parseInt(got.id.replace('-', '').slice(0, 12), 16)).toBe(Date.parse(got.createdAt))
    expect(events[0]?.data).toEqual({ type: 'warning', reason: 'admin', title })
  })

  test('notifies the members of a team, with one event', async () => {
    const owner = await person(t)
    const viewer = await member(t, owner, 'viewer')
    const title = unique('team news')
    const sent = await send(admin, { title, audience: { organizationId: owner.organizationId } })
    expect(sent.body).toMatchObject({ recipients: 2, type: 'info', message: null, link: null })
    expect(await expectEvent(t, sent, 'announcement.sent')).toMatchObject({
      subjectId: sent.body.id,
      organizationId: owner.organizationId,
      data: { title, type: 'info', to: 'team' },
    })
    for (const who of [owner, viewer]) expect(titles(await listOf(who))).toContain(title)
    expect(titles(await listOf(ada))).not.toContain(title)
  })

  test('gets an error if the audience is empty or invalid', async () => {
    const nobody = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
    for (const audience of [{ userIds: [nobody] }, { userIds: [] }, { organizationId: nobody }])
      await expectRefusal(t, await send(admin, { title: 'x', audience }), 404, 'not_found')
    const both = await send(admin, {
      title: 'x',
      audience: { userIds: [ada.userId], organizationId: ada.organizationId },
    })
    await expectRefusal(t, both, 422, 'invalid')
    for (const link of [
      'javascript:alert(1)',
      '//evil.example',
      '/\\evil.example',
      'evil',
      '/a b',
      'data:text/html,x',
      '/\t/evil',
    ])
      expect([link, (await send(admin, { title: 'x', link })).status]).toEqual([link, 422])
    await expectRefusal(t, await send(ada, { title: 'x' }), 403, 'forbidden')
  })

  test('sees the sent messages, newest first', async () => {
    const title = unique('listed')
    const { body } = await send(admin, { title, audience: { userIds: [ada.userId] } })
    const list = (await admin.fetch<AnnouncementPage>('GET', '/api/admin/notifications?limit=1')).body
    expect(list.items).toEqual([body])
    expect(list.nextCursor).toBeString()
    await expectRefusal(t, await ada.fetch('GET', '/api/admin/notifications'), 403, 'forbidden')
  })

  test('gets samples once, even with two concurrent requests', async () => {
    const boss = await person(t, { admin: true })
    const answers = await Promise.all(
      times(4, () => boss.fetch<{ created: number }>('POST', '/api/admin/notifications/seed')),
    )
    expect(answers.map((a) => a.body.created).sort()).toEqual([0, 0, 0, 4])
    expect(new Set((await listOf(boss)).items.map((n) => n.type))).toEqual(
      new Set(['info', 'success', 'warning', 'error']),
    )
  })
})

describe('a message to everyone', () => {
  let own: TestApp
  let boss: Person
  beforeAll(async () => {
    own = await ownApp()
    boss = await person(own, { admin: true })
  })
  afterAll(() => own.close())

  async function crowd(from: number, to: number, status = 'active'): Promise<void> {
    await own.app.driver.query(
      `insert into users (id, created_at, updated_at, email, name, handle, preferences, status)
       select gen_random_uuid(), now(), now(), 'u' || i || '@example.com', 'U', 'u' || i, '{}'::jsonb, $3 from generate_series($1::int, $2::int) i`,
      [from, to, status],
    )
    // As upkeep does: otherwise the planner would expect twenty rows instead of thousands.
    await own.app.driver.query('analyze users')
  }
  const received = async (id: string): Promise<[number, number]> => {
    const { rows } = await own.app.driver.query(
      'select count(*)::int, count(distinct user_id)::int from notifications where announcement_id = $1',
      [id],
    )
    return rows[0] as [number, number]
  }
  const jobs = async () => (await own.app.jobs.status()).waiting

  test('arrives once for each active person, with one event', async () => {
    await crowd(1, 20)
    await crowd(21, 25, 'suspended')
    watch(own)
    const sent = await send(boss, { title: 'Hello all' })
    expect(sent.body).toMatchObject({ recipients: 21, audience: {} })
    expect(await received(sent.body.id)).toEqual([21, 21])
    expect(await jobs()).toBe(0)
    expect(await expectEvent(own, sent, 'announcement.sent')).toMatchObject({
      organizationId: null,
      userId: null,
      data: { title: 'Hello all', type: 'info', to: 'everybody' },
    })
  })

  test('is delivered to a large audience by a job, which can run twice', async () => {
    await crowd(26, 12_000)
    const { rows: active } = await own.app.driver.query(`select count(*)::int from users where status = 'active'`)
    const all = active[0]?.[0] as number
    const sent = await send(boss, { title: 'Hello crowd' })
    expect(sent.body.recipients).toBe(5000)
    expect(await jobs()).toBe(1)
    // The second time there is nothing left to do; two at the same moment share the work.
    for (const runs of [2, 1]) {
      await Promise.all(times(runs, () => deliverRest(systemCtx(own), { id: sent.body.id })))
      expect(await received(sent.body.id)).toEqual([all, all])
    }
    const list = (await boss.fetch<AnnouncementPage>('GET', '/api/admin/notifications')).body
    expect(list.items[0]).toMatchObject({ id: sent.body.id, recipients: all })
  })
})
