import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { CommunityPage, CommunityPost, ModeratedPage } from '../../src/features/community/schema.ts'
import type { MarketplacePage, ModeratedItemPage } from '../../src/features/marketplace/schema.ts'
import type { NotificationPage } from '../../src/features/notifications/schema.ts'
import { siteSettings } from '../../src/features/settings/table.ts'
import { users } from '../../src/features/users/table.ts'
import { call, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { expectEvent, expectEvents, expectRefusal, watch } from './support.ts'

let t: TestApp
let admin: Person
let ada: Person
let readers: Person[]
beforeAll(async () => {
  t = watch(await testApp({ background: 'off' }))
  await t.app.db.delete(siteSettings)
  admin = await person(t, { admin: true })
  ada = await known({ name: 'Ada Lovelace' })
  readers = [await known(), await known(), await known()]
})
afterAll(async () => {
  await t.app.db.delete(siteSettings)
  await t.close()
})

const set = (key: string, body: object) => admin.fetch('PATCH', `/api/admin/settings/${key}`, body)
/** Somebody who has had a confirmed address for a while. */
async function known(options = {}): Promise<Person> {
  const who = await person(t, options)
  const before = new Date(Date.now() - 7 * 86_400_000).toISOString()
  await t.app.db.update(users).set({ emailVerifiedAt: before, createdAt: before }).where(eq(users.id, who.userId))
  return who
}
const post = (who: Person, more: object = {}) =>
  who.fetch<CommunityPost>('POST', '/api/community/posts', { title: unique('Hello'), content: 'To **all**', ...more })
const open = (id: string) => call<CommunityPost>(t, 'GET', `/api/public/community/posts/${id}`)
const listed = async () =>
  (await call<CommunityPage>(t, 'GET', '/api/public/community/posts')).body.items.map(({ id }) => id)
const moderate = (id: string, body: object) => admin.fetch('PATCH', `/api/admin/community/posts/${id}`, body)
const report = (who: Person, id: string) =>
  who.fetch('POST', `/api/community/posts/${id}/report`, { reason: 'It advertises something.' })
const told = async (who: Person, reason: string) =>
  (await who.fetch<NotificationPage>('GET', '/api/notifications')).body.items.filter((n) => n.reason === reason)

describe('the community', () => {
  test('is not there until it is switched on', async () => {
    expect((await post(ada)).status).toBe(404)
    for (const path of ['/api/public/community/posts', '/community'])
      expect((await fetch(t.url + path)).status).toBe(404)
    await set('community', { enabled: true })
  })

  test('shows a post once an administrator has looked at it, and tells its author', async () => {
    const made = await post(ada)
    expect([made.status, made.body.status]).toEqual([201, 'hidden'])
    await expectEvent(t, made, 'community_post.created')
    const { id } = made.body
    expect((await open(id)).status).toBe(404)
    expect((await ada.fetch('GET', `/api/public/community/posts/${id}`)).status).toBe(200)
    expect((await readers[0]?.fetch('GET', `/api/public/community/posts/${id}`))?.status).toBe(404)
    const shown = await moderate(id, { status: 'visible' })
    await expectEvents(t, shown, 'community_post.updated', 'notification.created')
    expect((await open(id)).body).toMatchObject({
      title: made.body.title,
      html: '<p>To <strong>all</strong></p>\n',
      author: { name: 'Ada Lovelace' },
    })
    expect(await listed()).toContain(id)
    expect((await told(ada, 'community'))[0]?.title).toBe(`Your post is public now: ${made.body.title}`)
    // An edited text is looked at again.
    expect((await ada.fetch('PATCH', `/api/community/posts/${id}`, { content: 'Else' })).body.status).toBe('hidden')
    await expectRefusal(t, await (readers[0] as Person).fetch('DELETE', `/api/community/posts/${id}`), 404, 'not_found')
    await expectEvent(t, await ada.fetch('DELETE', `/api/community/posts/${id}`), 'community_post.deleted')
  })

  test('shows posts of known users at once where it is moderated afterwards; three reports hide one', async () => {
    await set('community', { moderation: 'after' })
    const { body } = await post(ada, { content: '[x](https://elsewhere.example) <script>alert(1)</script>' })
    expect(body.status).toBe('visible')
    expect(body.html).toContain('rel="nofollow ugc noopener"')
    const page = await (await fetch(`${t.url}/community/${body.id}`)).text()
    expect(page).toContain(body.title)
    expect(page).not.toContain('<script')
    expect((await fetch(`${t.url}/community/nothing`)).status).toBe(404)
    expect(await (await fetch(`${t.url}/community`)).text()).toContain(`/community/${body.id}`)
    const [one, two, three] = readers as [Person, Person, Person]
    expect((await report(one, body.id)).body).toEqual({ id: body.id, reported: true })
    expect((await report(one, body.id)).body).toEqual({ id: body.id, reported: false })
    expect((await report(ada, body.id)).status).toBe(409)
    await report(two, body.id)
    expect((await open(body.id)).status).toBe(200)
    await report(three, body.id)
    expect((await open(body.id)).status).toBe(404)
    expect((await fetch(`${t.url}/community/${body.id}`)).status).toBe(404)
    const { items } = (await admin.fetch<ModeratedPage>('GET', '/api/admin/community/posts?status=hidden')).body
    expect(items.find(({ id }) => id === body.id)).toMatchObject({ reports: 3, author: { id: ada.userId } })
    await moderate(body.id, { status: 'visible', pinned: true })
    expect((await open(body.id)).body.pinned).toBe(true)
    await expectEvents(
      t,
      await admin.fetch('DELETE', `/api/admin/community/posts/${body.id}`),
      'community_post.deleted',
      'notification.created',
    )
  })

  test('needs a confirmed address; a new account is looked at first; five posts a day are enough', async () => {
    await expectRefusal(t, await post(await person(t)), 403, 'forbidden')
    const fresh = await person(t)
    const verified = { emailVerifiedAt: new Date().toISOString() }
    await t.app.db.update(users).set(verified).where(eq(users.id, fresh.userId))
    expect((await post(fresh)).body.status).toBe('hidden')
    for (let i = 0; i < 4; i++) expect((await post(fresh)).status).toBe(201)
    expect((await post(fresh)).status).toBe(429)
  })

  test('shows nothing of a suspended user', async () => {
    const who = await known()
    const { id } = (await post(who)).body
    expect((await open(id)).status).toBe(200)
    await admin.fetch('PATCH', `/api/admin/users/${who.userId}/suspend`, {})
    expect([(await open(id)).status, (await listed()).includes(id)]).toEqual([404, false])
  })
})

describe('the marketplace', () => {
  test('lists public skills and agents; what an administrator hides is seen by its own team only', async () => {
    const skill = (await ada.fetch('POST', '/api/skills', { name: unique('Reviewing'), scope: 'public', content: 'x' }))
      .body as { id: string; slug: string; name: string }
    await ada.fetch('POST', '/api/agents', { name: unique('Reviewer'), scope: 'public', skills: [skill.id] })
    const shown = () => call<MarketplacePage>(t, 'GET', `/api/public/marketplace?search=${skill.name}`)
    expect((await shown()).status).toBe(404)
    await set('marketplace', { enabled: true })
    expect((await shown()).body.items).toMatchObject([
      { kind: 'skill', id: skill.id, uses: 1, author: { name: 'Ada Lovelace' } },
    ])
    for (const path of ['/marketplace', `/skills/public/${skill.slug}`])
      expect(await (await fetch(t.url + path)).text()).toContain(skill.name)
    const path = `/api/public/marketplace/skill/${skill.id}/report`
    const [reader] = readers as [Person]
    const reported = await reader.fetch('POST', path, { reason: 'It copies.' })
    await expectEvent(t, reported, 'marketplace_item.reported')
    const hide = (hidden: boolean) =>
      admin.fetch('PATCH', `/api/admin/marketplace/skill/${skill.id}`, { hidden, reason: 'It copies.' })
    const hidden = await hide(true)
    expect(hidden.body).toMatchObject({ hidden: true, reports: 1, reason: 'It copies.' })
    await expectEvents(t, hidden, 'marketplace_item.moderated', 'notification.created')
    expect((await told(ada, 'marketplace'))[0]?.message).toBe('It copies.')
    expect((await shown()).body.items).toEqual([])
    for (const gone of [`/api/skills/public/${skill.slug}`, `/skills/public/${skill.slug}`])
      expect((await fetch(t.url + gone)).status).toBe(404)
    expect((await reader.fetch('GET', `/api/skills/${skill.id}`)).status).toBe(404)
    expect((await ada.fetch('GET', `/api/skills/${skill.id}`)).status).toBe(200)
    expect((await reader.fetch('POST', path, { reason: 'x' })).status).toBe(404)
    await hide(false)
    expect((await call(t, 'GET', `/api/skills/public/${skill.slug}`)).status).toBe(200)
  })

  test('is listed page by page', async () => {
    const list = async (query: string) =>
      (await admin.fetch<ModeratedItemPage>('GET', `/api/admin/marketplace?${query}`)).body
    const whole = (await list('limit=200')).items.map(({ id }) => id)
    const first = await list('limit=1')
    const second = await list(`limit=1&cursor=${first.nextCursor}`)
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(whole.slice(0, 2))
    expect((await admin.fetch('GET', '/api/admin/marketplace?cursor=xx')).status).toBe(400)
  })
})

test('a profile and public records are pages without scripts', async () => {
  const note = await ada.fetch<{ slug: string }>('POST', '/api/notes', {
    title: unique('Deploying'),
    content: '# Steps\n\n<script>',
    scope: 'public',
  })
  const { handle } = (await ada.fetch<{ handle: string }>('GET', '/api/auth/me')).body
  const profile = await (await fetch(`${t.url}/u/${handle}`)).text()
  expect(profile).toContain(`/notes/public/${note.body.slug}`)
  expect(profile).toContain('/skills/public/')
  expect((await fetch(`${t.url}/u/nobody-of-this-name`)).status).toBe(404)
  const page = await (await fetch(`${t.url}/notes/public/${note.body.slug}`)).text()
  expect(page).toContain('id="md-steps"')
  expect(page).not.toContain('<script')
})
