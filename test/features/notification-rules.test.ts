import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { write } from '../../src/action.ts'
import { machine } from '../../src/auth/policy.ts'
import { lastDailyTime } from '../../src/features/notifications/daily-time.ts'
import { enqueueDueMails, mailUser } from '../../src/features/notifications/mails.ts'
import type { NotificationPage } from '../../src/features/notifications/schema.ts'
import { type Notice, notify } from '../../src/features/notifications/service.ts'
import type { PreferencesAnswer } from '../../src/features/users/schema.ts'
import { jobs } from '../../src/jobs/table.ts'
import { type Person, person, sharedApp, systemCtx, type TestApp } from '../support/app.ts'
import { type MailServer, mailRows, mailServer } from '../support/mail.ts'
import { until } from '../support/until.ts'
import { expectRefusal, ownApp, TestClock, watch } from './support.ts'

/** Which notifications reach a person, and how: rules by reason, the daily mail and the pause. */
const notifyAll = write('test.notify', machine, (ctx, notices: Notice[]) => notify(ctx, ...notices))
// A Sunday, 09:30 UTC.
const clock = new TestClock()
let server: MailServer
let t: TestApp
beforeAll(async () => {
  server = await mailServer()
  t = watch(await ownApp(clock.now, { ...server.settings, background: 'on', RATE_LIMIT_MAIL: '1000000' }))
})
afterAll(() => t.close())

/** Creates a person with a confirmed address and these preferences. Time passes between tests, so each has its own. */
async function reader(notifications: object = {}, timezone = 'UTC'): Promise<Person> {
  const made = await person(t)
  await server.mailTo(made.email)
  await t.app.driver.query('update users set email_verified_at = now() where id = $1', [made.userId])
  expect((await made.fetch('PATCH', '/api/settings/profile', { timezone })).status).toBe(200)
  expect((await choose(made, notifications)).status).toBe(200)
  return made
}
const choose = (who: Person, notifications: object) =>
  who.fetch<PreferencesAnswer>('PATCH', '/api/settings/preferences', { notifications })
const send = (...notices: Notice[]) => notifyAll(systemCtx(t), notices)
const notice = ({ userId }: Person, more: Partial<Notice> = {}): Notice => ({
  userId,
  reason: 'mention',
  title: 'Grace mentioned you',
  ...more,
})
const inboxOf = async (who: Person) =>
  (await who.fetch<NotificationPage>('GET', '/api/notifications')).body.items.map(({ title }) => title)
const newProject = async (who: Person, name: string) =>
  ({ kind: 'project', id: (await who.fetch<{ id: string }>('POST', '/api/projects', { name })).body.id }) as const

/** Lets the jobs that are due run to their end, and returns the subjects of all mails about notifications. */
async function mailsTo(who: Person): Promise<string[]> {
  await enqueueDueMails(systemCtx(t), {})
  const names = `('notifications.mailUser', 'notifications.mail', 'mail.send')`
  await until(async () => (await t.app.driver.query(`select 1 from jobs where name in ${names}`)).rows.length === 0)
  const rows = [...(await mailRows(t, who.email, 'daily')), ...(await mailRows(t, who.email, 'notification'))]
  return rows.map(({ subject }) => subject)
}
/** Sets the clock to the next time of day (UTC) that is at least a minute away. */
function forwardTo(hours: number): void {
  const now = clock.now()
  const minutes = hours * 60 - (now.getUTCHours() * 60 + now.getUTCMinutes())
  clock.forward({ minutes: minutes > 0 ? minutes : minutes + 1440 })
}

