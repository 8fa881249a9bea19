import { asc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { anyone } from '../../auth/policy.ts'
import { hasAll } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { cachedHtml } from '../../pages/markdown.ts'
import { keyset } from '../../records/page.ts'
import { requireSitePart } from '../settings/values.ts'
import type {
  PublicCategoryList,
  PublicPage,
  PublicPost,
  PublicPostItem,
  PublicPostPage,
  PublicPostQuery,
} from './content-schema.ts'
import { hasSlug } from './slugs.ts'
import { siteCategories, siteTexts } from './table.ts'
import { isLive } from './texts.ts'

/** The content for visitors: no drafts, and nothing of a blog that is switched off. */
const columns = {
  id: siteTexts.id,
  version: siteTexts.version,
  title: siteTexts.title,
  slug: siteTexts.slug,
  description: siteTexts.description,
  excerpt: siteTexts.excerpt,
  publishedAt: siteTexts.publishedAt,
  updatedAt: siteTexts.updatedAt,
  coverId: siteTexts.coverId,
  coverAlt: siteTexts.coverAlt,
  tags: siteTexts.tags,
  categoryName: siteCategories.name,
  categorySlug: siteCategories.slug,
}

interface Row {
  title: string
  slug: string
  description: string | null
  excerpt: string | null
  publishedAt: string | null
  updatedAt: string
  coverId: string | null
  coverAlt: string | null
  tags: string[]
  categoryName: string | null
  categorySlug: string | null
}

const commonFields = ({ title, slug, description, publishedAt, updatedAt, coverId, coverAlt }: Row) => ({
  title,
  slug,
  description,
  publishedAt: publishedAt ?? updatedAt,
  updatedAt,
  cover: coverId && `/uploads/${coverId}`,
  coverAlt,
})
const toPostItem = (row: Row): PublicPostItem => ({
  ...commonFields(row),
  excerpt: row.excerpt,
  tags: row.tags,
  category: row.categoryName && row.categorySlug ? { name: row.categoryName, slug: row.categorySlug } : null,
})

const selectTexts = (ctx: Ctx) =>
  ctx.db
    .select({ ...columns, content: siteTexts.content })
    .from(siteTexts)
    .leftJoin(siteCategories, eq(siteCategories.id, siteTexts.categoryId))
    .$dynamic()

/** Finds a live text by its current slug, otherwise by a former one. */
async function findLive(ctx: Ctx, kind: 'page' | 'post', slug: string) {
  const which = hasSlug(kind, sql`${siteTexts.id}`, sql`${siteTexts.slug}`, slug.toLowerCase())
  const found = await selectTexts(ctx).where(and(isLive(kind, ctx.now), which))
  const row = found.find((one) => one.slug === slug.toLowerCase()) ?? found[0]
  if (!row) throw notFound(kind, slug)
  return { row, html: await cachedHtml(`${row.id} ${row.version}`, row.content, false) }
}

export const readPage = read('site.readPage', anyone, async (ctx, { slug }: { slug: string }): Promise<PublicPage> => {
  const { row, html } = await findLive(ctx, 'page', slug)
  return { ...commonFields(row), content: row.content, html }
})

export const readPost = read('site.readPost', anyone, async (ctx, { slug }: { slug: string }): Promise<PublicPost> => {
  await requireSitePart(ctx, 'blog')
  const { row, html } = await findLive(ctx, 'post', slug)
  return { ...toPostItem(row), content: row.content, html }
})

const ofCategory = (slug: string): SQL =>
  sql`${siteTexts.categoryId} = (select c.id from ${siteCategories} c
    where ${hasSlug('category', sql`c.id`, sql`c.slug`, slug.toLowerCase())} order by c.slug = ${slug} desc limit 1)`

export const readPosts = read(
  'site.readPosts',
  anyone,
  async (ctx, query: PublicPostQuery): Promise<PublicPostPage> => {
    await requireSitePart(ctx, 'blog')
    const page = keyset({ publishedAt: siteTexts.publishedAt }, siteTexts.id, query, { sort: 'publishedAt' })
    const filters = and(
      isLive('post', ctx.now),
      query.category ? ofCategory(query.category) : undefined,
      hasAll(siteTexts.tags, query.tag),
    )
    const rows = await ctx.db
      .select(columns)
      .from(siteTexts)
      .leftJoin(siteCategories, eq(siteCategories.id, siteTexts.categoryId))
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(siteTexts, filters) : undefined
    const { items, ...rest } = page.page(rows, total)
    return { items: items.map(toPostItem), ...rest }
  },
)

export const readCategories = read(
  'site.readCategories',
  anyone,
  async (ctx, _: Record<string, never>): Promise<PublicCategoryList> => {
    await requireSitePart(ctx, 'blog')
    const posts = sql<number>`(select count(*)::int from ${siteTexts}
      where ${siteTexts.categoryId} = ${siteCategories}.id and ${isLive('post', ctx.now)})`
    const { name, slug, description } = siteCategories
    return { items: await ctx.db.select({ name, slug, description, posts }).from(siteCategories).orderBy(asc(name)) }
  },
)

/** Returns a category by its current slug, otherwise by a former one. */
export async function findCategory(
  ctx: Ctx,
  slug: string,
): Promise<{ name: string; slug: string; description: string | null }> {
  const { name, description } = siteCategories
  const rows = await ctx.db
    .select({ name, slug: siteCategories.slug, description })
    .from(siteCategories)
    .where(hasSlug('category', sql`${siteCategories.id}`, sql`${siteCategories.slug}`, slug.toLowerCase()))
  const found = rows.find((row) => row.slug === slug.toLowerCase()) ?? rows[0]
  if (!found) throw notFound('category', slug)
  return found
}

/** Returns the pages that are linked from the head of every page. */
export const navigationLinks = async (ctx: Ctx): Promise<{ href: string; text: string }[]> => {
  const rows = await ctx.db
    .select({ title: siteTexts.title, slug: siteTexts.slug })
    .from(siteTexts)
    .where(and(isLive('page', ctx.now), eq(siteTexts.nav, true), isNull(siteTexts.deletedAt)))
    .orderBy(asc(siteTexts.position), asc(siteTexts.title), siteTexts.id)
    .limit(12)
  return rows.map(({ title, slug }) => ({ href: `/p/${slug}`, text: title }))
}
