import type { SitePageRenderer } from '../../feature.ts'
import { html } from '../../pages/pages.ts'
import { renderPage } from '../site/frame.ts'
import { requestForPage, servePage } from '../site/serve.ts'
import { list } from './service.ts'

const marketplacePage: SitePageRenderer = async (ctx, { query, ...request }) => {
  const cursor = query.get('cursor') ?? undefined
  return servePage(ctx, requestForPage(request, cursor), async () => {
    const { items, nextCursor } = await list(ctx, { limit: 40, ...(cursor && { cursor }) })
    const entries = items.map(
      ({
        kind,
        name,
        slug,
        description,
        author,
      }) => `<li><h2><a href="/${kind}s/public/${html(slug)}">${html(name)}</a></h2>
<p class="soft small">${kind}${author ? ` · ${html(author.name)}` : ''}</p><p>${html(description ?? '')}</p></li>`,
    )
    const more = nextCursor ? `<p><a rel="next" href="/marketplace?cursor=${nextCursor}">More</a></p>` : ''
    const body = `<h1>Marketplace</h1><p class="lead">Public skills and agents.</p>${
      items.length > 0 ? `<ul class="posts">${entries.join('')}</ul>${more}` : '<p>No public skills or agents yet.</p>'
    }`
    return { body: await renderPage(ctx, { title: 'Marketplace', path: '/marketplace', body }) }
  })
}

export const marketplacePages = { '/marketplace': marketplacePage }