describe('a rule', () => {
  test('keeps notifications of its reason out of the inbox, and no others', async () => {
    const ada = await reader({ rules: { mention: { inbox: false } } })
    await send(notice(ada), notice(ada, { reason: 'assignment', title: 'Assigned to you' }))
    expect(await inboxOf(ada)).toEqual(['Assigned to you'])
    expect((await ada.fetch('GET', '/api/notifications/count')).body).toMatchObject({ needs: 1, unread: 1, all: 1 })
    const hidden = await t.app.driver.query('select id from notifications where user_id = $1 and not inbox', [
      ada.userId,
    ])
    expect(hidden.rows).toHaveLength(1)
    const patched = await ada.fetch('PATCH', `/api/notifications/${hidden.rows[0]?.[0]}`, { read: true })
    await expectRefusal(t, patched, 404, 'not_found')
  })

  test('applies to reasons without a rule of their own as `other`', async () => {
    const ada = await reader({ rules: { other: { inbox: false } } })
    await send(notice(ada, { reason: 'marketplace', title: 'Bought' }), notice(ada))
    expect(await inboxOf(ada)).toEqual(['Grace mentioned you'])
  })

  test('sends a mail at once, with the text and the link', async () => {
    const ada = await reader({ rules: { mention: { mail: 'now' } } })
    await send(notice(ada, { message: 'See <b>this</b>.\n\nThanks', link: '/tasks/LAN-4?team=lamps' }))
    const mail = await server.mailTo(ada.email)
    expect(mail.subject).toBe('Grace mentioned you')
    for (const part of ['See <b>this</b>.', 'Thanks', `${t.app.url}/tasks/LAN-4?team=lamps`, '/settings/notifications'])
      expect(mail.text).toContain(part)
    expect(mail.html).not.toContain('<b>this')
  })

  test('sends one mail for several notifications of one change', async () => {
    const ada = await reader({ rules: { assignment: { mail: 'now' } } })
    await send(...Array.from({ length: 60 }, (_, i) => notice(ada, { reason: 'assignment', title: `Task ${i}` })))
    const { subject, text } = await server.mailTo(ada.email)
    expect(subject).toBe('60 unread notifications')
    expect(text).toContain('- Task 49\n')
    expect(text).not.toContain('- Task 50\n')
    expect(text).toContain('Open the inbox: 10 more')
    expect(await mailsTo(ada)).toHaveLength(1)
  })

  test('mails a notification that is kept out of the inbox', async () => {
    const ada = await reader({ rules: { mention: { inbox: false, mail: 'now' } } })
    await send(notice(ada))
    expect((await server.mailTo(ada.email)).subject).toBe('Grace mentioned you')
    expect(await inboxOf(ada)).toEqual([])
  })

  test('sends no mail by default, nor to an unconfirmed address', async () => {
    const [ada, unconfirmed] = [await reader(), await reader({ rules: { mention: { mail: 'now' } } })]
    await t.app.driver.query('update users set email_verified_at = null where id = $1', [unconfirmed.userId])
    await send(notice(ada), notice(unconfirmed))
    expect([...(await mailsTo(ada)), ...(await mailsTo(unconfirmed))]).toEqual([])
    expect(await inboxOf(ada)).toHaveLength(1)
  })

  test('mails nothing about a record that its reader cannot see', async () => {
    const [ada, eve] = [await reader(), await reader({ rules: { mention: { mail: 'now' } } })]
    await send(notice(eve, { about: await newProject(ada, 'Secret') }))
    expect(await mailsTo(eve)).toEqual([])
  })

  test('does not change notifications and mail about security', async () => {
    const all = { inbox: false, mail: 'off', push: false }
    const ada = await reader({ rules: { other: all, admin: all }, pausedUntil: '2099-01-01' })
    await send(notice(ada, { reason: 'security', title: 'New sign-in' }))
    expect(await inboxOf(ada)).toEqual(['New sign-in'])
    await ada.fetch('POST', '/api/auth/forgot-password', { email: ada.email })
    expect((await server.mailTo(ada.email)).text).toContain('/reset')
    await expectRefusal(t, await choose(ada, { rules: { security: all } }), 422, 'invalid')
  })
})

