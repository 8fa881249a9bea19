import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ContactPage, ContactReceived, ContactToken } from '../../src/features/contact/schema.ts'
import { contactMessages } from '../../src/features/contact/table.ts'
import { mails } from '../../src/features/mail/table.ts'
import { siteSettings } from '../../src/features/settings/table.ts'
import type { PublicSponsorList, Sponsor } from '../../src/features/sponsors/schema.ts'
import { sponsors } from '../../src/features/sponsors/table.ts'
import { html } from '../../src/pages/pages.ts'
import { call, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { keptMail } from '../support/mail.ts'
import { pictureForm } from '../support/pictures.ts'
import { expectEvent, TestClock, watch } from './support.ts'

const clock = new TestClock()
const boss = `${unique('boss')}@example.com`
let t: TestApp
let admin: Person
beforeAll(async () => {
  t = watch(await testApp({ background: 'off' }, clock.now))
  admin = await person(t, { admin: true })
  await t.app.db.delete(siteSettings)
  await t.app.db.delete(contactMessages)
})
afterAll(async () => {
  await t.app.db.delete(siteSettings)
  await t.close()
})

const set = (key: string, body: object) => admin.fetch('PATCH', `/api/admin/settings/${key}`, body)
const token = async () => (await call<ContactToken>(t, 'GET', '/api/public/contact')).body.token
/** Everybody in this test comes from one network, whose limit is not what is tested here. */
const forget = () => t.app.driver.query(`delete from counters where key like 'contact%' and key not like '%token%'`)
const write = async (more: object = {}, seconds = 5) => {
  const given = await token()
  clock.forward({ seconds })
  await forget()
  return call<ContactReceived>(t, 'POST', '/api/public/contact', {
    email: 'grace@example.com',
    message: unique('How do I sign in? '),
    token: given,
    ...more,
  })
}
const list = async (query = '') => (await admin.fetch<ContactPage>('GET', `/api/admin/contact?limit=1${query}`)).body

describe('the contact form', () => {
  test('does not exist until it is switched on', async () => {
    expect((await call(t, 'GET', '/api/public/contact')).status).toBe(404)
    expect((await fetch(`${t.url}/contact`)).status).toBe(404)
    const body = { email: 'a@example.com', message: 'Long enough for you', token: 'x' }
    expect((await call(t, 'POST', '/api/public/contact', body)).status).toBe(404)
    await set('contact', { enabled: true, notify: [boss] })
  })

  test('stores a message and mails it as text to the addresses of the setting', async () => {
    const message = `First line <b>\n\nSecond\u202e line ${unique('x')}`
    const sent = await write({ name: 'Grace', subject: 'Hello', message })
    expect([sent.status, sent.body]).toEqual([201, { received: true }])
    const [item] = (await list()).items
    expect(item).toMatchObject({ name: 'Grace', subject: 'Hello', spam: false, reason: null, readAt: null })
    expect(item?.message).not.toContain('\u202e')
    const mail = await keptMail(t, boss, 'contact')
    expect(mail.text).toContain('> First line <b>')
    const read = await admin.fetch('PATCH', `/api/admin/contact/${item?.id}`, { readAt: clock.now().toISOString() })
    await expectEvent(t, read, 'contact_message.updated')
    expect((await list('&unread=true')).items[0]?.id).not.toBe(item?.id)
  })

  test('stores spam without a notification, and answers alike', async () => {
    const twice = unique('the same text ')
    const used = await token()
    clock.forward({ seconds: 4 })
    await write({ message: twice })
    const before = (await t.app.db.select().from(mails)).length
    for (const [more, seconds, reason] of [
      [{ website: 'https://spam.example' }, 5, 'the hidden field was filled in'],
      [{}, 1, 'the form was sent too soon, too late or twice'],
      [{ token: 'made up' }, 5, 'the form was sent too soon, too late or twice'],
      [{ message: 'http://a http://b http://c http://d and more' }, 5, 'too many links'],
      [{ message: twice.toUpperCase() }, 5, 'the same text again'],
    ] as const) {
      const sent = await write(more, seconds)
      expect([reason, sent.status, sent.body]).toEqual([reason, 201, { received: true }])
      expect((await list()).items[0]).toMatchObject({ spam: true, reason })
    }
    expect((await t.app.db.select().from(mails)).length).toBe(before)
    // A token works once.
    await write({ token: used })
    await write({ token: used })
    const [last, first] = (await admin.fetch<ContactPage>('GET', '/api/admin/contact?limit=2')).body.items
    expect([first?.spam, last?.spam]).toEqual([false, true])
    const kept = await admin.fetch('PATCH', `/api/admin/contact/${last?.id}`, { spam: false })
    expect(kept.body).toMatchObject({ spam: false, reason: null })
    await expectEvent(t, await admin.fetch('DELETE', `/api/admin/contact/${last?.id}`), 'contact_message.deleted')
    expect((await admin.fetch('DELETE', `/api/admin/contact/${last?.id}`)).status).toBe(404)
  })

  test('accepts three messages an hour from a network', async () => {
    await forget()
    const body = () => ({ email: 'a@example.com', message: unique('Long enough '), token: 'x' })
    const sent = []
    for (let i = 0; i < 4; i++) sent.push((await call(t, 'POST', '/api/public/contact', body())).status)
    expect(sent).toEqual([201, 201, 201, 429])
    await forget()
  })

  test('works in a browser without scripts', async () => {
    const page = await fetch(`${t.url}/contact`)
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const secret = /name="token" value="([^"]+)"/.exec(await page.text())?.[1] as string
    clock.forward({ seconds: 4 })
    const post = (fields: Record<string, string>) =>
      fetch(`${t.url}/contact`, { method: 'POST', body: new URLSearchParams(fields) })
    const wrong = await post({ email: 'nobody', message: 'Long enough "><script>', token: secret })
    expect(wrong.status).toBe(422)
    const text = await wrong.text()
    expect(text).toContain('email is not a valid email')
    expect(text).not.toContain('<script')
    const message = unique('By the form ')
    const right = await post({ email: 'ada@example.com', message, token: secret, name: '', website: '' })
    expect([right.status, (await right.text()).includes('Your message was received')]).toEqual([200, true])
    expect((await list()).items[0]).toMatchObject({ message, spam: false, name: null })
    const rows = await t.app.db.select().from(contactMessages)
    expect(rows.filter((row) => row.message === message)).toHaveLength(1)
  })
})

