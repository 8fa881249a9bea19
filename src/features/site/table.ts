import { type SQL, sql } from 'drizzle-orm'
import { boolean, index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, record, searchOver, softRecord, textList } from '../../db/columns.ts'
import { uploads } from '../uploads/table.ts'
import { users } from '../users/table.ts'

export type TextKind = 'page' | 'post'

/** A page or a post of the public site. Pages have an address of their own; posts belong to the blog. */
export const siteTexts = pgTable(
  'site_texts',
  {
    ...softRecord(),
    kind: text().$type<TextKind>().notNull(),
    title: text().notNull(),
    slug: text().notNull(),
    content: text().notNull(),
    description: text(),
    /** Only for posts: shown in lists and the feed. */
    excerpt: text(),
    status: text().$type<'draft' | 'published'>().notNull(),
    /** A later time schedules it. */
    publishedAt: instant(),
    /** Only for pages: linked from the head of every page, in the order of `position`. */
    nav: boolean().notNull().default(false),
    position: integer().notNull().default(0),
    categoryId: uuid().references(() => siteCategories.id, { onDelete: 'set null' }),
    tags: textList().notNull(),
    coverId: uuid().references(() => uploads.id, { onDelete: 'set null' }),
    /** Alternative text of the cover. */
    coverAlt: text(),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    search: searchOver('title', 'description', 'excerpt', 'content'),
  },
  (t) => [
    uniqueIndex('site_texts_slug').on(t.kind, t.slug).where(isThere(t.deletedAt)),
    index('site_texts_published').on(t.kind, t.publishedAt, t.id).where(isThere(t.deletedAt)),
    index('site_texts_updated').on(t.kind, t.updatedAt, t.id),
    index('site_texts_category').on(t.categoryId, t.publishedAt, t.id),
    index('site_texts_search').using('gin', t.search),
    index('site_texts_author').on(t.createdById),
    index('site_texts_cover').on(t.coverId),
  ],
)

const isThere = (deletedAt: unknown): SQL => sql`${deletedAt} is null`

export const siteCategories = pgTable(
  'site_categories',
  { ...record(), name: text().notNull(), slug: text().notNull(), description: text() },
  (t) => [uniqueIndex('site_categories_slug').on(t.slug)],
)

/** Former slugs. Their addresses lead to the record until another record takes the slug. */
export const oldSlugs = pgTable(
  'site_old_slugs',
  {
    kind: text().$type<TextKind | 'category'>().notNull(),
    slug: text().notNull(),
    recordId: uuid().notNull(),
    createdAt: instant().notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.slug] }), index('site_old_slugs_record').on(t.recordId)],
)