describe('the daily mail', () => {
  const daily = { rules: { mention: { mail: 'daily' }, assignment: { mail: 'daily' } } }

  test('comes at the chosen time of the reader’s time zone and lists what is unread by project', async () => {
    const ada = await reader({ ...daily, daily: { at: '20:00', days: ['sun', 'mon'] } }, 'America/New_York')
    const [lantern, harbour] = [await newProject(ada, 'Lantern'), await newProject(ada, 'Harbour')]
    await send(
      notice(ada, { title: 'In Lantern', about: lantern }),
      notice(ada, { title: 'In Harbour', message: 'Look', about: harbour }),
      notice(ada, { title: 'Elsewhere' }),
      notice(ada, { title: 'Read already' }),
    )
    const [read] = (await ada.fetch<NotificationPage>('GET', '/api/notifications')).body.items
    await ada.fetch('PATCH', `/api/notifications/${read?.id}/read`)
    expect(read?.title).toBe('Read already')
    // 19:30 in New York, then 20:00.
    clock.forward({ minutes: 15 * 60 })
    expect(await mailsTo(ada)).toEqual([])
    clock.forward({ minutes: 30 })
    expect(await mailsTo(ada)).toEqual(['3 unread notifications'])
    const { text = '' } = await server.mailTo(ada.email)
    const order = ['Harbour:', 'In Harbour', 'Look', 'Lantern:', 'In Lantern', 'Other:', 'Elsewhere']
    const places = order.map((part) => text.indexOf(part))
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(places).not.toContain(-1)
    expect(text).not.toContain('Read already')
    expect(text).toContain(`${t.app.url}/projects/${lantern.id}`)
  })

  test('is not sent on a day without unread notifications, nor twice', async () => {
    const ada = await reader({ ...daily, daily: { days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] } })
    await send(notice(ada))
    await ada.fetch('PATCH', '/api/notifications/read-all')
    forwardTo(9)
    expect(await mailsTo(ada)).toEqual([])
    await send(notice(ada, { title: 'Second' }))
    forwardTo(9)
    await Promise.all(Array.from({ length: 4 }, () => mailUser(systemCtx(t), { userId: ada.userId })))
    expect(await mailsTo(ada)).toEqual(['Second'])
    forwardTo(9)
    expect(await mailsTo(ada)).toEqual(['Second'])
  })

  test('is one mail after downtime of several days', async () => {
    const ada = await reader(daily)
    await send(notice(ada, { title: 'First' }))
    clock.forward({ days: 2 })
    await send(notice(ada, { title: 'Second' }))
    clock.forward({ days: 4 })
    expect(await mailsTo(ada)).toEqual(['2 unread notifications'])
  })

  test('can be sent at once', async () => {
    const ada = await reader(daily)
    const path = '/api/notifications/daily-mail'
    expect((await ada.fetch('POST', path)).body).toEqual({ unread: 0 })
    await send(notice(ada), notice(ada, { reason: 'assignment', title: 'Assigned to you' }))
    expect((await ada.fetch('POST', path)).body).toEqual({ unread: 2 })
    expect((await server.mailTo(ada.email)).subject).toBe('2 unread notifications')
    await choose(ada, { pausedUntil: '2099-01-01' })
    await expectRefusal(t, await ada.fetch('POST', path), 409, 'conflict')
  })

  test('is refused by a server that sends no mail', async () => {
    const other = watch(await sharedApp())
    const ada = await person(other)
    const refused = await ada.fetch('POST', '/api/notifications/daily-mail')
    expect((await expectRefusal(other, refused, 409, 'conflict')).detail).toBe('This server sends no mail.')
  })
})

describe('a pause', () => {
  test('holds mail, but not the inbox, and ends with one mail', async () => {
    const rules = { mention: { mail: 'now' }, assignment: { mail: 'daily' } }
    const pausedUntil = new Date(clock.now().getTime() + 2 * 86_400_000).toISOString()
    const ada = await reader({ rules, daily: { days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] }, pausedUntil })
    await send(notice(ada), notice(ada, { reason: 'assignment', title: 'Assigned to you' }))
    expect(await inboxOf(ada)).toHaveLength(2)
    clock.forward({ days: 1 })
    expect(await mailsTo(ada)).toEqual([])
    clock.forward({ days: 1, minutes: 1 })
    expect(await mailsTo(ada)).toEqual(['2 unread notifications'])
  })

  test('that is over is not shown, and null ends it early', async () => {
    const ada = await reader({ pausedUntil: '2099-01-01' })
    const paused = async () =>
      (await ada.fetch<PreferencesAnswer>('GET', '/api/settings/preferences')).body.notifications.pausedUntil
    expect(await paused()).toBe('2099-01-01T00:00:00.000Z')
    await choose(ada, { pausedUntil: null })
    expect(await paused()).toBeNull()
    const far = { notifications: { pausedUntil: '9999-12-31T23:59:59-14:00' } }
    expect((await ada.fetch('PATCH', '/api/settings/preferences', far)).status).toBe(422)
    await choose(ada, { pausedUntil: '2020-01-01T02:00:00+02:00' })
    expect(await paused()).toBeNull()
  })
})

describe('an announcement', () => {
  test('follows the rule of its reader: at once, daily, after a pause, outside the inbox', async () => {
    const boss = await person(t, { admin: true })
    const everyDay = { days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] }
    const soon = new Date(clock.now().getTime() + 3_600_000).toISOString()
    const usual = await reader()
    const daily = await reader({ rules: { admin: { mail: 'daily' } }, daily: everyDay })
    const paused = await reader({ pausedUntil: soon })
    const hidden = await reader({ rules: { admin: { inbox: false, mail: 'off' } } })
    const readers = [usual, daily, paused, hidden]
    const audience = { userIds: readers.map(({ userId }) => userId) }
    await boss.fetch('POST', '/api/admin/notifications/send', { title: 'Maintenance', audience })
    expect(await Promise.all(readers.map(inboxOf))).toEqual([['Maintenance'], ['Maintenance'], ['Maintenance'], []])
    expect((await server.mailTo(usual.email)).subject).toBe('Maintenance')
    expect(await Promise.all([daily, paused, hidden].map(mailsTo))).toEqual([[], [], []])
    clock.forward({ minutes: 61 })
    expect(await mailsTo(paused)).toEqual(['Maintenance'])
    clock.forward({ days: 1 })
    expect(await Promise.all([daily, paused, hidden].map(mailsTo))).toEqual([['Maintenance'], ['Maintenance'], []])
    expect(await mailRows(t, usual.email, 'announcement')).toHaveLength(1)
  })
})

