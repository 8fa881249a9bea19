import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { contextOf } from '../../src/action.ts'
import { system } from '../../src/auth/actor.ts'
import { mails } from '../../src/features/mail/table.ts'
import type { PublicSetting, Seeded, Setting, SettingList, TestEmailSent } from '../../src/features/settings/schema.ts'
import { secretOf } from '../../src/features/settings/service.ts'
import { siteSettings } from '../../src/features/settings/table.ts'
import { settingsOf } from '../../src/features/settings/values.ts'
import { call, logged, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { mailServer } from '../support/mail.ts'
import { expectEvent, expectRefusal, statuses, watch } from './support.ts'

let t: TestApp
let other: TestApp
let closed: TestApp
let admin: Person
beforeAll(async () => {
  t = watch(await testApp())
  other = await testApp()
  closed = await testApp({ REGISTRATION: 'closed', background: 'off' })
  admin = await person(t, { admin: true })
  await t.app.db.delete(siteSettings)
})
afterAll(async () => {
  await t.app.db.delete(siteSettings)
  await Promise.all([t.close(), other.close(), closed.close()])
})

const patch = (key: string, body: object, headers: Record<string, string> = {}, who = admin) =>
  who.fetch<Setting>('PATCH', `/api/admin/settings/${key}`, body, headers)
const open = (app: TestApp, key: string) => call<PublicSetting>(app, 'GET', `/api/public/settings/${key}`)

describe('a setting', () => {
  test('has a default until it is set, and again after null', async () => {
    expect((await admin.fetch<Setting>('GET', '/api/admin/settings/general')).body).toMatchObject({
      key: 'general',
      values: { siteName: 'Tutti', tagline: null },
      stored: [],
      version: 0,
      updatedAt: null,
    })
    const changed = await patch('general', { siteName: 'Analytical Engines', tagline: 'Since 1837' })
    expect(changed.body).toMatchObject({ values: { siteName: 'Analytical Engines' }, version: 1 })
    expect(changed.body.stored).toEqual(['siteName', 'tagline'])
    const event = await expectEvent(t, changed, 'setting.updated')
    expect(event.data).toEqual({ key: 'general', fields: ['siteName', 'tagline'] })
    expect((await patch('general', { siteName: null })).body).toMatchObject({
      values: { siteName: 'Tutti', tagline: 'Since 1837' },
      version: 2,
    })
  })

  test('is checked by the schema of its own field', async () => {
    for (const [key, body, pointer] of [
      ['general', { siteName: '' }, '/siteName'],
      ['general', { enabled: true }, '/enabled'],
      ['blog', { enabled: 'yes' }, '/enabled'],
      ['legal', { imprintSlug: '../etc' }, '/imprintSlug'],
      ['contact', { notify: ['nobody'] }, '/notify/0'],
      ['seo', { titleTemplate: 'without its title' }, '/titleTemplate'],
      ['community', { moderation: 'never' }, '/moderation'],
    ] as const) {
      const refused = await expectRefusal(t, await patch(key, body), 422, 'invalid')
      expect(refused.errors?.[0]?.pointer).toBe(pointer)
    }
    await expectRefusal(t, await patch('surprise', {}), 404, 'not_found')
  })

  test('keeps a simultaneous change of another administrator', async () => {
    const { version } = (await patch('banner', { text: 'Hello' })).body
    const match = { 'if-match': `"${version}"` }
    const both = await Promise.all(['one', 'two'].map((text) => patch('banner', { text }, match)))
    expect(statuses(both)).toEqual([200, 412])
  })

  test('is known to every instance at once, and to visitors only if it is public', async () => {
    expect((await open(other, 'blog')).body.values).toEqual({ enabled: false })
    await patch('blog', { enabled: true })
    expect((await open(t, 'blog')).body.values).toEqual({ enabled: true })
    // Both instances of this test share one database, and the second reads again within a second at most.
    while (!(await settingsOf(contextOf(other.app, system))).blog.enabled) await Bun.sleep(20)
    await patch('contact', { notify: ['ada@example.com'] })
    expect((await open(t, 'contact')).body.values).toEqual({ enabled: false })
    const unknown = [await open(t, 'tracker'), await open(t, 'surprise'), await open(t, 'constructor')]
    expect(unknown.map(({ status }) => status)).toEqual([404, 404, 404])
  })

  test('that an environment variable sets is refused with the name of the variable', async () => {
    const boss = await person(closed, { admin: true })
    const { body } = await boss.fetch<Setting>('GET', '/api/admin/settings/registration')
    expect(body.values).toEqual({ open: false })
    expect(body.fields[0]).toMatchObject({ name: 'open', fixedBy: 'REGISTRATION' })
    const refused = await boss.fetch('PATCH', '/api/admin/settings/registration', { open: true })
    expect([refused.status, String(refused.body.detail).includes('REGISTRATION')]).toEqual([409, true])
  })

  test('closes registration while the server runs', async () => {
    const register = () =>
      call(t, 'POST', '/api/auth/register', {
        email: `${unique('new')}@example.com`,
        name: 'New',
        password: 'violet anchor prefers rain',
      })
    await patch('registration', { open: false })
    expect((await register()).status).toBe(403)
    expect((await call(t, 'GET', '/api/auth/providers')).body).toMatchObject({ registration: 'closed' })
    await patch('registration', { open: null })
    expect((await register()).status).toBe(201)
  })
})

test('a secret setting is never returned: not in an answer, an event, a log or the database', async () => {
  const secret = `ghp_${unique('secret')}WXYZ`
  const changed = await patch('tracker', { token: secret, repositories: ['tutti/tutti'] })
  expect(changed.body.values.token).toEqual({ set: true, last4: 'WXYZ' })
  const event = await expectEvent(t, changed, 'setting.updated')
  const all = (await admin.fetch<SettingList>('GET', '/api/admin/settings')).body
  const rows = await t.app.db.select().from(siteSettings)
  for (const text of [JSON.stringify([changed.body, event, all, rows]), logged.join('\n')])
    expect(text).not.toContain(secret)
  expect(await secretOf(contextOf(t.app, system), 'tracker', 'token')).toBe(secret)
  expect((await patch('tracker', { token: null })).body.values.token).toEqual({ set: false, last4: null })
})

test('seeding settings stores defaults and overwrites nothing', async () => {
  await t.app.db.delete(siteSettings)
  await patch('general', { siteName: 'Kept' })
  const first = (await admin.fetch<Seeded>('POST', '/api/admin/settings/seed')).body
  expect(first.kept).toEqual(['general'])
  expect(first.seeded).toContain('blog')
  const again = (await admin.fetch<Seeded>('POST', '/api/admin/settings/seed')).body
  expect([again.seeded, again.kept.length]).toEqual([[], first.seeded.length + 1])
  expect((await admin.fetch<Setting>('GET', '/api/admin/settings/general')).body.values.siteName).toBe('Kept')
})

test('a test mail is stored in the outbox without a mail server, and limited to five an hour', async () => {
  const boss = await person(t, { admin: true })
  const send = () => boss.fetch<TestEmailSent>('POST', '/api/admin/settings/test-email', {})
  expect((await send()).body).toEqual({ mode: 'outbox', delivered: false, error: null })
  const kept = await t.app.db.select().from(mails).where(eq(mails.recipient, boss.email))
  expect(kept.map(({ kind, status }) => [kind, status])).toContainEqual(['test', 'kept'])
  for (let i = 0; i < 4; i++) expect((await send()).status).toBe(200)
  expect((await send()).status).toBe(429)
})

test('a test mail is sent to the mail server at once, and the server’s answer is returned', async () => {
  const server = await mailServer()
  const sending = await testApp({ ...server.settings, background: 'off' })
  const boss = await person(sending, { admin: true })
  const send = (body: object) => boss.fetch<TestEmailSent>('POST', '/api/admin/settings/test-email', body)
  const to = `${unique('postmaster')}@example.com`
  expect((await send({ to })).body).toEqual({ mode: 'smtp', delivered: true, error: null })
  const mail = await server.mailTo(to)
  expect([mail.subject, mail.recipients, mail.text?.includes(sending.app.url)]).toEqual(['This is a test', [to], true])
  void server.refuse(1, 550)
  const refused = (await send({})).body
  expect(refused).toMatchObject({ mode: 'smtp', delivered: false, error: expect.stringContaining('Not now') })
  await sending.close()
  await server.close()
})
