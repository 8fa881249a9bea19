import { eq, isNull, lte, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { admin } from '../../auth/policy.ts'
import { contains } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { isRecentlyDeleted, isRestorable, updateVersioned } from '../../records/rows.ts'
import { visibleText } from '../../text/text.ts'
import { requireSitePicture } from '../uploads/site.ts'
import type {
  Page,
  PageCreate,
  PagePage,
  PagePatch,
  PageQuery,
  Post,
  PostCreate,
  PostPage,
  PostPatch,
  PostQuery,
} from './content-schema.ts'
import {
  pageCreated,
  pageDeleted,
  pageRestored,
  pageUpdated,
  postCreated,
  postDeleted,
  postRestored,
  postUpdated,
} from './events.ts'
import { freeSlug, newSlug, rememberSlug, requireFreeSlug } from './slugs.ts'
import { siteCategories, siteTexts, type TextKind } from './table.ts'

const events = {
  page: { created: pageCreated, updated: pageUpdated, deleted: pageDeleted, restored: pageRestored },
  post: { created: postCreated, updated: postUpdated, deleted: postDeleted, restored: postRestored },
}

type Row = typeof siteTexts.$inferSelect
type TextItem = Omit<Row, 'content' | 'search' | 'createdById' | 'kind'>
type Input = PagePatch & PostPatch

const textItemColumns = {
  id: siteTexts.id,
  createdAt: siteTexts.createdAt,
  updatedAt: siteTexts.updatedAt,
  version: siteTexts.version,
  title: siteTexts.title,
  slug: siteTexts.slug,
  description: siteTexts.description,
  excerpt: siteTexts.excerpt,
  status: siteTexts.status,
  publishedAt: siteTexts.publishedAt,
  nav: siteTexts.nav,
  position: siteTexts.position,
  categoryId: siteTexts.categoryId,
  tags: siteTexts.tags,
  coverId: siteTexts.coverId,
  coverAlt: siteTexts.coverAlt,
  deletedAt: siteTexts.deletedAt,
}
const textColumns = { ...textItemColumns, content: siteTexts.content }

/** SQL condition: visitors see the text. Decided by the clock, so that no job has to publish anything. */
export const isLive = (kind: TextKind, now: string): SQL =>
  and(
    eq(siteTexts.kind, kind),
    eq(siteTexts.status, 'published'),
    lte(siteTexts.publishedAt, now),
    isNull(siteTexts.deletedAt),
  )

const liveAt = (now: string, { status, publishedAt, deletedAt }: TextItem): boolean =>
  deletedAt === null && status === 'published' && publishedAt !== null && publishedAt <= now

const asPage = <T extends TextItem>(now: string, text: T) => {
  const { excerpt: _, categoryId: __, tags: ___, deletedAt: ____, ...row } = text
  return { ...row, live: liveAt(now, text) }
}
const asPost = <T extends TextItem>(now: string, text: T) => {
  const { nav: _, position: __, deletedAt: ___, ...row } = text
  return { ...row, live: liveAt(now, text) }
}

async function listTexts(ctx: Ctx, kind: TextKind, query: PostQuery) {
  const orders = { updatedAt: siteTexts.updatedAt, createdAt: siteTexts.createdAt }
  const page = keyset(orders, siteTexts.id, query, { sort: 'updatedAt' })
  const filters = and(
    eq(siteTexts.kind, kind),
    query.deleted ? isRecentlyDeleted(siteTexts.deletedAt, ctx.now) : isNull(siteTexts.deletedAt),
    query.slug ? eq(siteTexts.slug, query.slug) : undefined,
    query.search ? contains(siteTexts.title, query.search) : undefined,
    query.status && eq(siteTexts.status, query.status),
    query.categoryId ? eq(siteTexts.categoryId, query.categoryId) : undefined,
  )
  const rows = await ctx.db
    .select(textItemColumns)
    .from(siteTexts)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return { page, rows, total: query.total ? await ctx.db.$count(siteTexts, filters) : undefined }
}

async function findText(
  ctx: Ctx,
  kind: TextKind,
  id: string,
  state: SQL = isNull(siteTexts.deletedAt),
): Promise<TextItem & { content: string }> {
  const [found] = await ctx.db
    .select(textColumns)
    .from(siteTexts)
    .where(and(eq(siteTexts.id, id), eq(siteTexts.kind, kind), state))
  if (!found) throw notFound(kind, id)
  return found
}

async function checkReferences(ctx: Ctx, { coverId, categoryId }: Input): Promise<void> {
  if (coverId) await requireSitePicture(ctx, coverId)
  if (!categoryId) return
  const found = await ctx.db.$count(siteCategories, eq(siteCategories.id, categoryId))
  if (found === 0) throw notFound('category', categoryId)
}

/** Removes characters that readers cannot see. */
const cleanText = ({ title, content, description, excerpt, coverAlt, ...rest }: Input): Input => ({
  ...rest,
  ...(title !== undefined && { title: visibleText(title).trim() }),
  ...(content !== undefined && { content: visibleText(content) }),
  ...(description !== undefined && { description: description && visibleText(description) }),
  ...(excerpt !== undefined && { excerpt: excerpt && visibleText(excerpt) }),
  ...(coverAlt !== undefined && { coverAlt: coverAlt && visibleText(coverAlt) }),
})

/** A text that is published without a time is published now. */
const withPublishTime = <T extends { status?: string; publishedAt?: string | null }>(now: string, text: T): T =>
  text.status === 'published' && !text.publishedAt ? { ...text, publishedAt: now } : text

async function createText(ctx: Ctx, kind: TextKind, input: Input & { title: string }) {
  await checkReferences(ctx, input)
  const slug = await newSlug(ctx, kind, input.title, input.slug)
  const values = withPublishTime(ctx.now, cleanText(input))
  const [made] = await ctx.db
    .insert(siteTexts)
    .values({
      status: 'draft',
      content: '',
      tags: [],
      ...values,
      title: values.title ?? input.title,
      kind,
      slug,
      createdById: ctx.actor.userId,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    .returning(textColumns)
  if (!made) throw new Error('insert returned nothing')
  await rememberSlug(ctx, kind, made.id, slug)
  ctx.emit(events[kind].created, { subjectId: made.id, data: { title: made.title, slug } })
  return made
}

async function updateText(ctx: Ctx, kind: TextKind, { id, ...patch }: Input & { id: string }) {
  const before = await findText(ctx, kind, id)
  checkVersion(ctx, before)
  await checkReferences(ctx, patch)
  if (patch.slug !== undefined && patch.slug !== before.slug) await requireFreeSlug(ctx, kind, patch.slug, id)
  const cleaned = cleanText(patch)
  const { publishedAt } = withPublishTime(ctx.now, { ...before, ...cleaned })
  const after = await updateVersioned(ctx, siteTexts, {
    columns: textColumns,
    before,
    set: { ...cleaned, publishedAt },
    what: `this ${kind}`,
    again: () => findText(ctx, kind, id),
  })
  if (after.slug !== before.slug) await rememberSlug(ctx, kind, id, after.slug, before.slug)
  ctx.emit(events[kind].updated, {
    subjectId: id,
    data: { title: after.title, slug: after.slug, fields: Object.keys(patch) },
  })
  return after
}

async function removeText(ctx: Ctx, kind: TextKind, id: string): Promise<{ id: string; deleted: true }> {
  const before = await findText(ctx, kind, id)
  checkVersion(ctx, before)
  await ctx.db
    .update(siteTexts)
    .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${siteTexts.version} + 1` })
    .where(eq(siteTexts.id, id))
  ctx.emit(events[kind].deleted, { subjectId: id, data: { title: before.title, slug: before.slug } })
  return { id, deleted: true }
}

/** Restores a text that was deleted in the last 30 days. It gets another slug if its own is taken. */
async function restoreText(ctx: Ctx, kind: TextKind, id: string) {
  const before = await findText(ctx, kind, id, isRestorable(siteTexts.deletedAt, ctx.now))
  checkVersion(ctx, before)
  if (before.deletedAt === null) return before
  const slug = await freeSlug(ctx, kind, before.slug)
  const after = await updateVersioned(ctx, siteTexts, {
    columns: textColumns,
    before,
    set: { deletedAt: null, slug },
    what: `this ${kind}`,
    again: () => findText(ctx, kind, id),
  })
  await rememberSlug(ctx, kind, id, slug)
  ctx.emit(events[kind].restored, { subjectId: id, data: { title: after.title, slug } })
  return after
}

type ById = { id: string }
const versionedOptions = { versioned: true } as const
const removeOptions = { versioned: true, destructive: true } as const
const restoreOptions = { versioned: true, idempotent: true } as const

// ---- pages

export const listPages = read('site.listPages', admin, async (ctx, query: PageQuery): Promise<PagePage> => {
  const { page, rows, total } = await listTexts(ctx, 'page', query)
  const { items, ...rest } = page.page(rows, total)
  return { items: items.map((row) => asPage(ctx.now, row)), ...rest }
})
export const getPage = read(
  'site.getPage',
  admin,
  async (ctx, { id }: ById): Promise<Page> => asPage(ctx.now, await findText(ctx, 'page', id)),
)
export const createPage = write(
  'site.createPage',
  admin,
  async (ctx, input: PageCreate): Promise<Page> => asPage(ctx.now, await createText(ctx, 'page', input)),
)
export const updatePage = write(
  'site.updatePage',
  admin,
  async (ctx, input: PagePatch & ById): Promise<Page> => asPage(ctx.now, await updateText(ctx, 'page', input)),
  versionedOptions,
)
export const removePage = write(
  'site.removePage',
  admin,
  (ctx, { id }: ById) => removeText(ctx, 'page', id),
  removeOptions,
)
export const restorePage = write(
  'site.restorePage',
  admin,
  async (ctx, { id }: ById): Promise<Page> => asPage(ctx.now, await restoreText(ctx, 'page', id)),
  restoreOptions,
)

// ---- posts

export const listPosts = read('site.listPosts', admin, async (ctx, query: PostQuery): Promise<PostPage> => {
  const { page, rows, total } = await listTexts(ctx, 'post', query)
  const { items, ...rest } = page.page(rows, total)
  return { items: items.map((row) => asPost(ctx.now, row)), ...rest }
})
export const getPost = read(
  'site.getPost',
  admin,
  async (ctx, { id }: ById): Promise<Post> => asPost(ctx.now, await findText(ctx, 'post', id)),
)
export const createPost = write(
  'site.createPost',
  admin,
  async (ctx, input: PostCreate): Promise<Post> => asPost(ctx.now, await createText(ctx, 'post', input)),
)
export const updatePost = write(
  'site.updatePost',
  admin,
  async (ctx, input: PostPatch & ById): Promise<Post> => asPost(ctx.now, await updateText(ctx, 'post', input)),
  versionedOptions,
)
export const removePost = write(
  'site.removePost',
  admin,
  (ctx, { id }: ById) => removeText(ctx, 'post', id),
  removeOptions,
)
export const restorePost = write(
  'site.restorePost',
  admin,
  async (ctx, { id }: ById): Promise<Post> => asPost(ctx.now, await restoreText(ctx, 'post', id)),
  restoreOptions,
)
