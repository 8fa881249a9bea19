import type { Ctx } from '../../action.ts'
import { hashSecret } from '../../auth/secrets.ts'
import type { SitePageRenderer } from '../../feature.ts'
import { cachedHtml } from '../../pages/markdown.ts'
import { html } from '../../pages/pages.ts'
import { dateElement } from '../../pages/site-page.ts'
import * as agents from '../agents/service.ts'
import * as docs from '../notes/docs.ts'
import * as projects from '../projects/service.ts'
import * as skills from '../skills/service.ts'
import { renderPage } from './frame.ts'
import { profileOf } from './profile.ts'
import { type RenderedPage, servePage } from './serve.ts'

/** Pages of public records, at the paths of the API without `/api`. */

type Author = { handle: string; name: string } | null
interface PublicRecord {
  /** The canonical address of the record, whatever the request used. */
  path: string
  title: string
  lead?: string | null
  text: string
  author: Author
  updatedAt?: string
  more?: string
}

const bylineHtml = (author: Author, updatedAt?: string): string =>
  `<p class="soft small">${[
    author ? `<a href="/u/${html(author.handle)}">${html(author.name)}</a>` : '',
    updatedAt ? dateElement(updatedAt) : '',
  ]
    .filter(Boolean)
    .join(' · ')}</p>`

/** A text by a user: its links are marked `nofollow`. */
async function page(
  ctx: Ctx,
  { path, title, lead, text, author, updatedAt, more = '' }: PublicRecord,
): Promise<RenderedPage> {
  // Cached by its text: an address can be written in many ways, and each would render the text again.
  const shown = await cachedHtml(`text ${hashSecret(text)}`, text, true)
  const body = `<article><h1>${html(title)}</h1>${lead ? `<p class="lead">${html(lead)}</p>` : ''}${bylineHtml(author, updatedAt)}${shown}${more}</article>`
  return { body: await renderPage(ctx, { title, description: lead?.slice(0, 300), path, type: 'article', body }) }
}

const recordPage =
  (read: (ctx: Ctx, params: Record<string, string>) => Promise<PublicRecord>): SitePageRenderer =>
  (ctx, { params, ...request }) =>
    servePage(ctx, request, async () => page(ctx, await read(ctx, params)))

const list = (items: { href: string; text: string }[]): string =>
  items.length > 0
    ? `<ul>${items.map(({ href, text }) => `<li><a href="${html(href)}">${html(text)}</a></li>`).join('')}</ul>`
    : ''

const note = recordPage(async (ctx, { slug = '' }) => {
  const { title, slug: own, content, author, updatedAt } = await docs.getPublic(ctx, { slug })
  return { path: `/notes/public/${own}`, title, text: content, author, updatedAt }
})

const skill = recordPage(async (ctx, { slug = '' }) => {
  const { name, slug: own, description, content, author, updatedAt } = await skills.getPublic(ctx, { slug })
  return { path: `/skills/public/${own}`, title: name, lead: description, text: content, author, updatedAt }
})

const agent = recordPage(async (ctx, { slug = '' }) => {
  const found = await agents.getPublic(ctx, { slug })
  const used = found.skills.map(({ name, slug: of }) => ({ href: `/skills/public/${of}`, text: name }))
  const more = used.length > 0 ? `<h2>Skills</h2>${list(used)}` : ''
  const { name, slug: own, role, persona, author, updatedAt } = found
  return { path: `/agents/public/${own}`, title: name, lead: role, text: persona ?? '', author, updatedAt, more }
})

const project = recordPage(async (ctx, { user = '', slug = '' }) => {
  const { name, slug: own, description, owner, updatedAt } = await projects.getPublic(ctx, { user, slug })
  return {
    path: `/public/projects/${owner.handle}/${own}`,
    title: name,
    text: description ?? '',
    author: owner,
    updatedAt,
  }
})

const documents: SitePageRenderer = (ctx, { params: { team = '', project: name = '' }, ...request }) =>
  servePage(ctx, request, async () => {
    const { items } = await docs.list(ctx, { team, project: name, limit: 200 })
    const base = docsOf(team, name)
    const body = `<h1>Documents</h1>${list(items.map(({ title, slug }) => ({ href: `${base}/${slug}`, text: title })))}`
    return { body: await renderPage(ctx, { title: `Documents of ${name}`, path: base, body }) }
  })

const docsOf = (team: string, project: string): string =>
  `/public/docs/${encodeURIComponent(team.toLowerCase())}/${encodeURIComponent(project.toLowerCase())}`

const document = recordPage(async (ctx, { team = '', project: name = '', slug = '' }) => {
  const found = await docs.get(ctx, { team, project: name, slug })
  const base = docsOf(team, name)
  const links = [...found.mentions, ...found.backlinks].map((other) => ({
    href: `${base}/${other.slug}`,
    text: other.title,
  }))
  const more = links.length > 0 ? `<h2>See also</h2>${list(links)}` : ''
  const { title, content, author, updatedAt } = found
  return { path: `${base}/${found.slug}`, title, text: content, author, updatedAt, more }
})

const profile: SitePageRenderer = (ctx, { params: { handle = '' }, ...request }) =>
  servePage(ctx, request, async () => {
    const { name, handle: own, bio, made } = await profileOf(ctx, handle)
    const about = bio ? `<p class="lead">${html(bio)}</p>` : ''
    return {
      body: await renderPage(ctx, {
        title: name,
        path: `/u/${own}`,
        body: `<h1>${html(name)}</h1>${about}${list(made)}`,
      }),
    }
  })

export const recordPages: Record<string, SitePageRenderer> = {
  '/notes/public/:slug': note,
  '/skills/public/:slug': skill,
  '/agents/public/:slug': agent,
  '/public/projects/:user/:slug': project,
  '/public/docs/:team/:project': documents,
  '/public/docs/:team/:project/:slug': document,
  '/u/:handle': profile,
}
