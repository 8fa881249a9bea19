import { and, eq, isNull, ne, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { AppError } from '../../errors.ts'
import { slugify, uniqueSlug } from '../../text/text.ts'
import { oldSlugs, siteCategories, siteTexts, type TextKind } from './table.ts'

type SlugKind = TextKind | 'category'

const takenQuery = (kind: SlugKind, which: (slug: SQL) => SQL, besides?: string) => ({
  table: kind === 'category' ? siteCategories : siteTexts,
  where:
    kind === 'category'
      ? and(which(sql`${siteCategories.slug}`), besides ? ne(siteCategories.id, besides) : undefined)
      : and(
          eq(siteTexts.kind, kind),
          isNull(siteTexts.deletedAt),
          which(sql`${siteTexts.slug}`),
          besides ? ne(siteTexts.id, besides) : undefined,
        ),
})

async function takenSlugs(ctx: Ctx, kind: SlugKind, which: (slug: SQL) => SQL, besides?: string): Promise<Set<string>> {
  const { table, where } = takenQuery(kind, which, besides)
  const rows = await ctx.db.select({ slug: table.slug }).from(table).where(where)
  return new Set(rows.map(({ slug }) => slug))
}

/** Returns the slug of a new record: the given one, which must be free, or one made from its title. */
export async function newSlug(ctx: Ctx, kind: SlugKind, title: string, given?: string): Promise<string> {
  if (given !== undefined) {
    await requireFreeSlug(ctx, kind, given)
    return given
  }
  return freeSlug(ctx, kind, slugify(title) || kind)
}

/** Returns the slug, with a number if another record has it. */
export async function freeSlug(ctx: Ctx, kind: SlugKind, wanted: string): Promise<string> {
  const others = await takenSlugs(ctx, kind, (slug) => sql`${slug} ~ ${`^${wanted}(-[0-9]+)?$`}`)
  return uniqueSlug(wanted, others)
}

export async function requireFreeSlug(ctx: Ctx, kind: SlugKind, slug: string, besides?: string): Promise<void> {
  const others = await takenSlugs(ctx, kind, (column) => sql`${column} = ${slug}`, besides)
  if (others.size > 0)
    throw new AppError('conflict.exists', `Another ${kind} has the slug ${slug}. Choose another one.`)
}

/** Stores the former slug of a record, and makes the new one lead to this record instead of an earlier one. */
export async function rememberSlug(
  ctx: Ctx,
  kind: SlugKind,
  recordId: string,
  now: string,
  before?: string,
): Promise<void> {
  await ctx.db.delete(oldSlugs).where(and(eq(oldSlugs.kind, kind), eq(oldSlugs.slug, now)))
  if (before === undefined || before === now) return
  await ctx.db
    .insert(oldSlugs)
    .values({ kind, slug: before, recordId, createdAt: ctx.now })
    .onConflictDoUpdate({ target: [oldSlugs.kind, oldSlugs.slug], set: { recordId, createdAt: ctx.now } })
}

/** SQL condition: the record has this slug, or had it and no other record has it now. */
export const hasSlug = (kind: SlugKind, id: SQL, column: SQL, slug: string): SQL =>
  sql`(${column} = ${slug} or ${id} = (select ${oldSlugs.recordId} from ${oldSlugs}
    where ${oldSlugs.kind} = ${kind} and ${oldSlugs.slug} = ${slug}))`