describe('the mail of an announcement', () => {
  // Jobs run only where the test runs them.
  let held: TestApp
  beforeAll(async () => {
    held = await ownApp(clock.now, { ...server.settings, background: 'off', RATE_LIMIT_MAIL: '1000000' })
  })
  afterAll(() => held.close())
  async function runJobs(): Promise<void> {
    const waiting = await held.app.db.select().from(jobs)
    for (const { id, name, data } of waiting.filter((job) => job.name.startsWith('notifications.mail'))) {
      const definition = held.app.features.flatMap((feature) => feature.jobs ?? []).find((job) => job.name === name)
      await held.app.db.delete(jobs).where(eq(jobs.id, id))
      await definition?.run(held.app, data, new AbortController().signal)
    }
  }

  test('is sent once to a reader who chooses the daily mail or a pause before it is sent, or ends them', async () => {
    const boss = await person(held, { admin: true })
    const daily = {
      rules: { admin: { mail: 'daily' } },
      daily: { days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] },
    }
    const atOnce = { rules: { admin: { mail: 'now' } } }
    const pause = { pausedUntil: new Date(clock.now().getTime() + 3_600_000).toISOString() }
    const changes = {
      daily: [{}, daily],
      atOnce: [daily, atOnce],
      paused: [{}, pause],
      resumed: [pause, { pausedUntil: null }],
    }
    const readers: Person[] = []
    for (const [before] of Object.values(changes)) {
      const who = await person(held)
      await held.app.driver.query('update users set email_verified_at = now() where id = $1', [who.userId])
      await choose(who, before as object)
      readers.push(who)
    }
    const audience = { userIds: readers.map(({ userId }) => userId) }
    await boss.fetch('POST', '/api/admin/notifications/send', { title: 'Maintenance', audience })
    for (const [i, [, after]] of Object.values(changes).entries()) await choose(readers[i] as Person, after as object)
    const mails = () =>
      Promise.all(
        readers.map(async ({ email }) => {
          const kinds = ['announcement', 'daily', 'notification']
          return (await Promise.all(kinds.map((kind) => mailRows(held, email, kind)))).flat().length
        }),
      )
    await runJobs()
    expect(await mails()).toEqual([0, 0, 0, 0])
    clock.forward({ days: 1 })
    await enqueueDueMails(systemCtx(held), {})
    await runJobs()
    expect(await mails()).toEqual([1, 1, 1, 1])
    clock.forward({ days: 1 })
    await enqueueDueMails(systemCtx(held), {})
    await runJobs()
    expect(await mails()).toEqual([1, 1, 1, 1])
  })
})

describe('the time of the daily mail', () => {
  const everyDay = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
  test.each([
    ['on the day itself', '2026-11-18T07:00:00.000Z', '08:00', 'Europe/Berlin', '2026-11-18T07:00:00.000Z'],
    ['on the day before', '2026-11-18T06:59:59.000Z', '08:00', 'Europe/Berlin', '2026-11-17T07:00:00.000Z'],
    ['in summer', '2026-07-01T12:00:00.000Z', '08:00', 'Europe/Berlin', '2026-07-01T06:00:00.000Z'],
    ['when clocks skip it', '2026-03-29T12:00:00.000Z', '02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
    ['when clocks show it twice', '2026-10-25T12:00:00.000Z', '02:30', 'Europe/Berlin', '2026-10-25T01:30:00.000Z'],
    ['east of the date line', '2026-11-18T00:00:00.000Z', '09:00', 'Pacific/Auckland', '2026-11-17T20:00:00.000Z'],
  ])('is found %s', (_, now, at, zone, expected) => {
    expect(lastDailyTime(now, { at, days: everyDay }, zone)).toBe(expected)
  })

  test('is on the last of the chosen days', () => {
    // A Sunday; the last work day was Friday.
    const now = '2026-11-15T09:30:00.000Z'
    expect(lastDailyTime(now, { at: '08:00', days: ['mon', 'fri'] }, 'UTC')).toBe('2026-11-13T08:00:00.000Z')
    expect(lastDailyTime(now, { at: '10:00', days: ['sun'] }, 'UTC')).toBe('2026-11-08T10:00:00.000Z')
  })
})
