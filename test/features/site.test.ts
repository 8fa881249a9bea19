import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { runInProcess } from '../../src/control/server.ts'
import type { AuditPage } from '../../src/features/admin/schema.ts'
import type {
  Category,
  CategoryList,
  Page,
  PagePage,
  Post,
  PublicPage,
  PublicPost,
  PublicPostPage,
  Sitemap,
} from '../../src/features/site/content-schema.ts'
import { pageCommands } from '../../src/features/site/control.ts'
import type { PublicFoundList } from '../../src/features/site/schema.ts'
import { call, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { pictureForm } from '../support/pictures.ts'
import { expectEvent, expectRefusal, TestClock, watch } from './support.ts'

const clock = new TestClock()
let t: TestApp
let admin: Person
const set = (key: string, body: object) => admin.fetch('PATCH', `/api/admin/settings/${key}`, body)
beforeAll(async () => {
  t = watch(await testApp({ APP_URL: 'http://127.0.0.1:9', background: 'off' }, clock.now))
  admin = await person(t, { admin: true })
  await set('blog', { enabled: true })
})
afterAll(async () => {
  for (const key of ['blog', 'seo', 'home', 'banner']) await set(key, { enabled: null }).catch(() => undefined)
  await set('seo', { indexing: null })
  await set('home', { pageSlug: null })
  await t.close()
})

const make = async <T>(noun: string, body: object): Promise<T> => {
  const { status, body: made } = await admin.fetch('POST', `/api/admin/${noun}`, body)
  expect([status, made]).toEqual([201, made])
  return made as T
}
const put = <T>(noun: string, id: string, body: object, headers: Record<string, string> = {}) =>
  admin.fetch<T>('PUT', `/api/admin/${noun}/${id}`, body, headers)
const open = <T = Record<string, unknown>>(path: string) => call<T>(t, 'GET', path)
const html = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(t.url + path, { headers, redirect: 'manual' })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
const live = (title = unique('Page')) => ({ title, status: 'published', content: `About ${title}` })

describe('a page of the site', () => {
  test('starts as a draft for administrators, and is public once it is published', async () => {
    const title = unique('About us')
    const answer = await admin.fetch<Page>('POST', '/api/admin/pages', { title, content: 'Hello **you**' })
    const page = answer.body
    expect(page).toMatchObject({ status: 'draft', publishedAt: null, live: false, nav: false, version: 1 })
    await expectEvent(t, answer, 'page.created')
    const path = `/api/public/pages/${page.slug}`
    expect([(await open(path)).status, (await html(`/p/${page.slug}`)).status]).toEqual([404, 404])
    const changed = await put<Page>('pages', page.id, { status: 'published' }, { 'if-match': '"1"' })
    expect(changed.body).toMatchObject({ live: true, publishedAt: clock.now().toISOString(), version: 2 })
    expect((await open<PublicPage>(path)).body).toMatchObject({ title, html: '<p>Hello <strong>you</strong></p>\n' })
    const shown = await html(`/p/${page.slug}`)
    expect(shown.text).toContain('<p>Hello <strong>you</strong></p>')
    expect(shown.text).toContain(`<link rel="canonical" href="http://127.0.0.1:9/p/${page.slug}">`)
    await put('pages', page.id, { status: 'draft' })
    expect([(await open(path)).status, (await html(`/p/${page.slug}`)).status]).toEqual([404, 404])
    expect((await put('pages', page.id, { title: 'x' }, { 'if-match': '"1"' })).status).toBe(412)
  })

  test('that is scheduled appears at its time', async () => {
    const soon = new Date(clock.now().getTime() + 120_000).toISOString()
    const page = await make<Page>('pages', { ...live(), publishedAt: soon })
    expect(page).toMatchObject({ live: false, publishedAt: soon })
    expect((await open(`/api/public/pages/${page.slug}`)).status).toBe(404)
    clock.forward({ minutes: 3 })
    expect((await open(`/api/public/pages/${page.slug}`)).status).toBe(200)
    expect((await html(`/p/${page.slug}`)).status).toBe(200)
  })

  test('keeps its former address until another page takes it', async () => {
    const [first, second] = [unique('first'), unique('second')]
    const page = await make<Page>('pages', { ...live(), slug: first })
    await put('pages', page.id, { slug: second })
    const moved = await html(`/p/${first}`)
    expect([moved.status, moved.headers.get('location')]).toEqual([301, `/p/${second}`])
    expect((await open<PublicPage>(`/api/public/pages/${first}`)).body.slug).toBe(second)
    await put('pages', page.id, { slug: first })
    expect([(await html(`/p/${first}`)).status, (await html(`/p/${second}`)).status]).toEqual([200, 301])
    const other = await make<Page>('pages', { ...live(), slug: second })
    expect((await open<PublicPage>(`/api/public/pages/${second}`)).body.title).toBe(other.title)
    await expectRefusal(t, await put('pages', other.id, { slug: first }), 409, 'conflict.exists')
    const taken = await admin.fetch('POST', '/api/admin/pages', { title: 'x', slug: first })
    await expectRefusal(t, taken, 409, 'conflict.exists')
  })

  test('is listed without its text, found by its title, and deleted', async () => {
    const page = await make<Page>('pages', live(unique('Imprint')))
    const list = async (query: string) => (await admin.fetch<PagePage>('GET', `/api/admin/pages?${query}`)).body
    const { items, total } = await list(`search=${page.title.toLowerCase()}&total=true`)
    expect([items.map(({ id }) => id), total]).toEqual([[page.id], 1])
    expect(items[0]).not.toHaveProperty('content')
    expect((await list(`search=${page.title}&status=draft`)).items).toEqual([])
    const gone = await admin.fetch('DELETE', `/api/admin/pages/${page.id}`)
    await expectEvent(t, gone, 'page.deleted')
    expect((await admin.fetch('GET', `/api/admin/pages/${page.id}`)).status).toBe(404)
    expect((await html(`/p/${page.slug}`)).status).toBe(404)
    // Its slug is free again.
    await make<Page>('pages', { ...live(), slug: page.slug })
  })

  test('is restored within 30 days, at another address if its own was taken', async () => {
    const page = await make<Page>('pages', live(unique('Undone')))
    const list = async (query: string) => (await admin.fetch<PagePage>('GET', `/api/admin/pages?${query}`)).body.items
    const restore = (id: string) => admin.fetch<Page>('POST', `/api/admin/pages/${id}/restore`)
    const remove = () => admin.fetch('DELETE', `/api/admin/pages/${page.id}`)
    await remove()
    expect(await list(`slug=${page.slug}`)).toEqual([])
    expect(await list(`slug=${page.slug}&deleted=true`)).toMatchObject([{ id: page.id, live: false }])
    const back = await restore(page.id)
    expect(back.body).toMatchObject({ slug: page.slug, live: true, content: page.content, version: 3 })
    await expectEvent(t, back, 'page.restored')
    expect((await html(`/p/${page.slug}`)).status).toBe(200)
    expect((await restore(page.id)).body.version).toBe(3)
    await remove()
    const other = await make<Page>('pages', { ...live(), slug: page.slug })
    expect((await restore(page.id)).body.slug).toBe(`${page.slug}-2`)
    expect((await html(`/p/${page.slug}`)).text).toContain(other.title)
    await remove()
    clock.forward({ days: 31 })
    admin = await person(t, { admin: true })
    expect(await list(`slug=${page.slug}-2&deleted=true`)).toEqual([])
    await expectRefusal(t, await restore(page.id), 404, 'not_found')
    const post = await make<Post>('posts', live())
    await admin.fetch('DELETE', `/api/admin/posts/${post.id}`)
    expect((await admin.fetch<Post>('POST', `/api/admin/posts/${post.id}/restore`)).body.live).toBe(true)
  })

  test('created with the command line is the operator’s in the audit log', async () => {
    const page = await runInProcess(t.app, pageCommands.create, { title: unique('By hand') })
    const found = await runInProcess(t.app, pageCommands.list, { slug: page.slug, limit: 1 })
    expect(found.items.map(({ id }) => id)).toEqual([page.id])
    const { items } = (await admin.fetch<AuditPage>('GET', '/api/admin/audit?type=page.created&limit=1')).body
    expect(items[0]).toMatchObject({ subjectId: page.id, actor: { name: 'operator' } })
  })

  test('gets a slug of its own from its title', async () => {
    const title = unique('Same title')
    const slugs = [await make<Page>('pages', { title }), await make<Page>('pages', { title })].map(({ slug }) => slug)
    expect(slugs[1]).toBe(`${slugs[0]}-2`)
  })

  test('can only have a picture of the site', async () => {
    const { body, status } = await admin.fetch<{ id: string; path: string }>(
      'POST',
      '/api/admin/uploads',
      pictureForm(),
    )
    expect(status).toBe(201)
    const page = await make<Page>('pages', { ...live(), coverId: body.id })
    const { text } = await html(`/p/${page.slug}`)
    expect(text).toContain(`<img src="${body.path}" alt="">`)
    expect(text).toContain(`<meta property="og:image" content="http://127.0.0.1:9${body.path}">`)
    expect((await put('pages', page.id, { coverId: page.id })).status).toBe(404)
    await put('pages', page.id, { coverAlt: 'Two "people"' })
    expect((await html(`/p/${page.slug}`)).text).toContain(`<img src="${body.path}" alt="Two &#34;people&#34;">`)
  })
})

describe('the blog', () => {
  test('lists live posts by category, with a feed', async () => {
    const category = await make<Category>('categories', { name: unique('Operations') })
    const post = await make<Post>('posts', {
      ...live(unique('Deploying & more')),
      excerpt: 'Twice <a> day',
      categoryId: category.id,
      tags: ['ops'],
    })
    await make<Post>('posts', { title: unique('Draft') })
    const listed = (await open<PublicPostPage>(`/api/public/posts?category=${category.slug}`)).body.items
    expect(listed).toMatchObject([{ title: post.title, category: { slug: category.slug }, tags: ['ops'] }])
    expect(listed[0]).not.toHaveProperty('content')
    expect((await open<PublicPost>(`/api/public/posts/${post.slug}`)).body.html).toContain('About Deploying')
    for (const path of ['/blog', `/blog/category/${category.slug}`])
      expect((await html(path)).text).toContain(`<a href="/blog/${post.slug}">`)
    expect((await html(`/blog/${post.slug}`)).text).toContain('<meta property="og:type" content="article">')
    const feed = await html('/feed.xml')
    expect(feed.headers.get('content-type')).toBe('application/atom+xml; charset=utf-8')
    expect(feed.text).toContain(`<id>http://127.0.0.1:9/blog/${post.slug}</id>`)
    expect(feed.text).toContain('<summary>Twice &#60;a&#62; day</summary>')
    const { items } = (await admin.fetch<CategoryList>('GET', '/api/admin/categories')).body
    expect(items.find(({ id }) => id === category.id)?.posts).toBe(1)
    await admin.fetch('DELETE', `/api/admin/categories/${category.id}`)
    expect((await admin.fetch<Post>('GET', `/api/admin/posts/${post.id}`)).body.categoryId).toBeNull()
    expect((await put('posts', post.id, { categoryId: category.id })).status).toBe(404)
  })

  test('is absent while it is off', async () => {
    const post = await make<Post>('posts', live(unique('zebra')))
    const found = () => open<PublicFoundList>(`/api/search/public?q=${post.title}&kinds=post`)
    expect((await found()).body.items).toMatchObject([{ kind: 'post', path: `/api/public/posts/${post.slug}` }])
    await set('blog', { enabled: false })
    for (const path of ['/blog', `/blog/${post.slug}`, '/feed.xml', '/api/public/posts', '/api/public/categories'])
      expect([path, (await html(path)).status]).toEqual([path, 404])
    expect((await found()).body.items).toEqual([])
    await set('blog', { enabled: true })
    expect((await html('/blog')).status).toBe(200)
  })
})

describe('a public page', () => {
  test('is the same for all visitors, contains no script, and is answered with 304 if unchanged', async () => {
    const page = await make<Page>('pages', live())
    const first = await html(`/p/${page.slug}`)
    expect(first.text).not.toContain('<script')
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'cache-control': 'public, max-age=60, stale-while-revalidate=600',
      'content-security-policy':
        "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    })
    expect(first.headers.get('set-cookie')).toBeNull()
    const etag = first.headers.get('etag') as string
    expect((await html(`/p/${page.slug}`, { authorization: `Bearer ${admin.token}` })).headers.get('etag')).toBe(etag)
    const again = await html(`/p/${page.slug}`, { 'if-none-match': etag })
    expect([again.status, again.text, again.headers.get('x-api-version') !== null]).toEqual([304, '', true])
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    // Also what comes from memory is refused under another name, or to a page of another origin.
    const foreign: Record<string, string>[] = [{ host: 'evil.example' }, { origin: 'https://evil.example' }]
    for (const headers of foreign) expect((await html(`/p/${page.slug}`, headers)).status).toBe(403)
    await set('general', { siteName: 'Elsewhere' })
    const changed = await html(`/p/${page.slug}`, { 'if-none-match': etag })
    expect([changed.status, changed.text.includes('Elsewhere')]).toEqual([200, true])
    await set('general', { siteName: null })
  })

  test('is hidden from search engines unless indexing is allowed', async () => {
    const page = await make<Page>('pages', live())
    const sitemap = async () => (await html('/sitemap.xml')).text
    expect((await html('/robots.txt')).text).toBe('User-agent: *\nDisallow: /\n')
    expect((await html(`/p/${page.slug}`)).text).toContain('<meta name="robots" content="noindex">')
    expect(await sitemap()).not.toContain('<url>')
    await set('seo', { indexing: true })
    expect((await html('/robots.txt')).text).toContain('Sitemap: http://127.0.0.1:9/sitemap.xml')
    expect((await html(`/p/${page.slug}`)).text).not.toContain('noindex')
    expect(await sitemap()).toContain(`<loc>http://127.0.0.1:9/p/${page.slug}</loc>`)
    const { body } = await admin.fetch<Sitemap>('POST', '/api/admin/settings/generate-sitemap')
    expect(body).toMatchObject({ url: 'http://127.0.0.1:9/sitemap.xml', indexed: true })
    expect((await sitemap()).match(/<url>/g)?.length).toBe(body.urls)
    const etag = (await html('/sitemap.xml')).headers.get('etag') as string
    const again = () => html('/sitemap.xml', { 'if-none-match': etag })
    expect([(await again()).status, (await again()).text]).toEqual([304, ''])
    await admin.fetch('DELETE', `/api/admin/pages/${page.id}`)
    expect((await again()).status).toBe(200)
    await set('seo', { indexing: null })
  })

  test('is shown at / if the setting says so', async () => {
    expect((await html('/')).text).toContain('People and agents, <br>one plan')
    const page = await make<Page>('pages', live())
    await set('home', { pageSlug: page.slug })
    const home = await html('/')
    expect([home.headers.get('cache-control'), home.text.includes(page.title)]).toEqual(['private, no-cache', true])
    await set('home', { pageSlug: null })
  })

  test('of a user is rendered once, however its address is written', async () => {
    const content = `Rope ${unique('and stone')}`
    const note = { title: unique('Rope'), content, scope: 'public' }
    const { slug } = (await admin.fetch<{ slug: string }>('POST', '/api/notes', note)).body
    const render = spyOn(Bun.markdown, 'html')
    for (const written of [slug, `%${slug.charCodeAt(0).toString(16)}${slug.slice(1)}`, slug.toUpperCase()])
      expect((await html(`/notes/public/${written}`)).text).toContain(content)
    const times = render.mock.calls.filter(([text]) => text === content).length
    render.mockRestore()
    expect(times).toBe(1)
  })

  test('never contains markup that a text smuggles in', async () => {
    const content = [
      '<script>alert(1)</script> <img src=x onerror=alert(1)>',
      '[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) [d](//evil.example) <javascript:alert(1)>',
      '![e](https://evil.example/x.png) ![f](/uploads/../api) ![g](javascript:alert(1))',
      '[h](https://ok.example "x\\" onmouseover=\\"alert(1)") `<b>` [[<img src=x onerror=alert(1)>]]',
      '# Heading <svg onload=alert(1)>',
      '<a href="javascript:alert(1)" style="x">i</a> &lt;script&gt;',
    ].join('\n\n')
    const page = await make<Page>('pages', { ...live('<script>alert(2)</script>'), content, description: '"><script>' })
    const { text } = await html(`/p/${page.slug}`)
    const found: string[] = []
    const note = (e: HTMLRewriterTypes.Element) =>
      void found.push([e.tagName, ...Array.from(e.attributes, ([name, value]) => `${name}=${value}`)].join(' '))
    new HTMLRewriter().on('main article *', { element: note }).transform(text)
    expect(text).not.toContain('<script')
    expect(found).toEqual([
      'h1',
      'p',
      'p',
      ...Array.from({ length: 4 }, () => 'a rel=noopener'),
      'p',
      'p',
      'a href=https://ok.example title=x&quot; onmouseover=&quot;alert(1) rel=noopener',
      'code',
      'h2 id=md-heading-svg-onloadalert1',
      'p',
    ])
  })
})
