import type { SitePageRenderer } from '../../feature.ts'
import { frontPage } from '../../pages/front-page.ts'
import { html, pageHeaders } from '../../pages/pages.ts'
import { dateElement } from '../../pages/site-page.ts'
import { version } from '../../version.ts'
import { settingsOf } from '../settings/values.ts'
import type { PublicPost, PublicPostItem } from './content-schema.ts'
import { renderFeed } from './feed.ts'
import { renderPage } from './frame.ts'
import { findCategory, readPage, readPost, readPosts } from './public.ts'
import { recordPages } from './records-html.ts'
import { requestForPage, servePage } from './serve.ts'
import { robots, sitemap } from './sitemap.ts'

/** The public pages of the site. */
const LIMIT = 20

const coverOf = ({ cover, coverAlt }: Pick<PublicPost, 'cover' | 'coverAlt'>): string =>
  cover ? `<p><img src="${html(cover)}" alt="${html(coverAlt ?? '')}"></p>` : ''

const byline = ({ publishedAt, category, tags }: PublicPostItem): string =>
  `<p class="soft small">${[
    dateElement(publishedAt),
    category ? `<a href="/blog/category/${html(category.slug)}">${html(category.name)}</a>` : '',
    ...tags.map((tag) => `#${html(tag)}`),
  ]
    .filter(Boolean)
    .join(' · ')}</p>`

const article = (post: PublicPost): string =>
  `<article><h1>${html(post.title)}</h1>${byline(post)}${coverOf(post)}${post.html}</article>`

const entry = (post: PublicPostItem): string =>
  `<li><h2><a href="/blog/${html(post.slug)}">${html(post.title)}</a></h2>${byline(post)}<p>${html(
    post.excerpt ?? post.description ?? '',
  )}</p></li>`

const list = (items: PublicPostItem[], next: string | null): string =>
  items.length === 0
    ? '<p>No posts yet.</p>'
    : `<ul class="posts">${items.map(entry).join('')}</ul>${next ? `<p><a rel="next" href="${html(next)}">Older posts</a></p>` : ''}`

const page: SitePageRenderer = async (ctx, { params: { slug = '' }, ...request }) =>
  servePage(ctx, request, async () => {
    const found = await readPage(ctx, { slug })
    if (found.slug !== slug) return { movedTo: `/p/${found.slug}` }
    const body = `<article><h1>${html(found.title)}</h1>${coverOf(found)}${found.html}</article>`
    return { body: await renderPage(ctx, { ...found, path: `/p/${slug}`, body }) }
  })

const post: SitePageRenderer = async (ctx, { params: { slug = '' }, ...request }) =>
  servePage(ctx, request, async () => {
    const found = await readPost(ctx, { slug })
    if (found.slug !== slug) return { movedTo: `/blog/${found.slug}` }
    const description = found.description ?? found.excerpt
    return {
      body: await renderPage(ctx, {
        ...found,
        description,
        path: `/blog/${slug}`,
        type: 'article',
        body: article(found),
      }),
    }
  })

const blog: SitePageRenderer = async (ctx, { query, ...request }) => {
  const cursor = query.get('cursor') ?? undefined
  return servePage(ctx, requestForPage(request, cursor), async () => {
    const { items, nextCursor } = await readPosts(ctx, { limit: LIMIT, ...(cursor && { cursor }) })
    const next = nextCursor && `/blog?cursor=${nextCursor}`
    return { body: await renderPage(ctx, { title: 'Blog', path: '/blog', body: `<h1>Blog</h1>${list(items, next)}` }) }
  })
}

const category: SitePageRenderer = async (ctx, { params: { slug = '' }, query, ...request }) => {
  const cursor = query.get('cursor') ?? undefined
  return servePage(ctx, requestForPage(request, cursor), async () => {
    const { items, nextCursor } = await readPosts(ctx, { category: slug, limit: LIMIT, ...(cursor && { cursor }) })
    const found = await findCategory(ctx, slug)
    const path = `/blog/category/${found.slug}`
    if (found.slug !== slug) return { movedTo: path }
    const next = nextCursor && `${path}?cursor=${nextCursor}`
    const about = found.description ? `<p class="lead">${html(found.description)}</p>` : ''
    const body = `<h1>${html(found.name)}</h1>${about}${list(items, next)}`
    return { body: await renderPage(ctx, { title: found.name, description: found.description, path, body }) }
  })
}

/** The content of `/` depends on whether the reader is signed in, and on their theme. */
const ofReader = { 'cache-control': 'private, no-cache', vary: 'cookie' }

/** The page that the setting `home` names, otherwise the front page. */
const home: SitePageRenderer = async (ctx, request) => {
  const { home: chosen, general, registration } = await settingsOf(ctx)
  const found = chosen.pageSlug ? await readPage(ctx, { slug: chosen.pageSlug }).catch(() => undefined) : undefined
  if (!found) {
    const body = frontPage({
      version,
      host: new URL(request.base).host,
      operator: general.siteName === 'Tutti' ? null : general.siteName,
      isOpen: registration.open,
      theme: request.theme,
    })
    return { status: 200, headers: { ...pageHeaders(), ...ofReader }, body }
  }
  const body = `<article><h1>${html(found.title)}</h1>${coverOf(found)}${found.html}</article>`
  const answer = await servePage(ctx, { ...request, path: '/' }, async () => ({
    body: await renderPage(ctx, { ...found, path: '/', body }),
  }))
  return { ...answer, headers: { ...answer.headers, ...ofReader } }
}

export const sitePages: Record<string, SitePageRenderer> = {
  '/': home,
  '/p/:slug': page,
  '/blog': blog,
  '/blog/:slug': post,
  '/blog/category/:slug': category,
  '/feed.xml': renderFeed,
  '/sitemap.xml': sitemap,
  '/robots.txt': robots,
  ...recordPages,
}
