import { notFound } from '../../errors.ts'
import type { SitePageRenderer } from '../../feature.ts'
import { html } from '../../pages/pages.ts'
import { dateElement } from '../../pages/site-page.ts'
import { isId } from '../../records/reference.ts'
import { renderPage } from '../site/frame.ts'
import { requestForPage, servePage } from '../site/serve.ts'
import type { CommunityPage } from './schema.ts'
import { get, list } from './service.ts'

const LIMIT = 20
type Item = CommunityPage['items'][number]

const byline = ({ author, createdAt, pinned }: Item): string =>
  `<p class="soft small">${html(author.name)} · ${dateElement(createdAt)}${pinned ? ' · pinned' : ''}</p>`
const entry = (post: Item): string =>
  `<li><h2><a href="/community/${post.id}">${html(post.title)}</a></h2>${byline(post)}</li>`

const overview: SitePageRenderer = async (ctx, { query, ...request }) => {
  const cursor = query.get('cursor') ?? undefined
  return servePage(ctx, requestForPage(request, cursor), async () => {
    const pinned = cursor ? [] : (await list(ctx, { pinned: true, limit: LIMIT })).items
    const { items, nextCursor } = await list(ctx, { pinned: false, limit: LIMIT, ...(cursor && { cursor }) })
    const posts = [...pinned, ...items]
    const more = nextCursor ? `<p><a rel="next" href="/community?cursor=${nextCursor}">Older posts</a></p>` : ''
    const body = `<h1>Community</h1><p><a href="/community/new">Write a post</a></p>${
      posts.length > 0 ? `<ul class="posts">${posts.map(entry).join('')}</ul>${more}` : '<p>No posts yet.</p>'
    }`
    return { body: await renderPage(ctx, { title: 'Community', path: '/community', body }) }
  })
}

const post: SitePageRenderer = async (ctx, { params: { id = '' }, ...request }) =>
  servePage(ctx, request, async () => {
    if (!isId(id)) throw notFound('community_post', id)
    const found = await get(ctx, { id })
    const body = `<article><h1>${html(found.title)}</h1>${byline(found)}${found.html}</article>
<p><a href="/community">All posts</a> · <a href="/community/${found.id}/edit">Edit or report</a></p>`
    return { body: await renderPage(ctx, { title: found.title, path: `/community/${id}`, type: 'article', body }) }
  })

export const communityPages = { '/community': overview, '/community/:id': post }
