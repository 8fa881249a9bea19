import { notFound } from '../../errors.ts'
import type { SitePageOf } from '../../feature.ts'
import { html } from '../../pages/pages.ts'
import { dateOf } from '../../pages/site-page.ts'
import { isId } from '../../records/reference.ts'
import { framed } from '../site/frame.ts'
import { pageOf, served } from '../site/serve.ts'
import type { CommunityPage } from './schema.ts'
import { get, list } from './service.ts'

const LIMIT = 20
type Item = CommunityPage['items'][number]

const byline = ({ author, createdAt, pinned }: Item): string =>
  `<p class="soft small">${html(author.name)} · ${dateOf(createdAt)}${pinned ? ' · pinned' : ''}</p>`
const entry = (post: Item): string =>
  `<li><h2><a href="/community/${post.id}">${html(post.title)}</a></h2>${byline(post)}</li>`

const overview: SitePageOf = async (ctx, { query, ...request }) => {
  const cursor = query.get('cursor') ?? undefined
  return served(ctx, pageOf(request, cursor), async () => {
    const pinned = cursor ? [] : (await list(ctx, { pinned: true, limit: LIMIT })).items
    const { items, nextCursor } = await list(ctx, { pinned: false, limit: LIMIT, ...(cursor && { cursor }) })
    const posts = [...pinned, ...items]
    const more = nextCursor ? `<p><a rel="next" href="/community?cursor=${nextCursor}">Older posts</a></p>` : ''
    const body = `<h1>Community</h1><p><a href="/community/new">Write a post</a></p>${
      posts.length > 0 ? `<ul class="posts">${posts.map(entry).join('')}</ul>${more}` : '<p>No posts yet.</p>'
    }`
    return { body: await framed(ctx, { title: 'Community', path: '/community', body }) }
  })
}

const post: SitePageOf = async (ctx, { params: { id = '' }, ...request }) =>
  served(ctx, request, async () => {
    if (!isId(id)) throw notFound('community_post', id)
    const found = await get(ctx, { id })
    const body = `<article><h1>${html(found.title)}</h1>${byline(found)}${found.html}</article>
<p><a href="/community">All posts</a> · <a href="/community/${found.id}/edit">Edit or report</a></p>`
    return { body: await framed(ctx, { title: found.title, path: `/community/${id}`, type: 'article', body }) }
  })

export const communityPages = { '/community': overview, '/community/:id': post }