test('active sponsors are listed for visitors by tier and order', async () => {
  await t.app.db.delete(sponsors)
  const make = async (body: object) => {
    const made = await admin.fetch<Sponsor>('POST', '/api/admin/sponsors', body)
    expect(made.status).toBe(201)
    await expectEvent(t, made, 'sponsor.created')
    return made.body
  }
  const { body: logo } = await admin.fetch<{ id: string; path: string }>('POST', '/api/admin/uploads', pictureForm())
  await make({ name: 'Bronze' })
  await make({ name: 'Second gold', tier: 'gold', position: 2 })
  const gold = await make({ name: 'First gold', tier: 'gold', position: 1, logoId: logo.id, url: 'https://a.example' })
  const off = await make({ name: 'Off', tier: 'platinum', active: false })
  const shown = async () => (await call<PublicSponsorList>(t, 'GET', '/api/public/sponsors')).body.items
  expect((await shown()).map(({ name }) => name)).toEqual(['First gold', 'Second gold', 'Bronze'])
  expect((await shown())[0]).toMatchObject({ logo: logo.path, url: 'https://a.example' })
  const changed = await admin.fetch('PUT', `/api/admin/sponsors/${off.id}`, { active: true }, { 'if-match': '"1"' })
  await expectEvent(t, changed, 'sponsor.updated')
  expect((await shown())[0]?.name).toBe('Off')
  await expectEvent(t, await admin.fetch('DELETE', `/api/admin/sponsors/${gold.id}`), 'sponsor.deleted')
  expect((await shown()).map(({ name }) => name)).not.toContain('First gold')
  for (const body of [{ logoUrl: 'https://evil.example/x.png' }, { url: 'http://a.example' }, { url: 'javascript:x' }])
    expect((await admin.fetch('PUT', `/api/admin/sponsors/${off.id}`, body)).status).toBe(422)
})

describe('the pages of the public site', () => {
  const text = async (path: string) => {
    const response = await fetch(`${t.url}${path}`)
    return { status: response.status, body: await response.text() }
  }

  test('name at most six active sponsors in the footer, and list all of them at /sponsors', async () => {
    await t.app.db.delete(sponsors)
    await admin.fetch('POST', '/api/admin/pages', { title: 'Imprint', slug: 'sponsored', status: 'published' })
    expect((await text('/p/sponsored')).body).not.toContain('Sponsors')
    expect((await text('/sponsors')).status).toBe(404)
    const { body: logo } = await admin.fetch<{ id: string; path: string }>('POST', '/api/admin/uploads', pictureForm())
    for (const n of [0, 1, 2, 3, 4, 5])
      await admin.fetch('POST', '/api/admin/sponsors', { name: `Silver ${n}`, tier: 'silver', position: n })
    await admin.fetch('POST', '/api/admin/sponsors', { name: 'Secret', tier: 'platinum', active: false })
    const gold = { name: 'A & B "Gold"', tier: 'gold', url: 'https://gold.example/', logoId: logo.id }
    const { body: made } = await admin.fetch<Sponsor>('POST', '/api/admin/sponsors', gold)
    const picture = `<a href="https://gold.example/" rel="sponsored noopener"><img src="${logo.path}" alt="${html(gold.name)}"`
    const footer = (await text('/p/sponsored')).body.split('<footer>')[1] ?? ''
    expect(footer).toContain(picture)
    expect(footer).toContain('<a href="/sponsors">Sponsors</a>')
    expect([footer.includes('Silver 4'), footer.includes('Silver 5'), footer.includes('Secret')]).toEqual([
      true,
      false,
      false,
    ])
    const { status, body } = await text('/sponsors')
    const [list = ''] = body.split('<footer>')
    expect(status).toBe(200)
    expect(list.indexOf('Gold</h2>')).toBeLessThan(list.indexOf('Silver</h2>'))
    for (const shown of [picture, 'Silver 0', 'Silver 5']) expect(list).toContain(shown)
    expect(body).not.toContain('Secret')
    await admin.fetch('DELETE', `/api/admin/sponsors/${made.id}`)
    expect((await text('/sponsors')).body).not.toContain('gold.example')
  })
})
