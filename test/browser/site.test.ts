import { afterAll, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { communityPosts } from '../../src/features/community/table.ts'
import { users } from '../../src/features/users/table.ts'
import { person, testApp, unique } from '../support/app.ts'
import { png } from '../support/pictures.ts'
import { call, evil, expectSound, inEachLook, looks, signedIn, teamOf, thorough, Visitor } from './support.ts'

/** The public site, and the pages from which administrators run it. */
const t = await testApp()
afterAll(() => t.close())

/** Texts that have run scripts in other renderers. Each would show a dialog, leave an error or ask another host. */
const attacks = [
  evil,
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '<svg><script>alert(1)</script></svg>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<math><mi//xlink:href="data:x,<script>alert(1)</script>">',
  '<a href="javascript:alert(1)">a</a>',
  '[a](javascript:alert(1))',
  '[a](JaVaScRiPt:alert(1))',
  '[a](java\tscript:alert(1))',
  '[a](&#106;avascript:alert(1))',
  '[a](vbscript:msgbox(1))',
  '[a](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '<javascript:alert(1)>',
  '![a](javascript:alert(1))',
  '![a](https://evil.example/x.png)',
  '![a](/uploads/../../api/auth/logout)',
  '![a](x "onerror=alert(1)")',
  '[a](https://ok.example "x\\" onmouseover=\\"alert(1)")',
  '[[<img src=x onerror=alert(1)>]]',
  '[a]: javascript:alert(1)\n\n[a]',
  '`<img src=x onerror=alert(1)>`',
  '```html\n<script>alert(1)</script>\n```',
  '# <img src=x onerror=alert(1)> {onclick=alert(1)}',
  '| <img src=x onerror=alert(1)> |\n| --- |\n| <script>alert(1)</script> |',
  '<style>@import "https://evil.example/x.css"</style>',
  '<form action="https://evil.example"><button>Send</button></form>',
  '<base href="https://evil.example/">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  '--><script>alert(1)</script><!--',
  '\u202e<script>alert(1)</script>',
].join('\n\n')

/** No element or attribute of a page can run anything or lead to another host by itself. */
const harmful = `[...document.querySelectorAll('main *')].flatMap((e) => [
  ...(/^(script|style|iframe|object|embed|svg|math|base|meta|form)$/i.test(e.tagName) && !e.closest('[action="/contact"]')
    ? [e.tagName] : []),
  ...[...e.attributes].filter(({ name, value }) =>
    /^on|^style$|^srcdoc$/i.test(name) || (/^(href|src|action)$/.test(name) && !/^(https?:|mailto:|\\/(?!\\/)|#)/.test(value))
  ).map(({ name, value }) => e.tagName + ' ' + name + '=' + value),
])`

thorough(
  'every public page shows stored markup as text, works without scripts and passes axe',
  async () => {
    const boss = await person(t, { admin: true, name: evil.slice(0, 100) })
    const root = await signedIn(t, boss.email)
    const make = <T = { id: string; slug: string }>(path: string, body: object) => call<T>(root, 'POST', path, body)
    for (const [key, patch] of Object.entries({
      blog: { enabled: true },
      contact: { enabled: true },
      community: { enabled: true },
      marketplace: { enabled: true },
      banner: { text: evil },
      general: { tagline: evil, siteName: 'Tutti' },
      seo: { description: evil },
    }))
      await call(root, 'PATCH', `/api/admin/settings/${key}`, patch)
    const title = `${evil} ${unique('x')}`
    const text = { title, content: attacks, description: evil, status: 'published' }
    const page = await make('/api/admin/pages', { ...text, nav: true })
    const category = await make('/api/admin/categories', { name: evil.slice(0, 60), slug: 'news', description: evil })
    await call(root, 'PATCH', '/api/admin/settings/home', { pageSlug: page.slug })
    await call(root, 'PATCH', '/api/auth/profile', { bio: evil })
    const post = await make('/api/admin/posts', { ...text, excerpt: evil, categoryId: category.id, tags: ['<b>'] })
    const skill = await make('/api/skills', {
      name: unique('Skill'),
      description: evil,
      content: attacks,
      scope: 'public',
    })
    const agent = await make('/api/agents', { name: unique('Agent'), role: evil, persona: attacks, scope: 'public' })
    const note = await make('/api/notes', { title, content: attacks, scope: 'public' })
    const project = await make('/api/projects', { name: title, description: attacks, visibility: 'public' })
    const doc = await make('/api/notes', { title, content: attacks, scope: 'public', projectId: project.id })
    const sponsor = { url: 'https://sponsor.example/', description: evil }
    for (const tier of ['gold', 'silver'])
      await make('/api/admin/sponsors', { ...sponsor, name: evil.slice(0, 90), tier })
    const docs = `/public/docs/${await teamOf(root)}/${project.slug}`
    const at = new Date().toISOString()
    const row = {
      authorId: boss.userId,
      title,
      content: attacks,
      status: 'visible',
      createdAt: at,
      updatedAt: at,
    } as const
    const [shared] = await t.app.db.insert(communityPosts).values(row).returning({ id: communityPosts.id })
    const [me] = await t.app.db.select({ handle: users.handle }).from(users).where(eq(users.id, boss.userId))
    await root.context.close()
    const paths = [
      ...[`/p/${page.slug}`, '/blog', `/blog/${post.slug}`, `/blog/category/${category.slug}`],
      ...['/community', `/community/${shared?.id}`, '/marketplace', '/sponsors', `/u/${me?.handle}`],
      ...[`/skills/public/${skill.slug}`, `/agents/public/${agent.slug}`, `/notes/public/${note.slug}`],
      ...['/', `/public/projects/${me?.handle}/${project.slug}`, docs, `${docs}/${doc.slug}`],
    ]
    const check = async (who: Visitor, path: string) => {
      await expectSound(who, path, 'main h1')
      expect({ path, harmful: await who.page.evaluate(harmful) }).toEqual({ path, harmful: [] })
    }
    for (const look of looks) {
      const at = { url: t.app.url, output: () => '' }
      const visitor = await Visitor.open({ at, locale: 'en-GB', ...look })
      for (const path of paths) await check(visitor, path)
      await visitor.leave()
      // A page with a form tells our server where it was sent from, which `leave` takes for trouble.
      const writer = await Visitor.open({ at, locale: 'en-GB', ...look })
      await check(writer, '/contact')
      await writer.context.close()
    }
  },
  300_000,
)

test('a visitor sends a contact message without scripts, and an administrator reads it', async () => {
  const boss = await person(t, { admin: true, name: 'Root' })
  const root = await signedIn(t, boss.email)
  await call(root, 'PATCH', '/api/admin/settings/contact', { enabled: true })
  const visitor = await Visitor.open({ at: { url: t.app.url, output: () => '' }, javaScriptEnabled: false })
  await visitor.goto('/contact')
  const message = unique('Does it work without scripts? ')
  await visitor.page.getByLabel('Your e-mail address').fill('grace@example.com')
  await visitor.page.getByLabel('Message').fill(message)
  await visitor.button('Send').click()
  await visitor.see('Your message was received')
  await visitor.context.close()
  // It was sent within three seconds, as programs do, or later, as people do: it is stored either way.
  await root.goto('/admin/contact')
  await root.page.getByRole('heading', { name: 'Administration: Contact' }).waitFor()
  const rows = await call<{ items: { message: string; spam: boolean }[] }>(root, 'GET', '/api/admin/contact')
  const sent = rows.items.find((item) => item.message === message)
  if (sent?.spam) await root.button('Spam').click()
  await root.see(message)
  await root.leave()
}, 300_000)

thorough(
  'an administrator publishes a page and turns the blog on, and all pages of the site pass axe',
  async () => {
    const boss = await person(t, { admin: true, name: 'Root' })
    const root = await signedIn(t, boss.email)
    await root.goto('/admin/site')
    await root.button('New page').click()
    const title = unique('Imprint')
    await root.page.getByLabel('Title').fill(title)
    await root.page.getByRole('textbox', { name: 'Text' }).fill('We are **here**.')
    const file = { name: 'cover.png', mimeType: 'image/png', buffer: png() }
    await root.page.locator('input[type=file]').first().setInputFiles(file)
    await root.page.getByLabel('Alternative text').fill(`A desk ${evil}`)
    await root.page.getByRole('group', { name: 'Cover picture' }).getByRole('img').waitFor()
    await root.button('Publish').click()
    await root.page.getByRole('cell', { name: title, exact: true }).waitFor()
    await root.page.getByRole('row', { name: title }).getByText('live').waitFor()
    const response = await fetch(`${t.url}/p/${title.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`)
    const text = await response.text()
    expect(text).toContain('<strong>here</strong>')
    expect(text).toMatch(/<img src="\/uploads\/[^"]+" alt="A desk &#60;img/)
    await root.goto('/admin/settings')
    await root.page.getByText('Name and address of this site').click()
    await root.page.getByLabel('Site name').fill('Analytical Engines')
    await root.button('Save general').click()
    await root.see('Saved: general')
    expect(await (await fetch(`${t.url}/api/public/settings/general`)).text()).toContain('Analytical Engines')
    await call(root, 'PATCH', '/api/admin/settings/general', { siteName: null })
    const ada = await person(t)
    const stranger = await signedIn(t, ada.email)
    await stranger.goto('/admin/site')
    await stranger.see('Page not found')
    await stranger.leave()
    await inEachLook(root, async () => {
      for (const path of ['site', 'community', 'contact', 'sponsors', 'marketplace', 'tracker'])
        await expectSound(root, `/admin/${path}`, 'main h1')
      await expectSound(root, '/admin/settings', 'main tbody tr')
      await expectSound(root, '/community/new', 'main form')
    })
    await root.leave()
  },
  300_000,
)
