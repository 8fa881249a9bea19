import { asc, gt, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { admin } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import type { SitePageRenderer } from '../../feature.ts'
import { html } from '../../pages/pages.ts'
import { LOWEST_ID } from '../../records/sync.ts'
import { settingsOf } from '../settings/values.ts'
import type { Sitemap } from './content-schema.ts'
import { cacheControl, servePage } from './serve.ts'
import { siteTexts, type TextKind } from './table.ts'
import { isLive } from './texts.ts'

/** Maximum of addresses in one file, by the sitemap protocol. */
const MOST = 50_000
/** Rows that are read at once, so that a large site neither fills the memory nor blocks the database. */
const BATCH = 1000
const xml = { 'content-type': 'application/xml; charset=utf-8', 'cache-control': cacheControl }

const paths: Record<TextKind, string> = { page: '/p/', post: '/blog/' }

async function kindsOf(ctx: Ctx): Promise<TextKind[]> {
  const { seo, blog } = await settingsOf(ctx)
  return seo.indexing ? ['page', ...(blog.enabled ? (['post'] as const) : [])] : []
}

/** Returns the number of addresses, and a tag that changes when a text is changed, deleted or published by schedule. */
async function sitemapState(ctx: Ctx): Promise<{ urls: number; etag: string }> {
  const kinds = await kindsOf(ctx)
  const facts: unknown[] = [ctx.app.url, kinds]
  let urls = 0
  for (const kind of kinds) {
    const [row] = await ctx.db
      .select({
        urls: sql`count(*)`.mapWith(Number),
        changed: sql<string | null>`max(${siteTexts.updatedAt})::text`,
        published: sql<string | null>`max(${siteTexts.publishedAt})::text`,
      })
      .from(siteTexts)
      .where(isLive(kind, ctx.now))
    urls += row?.urls ?? 0
    facts.push(row)
  }
  return { urls, etag: `W/"${Bun.hash(JSON.stringify(facts)).toString(36)}"` }
}

/** Yields the addresses of all live texts, in the order of their ids. */
async function* addressEntries(ctx: Ctx): AsyncGenerator<string> {
  for (const kind of await kindsOf(ctx)) {
    let after = LOWEST_ID
    for (;;) {
      const rows = await ctx.db
        .select({ id: siteTexts.id, slug: siteTexts.slug, updatedAt: siteTexts.updatedAt })
        .from(siteTexts)
        .where(and(isLive(kind, ctx.now), gt(siteTexts.id, sql`${after}::uuid`)))
        .orderBy(asc(siteTexts.id))
        .limit(BATCH)
      for (const { slug, updatedAt } of rows)
        yield `<url><loc>${html(ctx.app.url + paths[kind] + slug)}</loc><lastmod>${updatedAt}</lastmod></url>\n`
      const last = rows.at(-1)
      if (!last || rows.length < BATCH) break
      after = last.id
    }
  }
}

async function* sitemapFile(ctx: Ctx, number: number): AsyncGenerator<string> {
  yield '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
  let n = 0
  for await (const address of addressEntries(ctx)) {
    if (n >= number * MOST) break
    if (n++ >= (number - 1) * MOST) yield address
  }
  yield '</urlset>'
}

function toStream(parts: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await parts.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    cancel: async () => void (await parts.return(undefined)),
  })
}

/** All public addresses; above 50,000, a list of such files. Empty unless search engines may list the site. */
export const sitemap: SitePageRenderer = async (ctx, { query, ifNoneMatch }) => {
  const given = Number(query.get('page'))
  const number = Number.isInteger(given) && given > 0 ? given : undefined
  const { urls, etag } = await sitemapState(ctx)
  const headers = { ...xml, etag }
  if (ifNoneMatch?.includes(etag)) return { status: 304, headers, body: null }
  const files = Math.ceil(urls / MOST)
  if (files <= 1 || number) return { status: 200, headers, body: toStream(sitemapFile(ctx, number ?? 1)) }
  const parts = Array.from(
    { length: files },
    (_, i) => `<sitemap><loc>${html(`${ctx.app.url}/sitemap.xml?page=${i + 1}`)}</loc></sitemap>`,
  )
  const body = `<?xml version="1.0" encoding="utf-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${parts.join('\n')}</sitemapindex>`
  return { status: 200, headers, body }
}

export const robots: SitePageRenderer = (ctx, request) =>
  servePage(ctx, request, async () => {
    const { indexing } = (await settingsOf(ctx)).seo
    const rules = indexing ? `Disallow: /api/\nAllow: /\n\nSitemap: ${ctx.app.url}/sitemap.xml\n` : 'Disallow: /\n'
    return { body: `User-agent: *\n${rules}`, type: 'text/plain; charset=utf-8' }
  })

/** Returns the address and size of the sitemap. It is generated for each request, so nothing is stored. */
export const generateSitemap = read(
  'site.generateSitemap',
  admin,
  async (ctx, _: Record<string, never>): Promise<Sitemap> => {
    const { APP_URL } = ctx.app.config
    if (!APP_URL)
      throw new AppError('conflict', 'The address of this server is not known. Set APP_URL, then restart the server.')
    const { urls } = await sitemapState(ctx)
    return { url: `${APP_URL}/sitemap.xml`, urls, indexed: (await settingsOf(ctx)).seo.indexing }
  },
)
