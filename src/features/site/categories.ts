import { asc, eq, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { admin } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import { updateVersioned } from '../../records/rows.ts'
import { visibleText } from '../../text/text.ts'
import type { Category, CategoryCreate, CategoryList, CategoryPatch } from './content-schema.ts'
import { categoryCreated, categoryDeleted, categoryUpdated } from './events.ts'
import { newSlug, rememberSlug, requireFreeSlug } from './slugs.ts'
import { siteCategories, siteTexts } from './table.ts'

const categoryColumns = {
  id: siteCategories.id,
  createdAt: siteCategories.createdAt,
  updatedAt: siteCategories.updatedAt,
  version: siteCategories.version,
  name: siteCategories.name,
  slug: siteCategories.slug,
  description: siteCategories.description,
  // Written out, because drizzle leaves out table names here, and both tables have an id.
  posts: sql<number>`(select count(*)::int from ${siteTexts} t
    where t.category_id = ${siteCategories}.id and t.deleted_at is null)`,
}

const categoryKeyColumns = { id: siteCategories.id, version: siteCategories.version }

async function findCategoryById(ctx: Ctx, id: string): Promise<Category> {
  const [found] = await ctx.db.select(categoryColumns).from(siteCategories).where(eq(siteCategories.id, id))
  if (!found) throw notFound('category', id)
  return found
}

/** Removes characters that readers cannot see. */
const cleanCategory = <T extends CategoryPatch>(input: T): T => ({
  ...input,
  ...(input.name !== undefined && { name: visibleText(input.name).trim() }),
  ...(input.description && { description: visibleText(input.description) }),
})

const categoryEvent = ({ id, name, slug }: Category) => ({ subjectId: id, data: { title: name, slug } })

export const listCategories = read(
  'site.listCategories',
  admin,
  async (ctx, _: Record<string, never>): Promise<CategoryList> => ({
    items: await ctx.db
      .select(categoryColumns)
      .from(siteCategories)
      .orderBy(asc(siteCategories.name), siteCategories.id),
  }),
)

export const createCategory = write(
  'site.createCategory',
  admin,
  async (ctx, { slug: given, ...input }: CategoryCreate): Promise<Category> => {
    const slug = await newSlug(ctx, 'category', input.name, given)
    const [made] = await ctx.db
      .insert(siteCategories)
      .values({ ...cleanCategory(input), slug, createdAt: ctx.now, updatedAt: ctx.now })
      .returning(categoryKeyColumns)
    if (!made) throw new Error('insert returned nothing')
    await rememberSlug(ctx, 'category', made.id, slug)
    const category = await findCategoryById(ctx, made.id)
    ctx.emit(categoryCreated, categoryEvent(category))
    return category
  },
)

export const updateCategory = write(
  'site.updateCategory',
  admin,
  async (ctx, { id, ...patch }: CategoryPatch & { id: string }): Promise<Category> => {
    const before = await findCategoryById(ctx, id)
    checkVersion(ctx, before)
    if (patch.slug !== undefined) await requireFreeSlug(ctx, 'category', patch.slug, id)
    await updateVersioned(ctx, siteCategories, {
      columns: categoryKeyColumns,
      before,
      set: cleanCategory(patch),
      what: 'this category',
      again: () => findCategoryById(ctx, id),
    })
    const after = await findCategoryById(ctx, id)
    if (after.slug !== before.slug) await rememberSlug(ctx, 'category', id, after.slug, before.slug)
    const { data, ...rest } = categoryEvent(after)
    ctx.emit(categoryUpdated, { ...rest, data: { ...data, fields: Object.keys(patch) } })
    return after
  },
  { versioned: true },
)

/** Deletes the category permanently. Its posts stay, without a category. */
export const removeCategory = write(
  'site.removeCategory',
  admin,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findCategoryById(ctx, id)
    checkVersion(ctx, before)
    await ctx.db.delete(siteCategories).where(eq(siteCategories.id, id))
    ctx.emit(categoryDeleted, categoryEvent(before))
    return { id, deleted: true }
  },
  { versioned: true, destructive: true },
)
