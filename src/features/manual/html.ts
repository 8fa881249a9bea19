import type { PageRenderer } from '../../feature.ts'
import { docsPage, markWords, queryTerms } from '../../pages/docs.ts'
import { html } from '../../pages/pages.ts'
import type { ManualHit, ManualItem } from './schema.ts'
import { htmlOf } from './sections.ts'
import { get, list, search } from './service.ts'

/** The manual as pages: a table of contents, a search that needs no script, and the text. */
const page = (items: ManualItem[], { current = '', title = 'Manual', query = '', body = '' }): string =>
  docsPage({
    title: `${title} · Tutti`,
    path: '/manual',
    what: 'the manual',
    query,
    contents: [...Map.groupBy(items, ({ group }) => group)].map(([heading, pages]) => ({
      heading,
      items: pages.map(({ id, title: text }) => ({ href: `/manual/${id}`, text, current: id === current })),
    })),
    body,
  })

const hitOf =
  (words: string[]) =>
  ({ id, title, heading, anchor, excerpt }: ManualHit): string => {
    const name = heading ? `${title} › ${heading}` : title
    return `<li><a href="/manual/${id}${anchor ? `#${html(anchor)}` : ''}">${html(name)}</a>
<br><span class="soft small">${markWords(excerpt, words)}</span></li>`
  }

function results(query: string, hits: ManualHit[]): string {
  const found = hits.length > 0 ? `<ul class="hits">${hits.map(hitOf(queryTerms(query))).join('')}</ul>` : ''
  const count = hits.length === 0 ? 'No results' : hits.length === 1 ? '1 result' : `${hits.length} results`
  const also = `<a href="/api/reference?q=${encodeURIComponent(query)}">Search the API reference</a>`
  return `<h1>Manual</h1><p class="lead">${count} for “${html(query)}”. ${also}</p>${found}`
}

const overview = (items: ManualItem[]): string =>
  `<h1>Manual</h1><p class="lead">How to use Tutti and how to run it.</p>${[...Map.groupBy(items, (item) => item.group)]
    .map(
      ([heading, pages]) =>
        `<h2>${html(heading)}</h2><ul class="cards">${pages
          .map(
            ({ id, title, about }) =>
              `<li><a href="/manual/${id}"><strong>${html(title)}</strong>${html(about)}</a></li>`,
          )
          .join('')}</ul>`,
    )
    .join('')}`

export const manualPages: Record<string, PageRenderer> = {
  '/manual': async (ctx, _, query) => {
    const { items } = await list(ctx, {})
    const body = query ? results(query, (await search(ctx, { q: query })).items) : overview(items)
    return { body: page(items, { query, body }), withSearch: true }
  },
  '/manual/:id': async (ctx, { id = '' }) => {
    const { items } = await list(ctx, {})
    const found = await get(ctx, { id })
    const body = page(items, { current: id, title: found.title, body: htmlOf(found) })
    return { body, withSearch: true }
  },
}
