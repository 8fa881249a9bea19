import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { CommunityPage, CommunityPost, ModeratedPage } from '../../src/features/community/schema.ts'
import type { MarketplacePage, ModeratedItemPage } from '../../src/features/marketplace/schema.ts'
import type { NotificationPage } from '../../src/features/notifications/schema.ts'
import { siteSettings } from '../../src/features/settings/table.ts'
import type { PublicFoundList } from '../../src/features/site/schema.ts'
import { skills } from '../../src/features/skills/table.ts'
import { users } from '../../src/features/users/table.ts'
import { ways } from '../mcp/support.ts'
import { apiKey, call, mcpToken, member, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { expectEvent, expectEvents, expectRefusal, statuses, watch } from './support.ts'

const connect = ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string]
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
  test('does not exist until it is switched on', async () => {
    expect((await post(ada)).status).toBe(404)
    for (const path of ['/api/public/community/posts', '/community'])
      expect((await fetch(t.url + path)).status).toBe(404)
    await set('community', { enabled: true })
  })

  test('shows a post after an administrator approved it, and notifies its author', async () => {
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

  test('shows posts of known users at once if it is moderated afterwards; three reports hide a post', async () => {
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

  test('hides a post after three simultaneous reports', async () => {
    const author = await known()
    for (let i = 0; i < 3; i++) {
      const { id } = (await post(author)).body
      expect(statuses(await Promise.all(readers.map((who) => report(who, id))))).toEqual([200, 200, 200])
      expect((await open(id)).status).toBe(404)
    }
  })

  test('requires a confirmed address, reviews the posts of new accounts, and accepts five posts a day', async () => {
    await expectRefusal(t, await post(await person(t)), 403, 'forbidden')
    const fresh = await person(t)
    const verified = { emailVerifiedAt: new Date().toISOString() }
    await t.app.db.update(users).set(verified).where(eq(users.id, fresh.userId))
    expect((await post(fresh)).body.status).toBe('hidden')
    for (let i = 0; i < 4; i++) expect((await post(fresh)).status).toBe(201)
    expect((await post(fresh)).status).toBe(429)
  })

  test('hides hidden posts from the key of an administrator and from keys without the scope', async () => {
    await set('community', { moderation: 'before' })
    const { id } = (await post(ada)).body
    const path = `/api/public/community/posts/${id}`
    const by = async (who: Person, scopes?: string[]) =>
      (await call(t, 'GET', path, undefined, { authorization: `Bearer ${await apiKey(t, who, scopes)}` })).status
    expect((await admin.fetch('GET', path)).status).toBe(200)
    expect([await by(admin), await by(ada, ['notes:read']), await by(ada, ['community:read'])]).toEqual([404, 404, 200])
    await set('community', { moderation: 'after' })
  })

  test('is included in the public search while it is on', async () => {
    const word = unique('zebrafish')
    const { body } = await post(ada, { content: `About a ${word}` })
    const found = async () =>
      (await call<PublicFoundList>(t, 'GET', `/api/search/public?q=${word}&kinds=community`)).body.items
    expect(await found()).toMatchObject([
      { kind: 'community', path: `/api/public/community/posts/${body.id}`, author: { name: 'Ada Lovelace' } },
    ])
    await moderate(body.id, { status: 'hidden' })
    expect(await found()).toEqual([])
    await moderate(body.id, { status: 'visible' })
    await set('community', { enabled: false })
    expect(await found()).toEqual([])
    await set('community', { enabled: true })
  })
})

test('suspending a user hides everything they made public, but not from their team', async () => {
  await set('marketplace', { enabled: true })
  const who = await known({ name: unique('Mallory') })
  const friend = await member(t, who, 'viewer')
  const word = unique('quagga')
  const make = async <T = { id: string; slug: string }>(path: string, body: object) =>
    (await who.fetch<T>('POST', path, body)).body
  const community = (await post(who, { title: word })).body
  const skill = await make('/api/skills', { name: word, content: 'x', scope: 'public' })
  const agent = await make('/api/agents', { name: unique(word), role: word, scope: 'public' })
  const project = await make('/api/projects', { name: word, visibility: 'public' })
  const doc = await make('/api/notes', { title: word, content: 'x', scope: 'public', projectId: project.id })
  const note = await make('/api/notes', { title: word, content: 'x', scope: 'public' })
  const { handle } = (await who.fetch<{ handle: string }>('GET', '/api/auth/me')).body
  const team = (await who.fetch<{ slug: string }>('GET', '/api/team')).body.slug
  const records = [
    `/public/projects/${handle}/${project.slug}`,
    `/public/docs/${team}/${project.slug}`,
    `/public/docs/${team}/${project.slug}/${doc.slug}`,
    ...[`/notes/public/${note.slug}`, `/skills/public/${skill.slug}`, `/agents/public/${agent.slug}`],
  ]
  const paths = [...records, ...records.map((path) => `/api${path}`), `/u/${handle}`, `/community/${community.id}`]
  const statusesNow = async () => [
    ...new Set(await Promise.all(paths.map(async (p) => (await fetch(t.url + p)).status))),
  ]
  const found = async () =>
    (await call<PublicFoundList>(t, 'GET', `/api/search/public?q=${word}`)).body.items.map(({ kind }) => kind).sort()
  const listed = async () =>
    (await call<MarketplacePage>(t, 'GET', `/api/public/marketplace?search=${word}`)).body.items.length
  expect([await statusesNow(), await listed()]).toEqual([[200], 2])
  expect(await found()).toEqual(['agent', 'community', 'doc', 'note', 'project', 'skill'])
  await admin.fetch('PATCH', `/api/admin/users/${who.userId}/suspend`, {})
  expect([await statusesNow(), await listed(), await found()]).toEqual([[404], 0, []])
  for (const path of [`/api/skills/${skill.id}`, `/api/projects/${project.slug}`, `/api/notes/${note.id}`])
    expect((await friend.fetch('GET', path)).status).toBe(200)
  await admin.fetch('PATCH', `/api/admin/users/${who.userId}/unsuspend`, {})
  expect([await statusesNow(), await listed()]).toEqual([[200], 2])
  await set('marketplace', { enabled: null })
})

describe('the marketplace', () => {
  test('lists public skills and agents; if an administrator hides one, only its own team sees it', async () => {
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

  test('counts the agents that use a skill and the calls of other teams; archived agents are not listed', async () => {
    const skill = (
      await ada.fetch<{ id: string; slug: string; name: string }>('POST', '/api/skills', {
        ...{ name: unique('Counting'), scope: 'public', content: 'x' },
      })
    ).body
    const uses = async () =>
      (await call<MarketplacePage>(t, 'GET', `/api/public/marketplace?search=${skill.name}`)).body.items[0]?.uses
    const get = async (who: Person) => {
      const client = await connect(t.url, await mcpToken(t, who))
      expect((await client.call('get_skill', { skill: skill.slug })).isError).toBeFalsy()
      await client.close()
    }
    await get(ada)
    expect(await uses()).toBe(0)
    await get(readers[0] as Person)
    await get(readers[0] as Person)
    expect(await uses()).toBe(2)
    const name = unique('Archived')
    const agent = (await ada.fetch<{ id: string }>('POST', '/api/agents', { name, scope: 'public' })).body
    const agents = async () => (await call<MarketplacePage>(t, 'GET', `/api/public/marketplace?search=${name}`)).body
    expect((await agents()).items).toHaveLength(1)
    expect((await ada.fetch('PUT', `/api/agents/${agent.id}`, { status: 'archived' })).status).toBe(200)
    expect((await agents()).items).toEqual([])
  })

  test('still shows a hidden skill without a team to its author', async () => {
    const alone = await person(t)
    const skill = (
      await alone.fetch<{ id: string }>('POST', '/api/skills', {
        ...{ name: unique('Own'), scope: 'public', content: 'x' },
      })
    ).body
    await t.app.db.update(skills).set({ organizationId: null }).where(eq(skills.id, skill.id))
    await admin.fetch('PATCH', `/api/admin/marketplace/skill/${skill.id}`, { hidden: true })
    expect((await alone.fetch('GET', `/api/skills/${skill.id}`)).status).toBe(200)
    expect((await ada.fetch('GET', `/api/skills/${skill.id}`)).status).toBe(404)
  })

  test('is paged', async () => {
    const list = async (query: string) =>
      (await admin.fetch<ModeratedItemPage>('GET', `/api/admin/marketplace?${query}`)).body
    const whole = (await list('limit=200')).items.map(({ id }) => id)
    const first = await list('limit=1')
    const second = await list(`limit=1&cursor=${first.nextCursor}`)
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(whole.slice(0, 2))
    expect((await admin.fetch('GET', '/api/admin/marketplace?cursor=xx')).status).toBe(400)
  })
})

test('profiles and public records are pages without scripts', async () => {
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
