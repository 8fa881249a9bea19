import type { SitePageRenderer } from '../../feature.ts'
import { html } from '../../pages/pages.ts'
import { visibleText } from '../../text/text.ts'
import { settingsOf } from '../settings/values.ts'
import { readPosts } from './public.ts'
import { servePage } from './serve.ts'

const NEWEST = 50
/** XML allows neither control characters, which are removed elsewhere, nor these. */
const noXml = /[\ufffe\uffff]/g

export const renderFeed: SitePageRenderer = (ctx, request) =>
  servePage(ctx, request, async () => {
    const { url } = ctx.app
    const { general } = await settingsOf(ctx)
    const { items } = await readPosts(ctx, { limit: NEWEST })
    const latest =
      items
        .map(({ updatedAt }) => updatedAt)
        .sort()
        .at(-1) ?? '1970-01-01T00:00:00.000Z'
    const entries = items.map(({ title, slug, updatedAt, publishedAt, excerpt, description }) => {
      const summary = excerpt ?? description
      const address = html(`${url}/blog/${slug}`)
      return [
        `<entry><id>${address}</id><title>${html(title)}</title><link rel="alternate" href="${address}"/>`,
        `<published>${publishedAt}</published><updated>${updatedAt}</updated>`,
        `${summary ? `<summary>${html(summary)}</summary>` : ''}</entry>`,
      ].join('')
    })
    const body = `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><id>${html(`${url}/feed.xml`)}</id><title>${html(general.siteName)}</title>
${general.tagline ? `<subtitle>${html(general.tagline)}</subtitle>` : ''}<updated>${latest}</updated>
<author><name>${html(general.siteName)}</name></author><link rel="self" href="${html(`${url}/feed.xml`)}"/>
<link rel="alternate" href="${html(`${url}/blog`)}"/>
${entries.join('\n')}</feed>`
    return { body: visibleText(body).replace(noXml, ''), type: 'application/atom+xml; charset=utf-8' }
  })
