import type { Ctx } from '../../action.ts'
import { hashSecret } from '../../auth/secrets.ts'
import type { SitePageOf } from '../../feature.ts'
import { keptHtml } from '../../pages/markdown.ts'
import { html } from '../../pages/pages.ts'
import { dateOf } from '../../pages/site-page.ts'
import * as agents from '../agents/service.ts'
import * as docs from '../notes/docs.ts'
import * as projects from '../projects/service.ts'
import * as skills from '../skills/service.ts'
import { framed } from './frame.ts'
import { profileOf } from './profile.ts'
import { type Made, served } from './serve.ts'

/** Pages of public records, at the paths of the API without `/api`. */

type Author = { handle: string; name: string } | null
interface Shown {
  /** The canonical address of the record, whatever the request used. */
  path: string
  title: string
  lead?: string | null
  text: string
  author: Author
  updatedAt?: string
  more?: string
}

const by = (author: Author, updatedAt?: string): string =>
  `<p class="soft small">${[
    author ? `<a href="/u/${html(author.handle)}">${html(author.name)}</a>` : '',
    updatedAt ? dateOf(updatedAt) : '',
  ]
    .filter(Boolean)
    .join(' · ')}</p>`

/** A text by a user: its links are marked `nofollow`. */
async function page(ctx: Ctx, { path, title, lead, text, author, updatedAt, more = '' }: Shown): Promise<Made> {
  // Cached by its text: an address can be written in many ways, and each would render the text again.
  const shown = await keptHtml(`text ${hashSecret(text)}`, text, true)
  const body = `<article><h1>${html(title)}</h1>${lead ? `<p class="lead">${html(lead)}</p>` : ''}${by(author, updatedAt)}${shown}${more}</article>`
  return { body: await framed(ctx, { title, description: lead?.slice(0, 300), path, type: 'article', body }) }
}

const record =
  (read: (ctx: Ctx, params: Record<string, string>) => Promise<Shown>): SitePageOf =>
  (ctx, { params, ...request }) =>
    served(ctx, request, async () => page(ctx, await read(ctx, params)))

const list = (items: { href: string; text: string }[]): string =>
  items.length > 0
    ? `<ul>${items.map(({ href, text }) => `<li><a href="${html(href)}">${html(text)}</a></li>`).join('')}</ul>`
    : ''

const note = record(async (ctx, { slug = '' }) => {
  const { title, slug: own, content, author, updatedAt } = await docs.getPublic(ctx, { slug })
  return { path: `/notes/public/${own}`, title, text: content, author, updatedAt }
})

const skill = record(async (ctx, { slug = '' }) => {
  const { name, slug: own, description, content, author, updatedAt } = await skills.getPublic(ctx, { slug })
  return { path: `/skills/public/${own}`, title: name, lead: description, text: content, author, updatedAt }
})

const agent = record(async (ctx, { slug = '' }) => {
  const found = await agents.getPublic(ctx, { slug })
  const used = found.skills.map(({ name, slug: of }) => ({ href: `/skills/public/${of}`, text: name }))
  const more = used.length > 0 ? `<h2>Skills</h2>${list(used)}` : ''
  const { name, slug: own, role, persona, author, updatedAt } = found
  return { path: `/agents/public/${own}`, title: name, lead: role, text: persona ?? '', author, updatedAt, more }
})

const project = record(async (ctx, { user = '', slug = '' }) => {
  const { name, slug: own, description, owner, updatedAt } = await projects.getPublic(ctx, { user, slug })
  return {
    path: `/public/projects/${owner.handle}/${own}`,
    title: name,
    text: description ?? '',
    author: owner,
    updatedAt,
  }
})

const documents: SitePageOf = (ctx, { params: { team = '', project: name = '' }, ...request }) =>
  served(ctx, request, async () => {
    const { items } = await docs.list(ctx, { team, project: name, limit: 200 })
    const base = docsOf(team, name)
    const body = `<h1>Documents</h1>${list(items.map(({ title, slug }) => ({ href: `${base}/${slug}`, text: title })))}`
    return { body: await framed(ctx, { title: `Documents of ${name}`, path: base, body }) }
  })

const docsOf = (team: string, project: string): string =>
  `/public/docs/${encodeURIComponent(team.toLowerCase())}/${encodeURIComponent(project.toLowerCase())}`

const document = record(async (ctx, { team = '', project: name = '', slug = '' }) => {
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

const profile: SitePageOf = (ctx, { params: { handle = '' }, ...request }) =>
  served(ctx, request, async () => {
    const { name, handle: own, bio, made } = await profileOf(ctx, handle)
    const about = bio ? `<p class="lead">${html(bio)}</p>` : ''
    return {
      body: await framed(ctx, { title: name, path: `/u/${own}`, body: `<h1>${html(name)}</h1>${about}${list(made)}` }),
    }
  })

export const recordPages: Record<string, SitePageOf> = {
  '/notes/public/:slug': note,
  '/skills/public/:slug': skill,
  '/agents/public/:slug': agent,
  '/public/projects/:user/:slug': project,
  '/public/docs/:team/:project': documents,
  '/public/docs/:team/:project/:slug': document,
  '/u/:handle': profile,
}
