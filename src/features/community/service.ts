import { eq, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { countAttempt } from '../../auth/limits.ts'
import { account, anyone } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { cachedHtml } from '../../pages/markdown.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { visibleText } from '../../text/text.ts'
import { requireSitePart, settingsOf } from '../settings/values.ts'
import type { User } from '../users/schema.ts'
import { users } from '../users/table.ts'
import { postChanged, postRemoved, postReported, postWritten } from './events.ts'
import { findPost, isPublicPost, postColumns, verifiedUser } from './rows.ts'
import type {
  CommunityCreate,
  CommunityPage,
  CommunityPatch,
  CommunityPost,
  CommunityQuery,
  CommunityReport,
  Reported,
} from './schema.ts'
import { communityPosts, communityReports } from './table.ts'

const PER_DAY = 5
const DAY_MS = 86_400_000
/** Number of reports that hides a post. */
const REPORTS_TO_HIDE = 3

const communityWriteRule = account('community:write')

async function toPost({ authorId: _, ...post }: Awaited<ReturnType<typeof findPost>>): Promise<CommunityPost> {
  return { ...post, html: await cachedHtml(`community ${post.id} ${post.version}`, post.content, true) }
}

const cleanPost = <T extends CommunityPatch>(input: T): T => ({
  ...input,
  ...(input.title !== undefined && { title: visibleText(input.title).trim() }),
  ...(input.content !== undefined && { content: visibleText(input.content) }),
})

export const list = read('community.list', anyone, async (ctx, query: CommunityQuery): Promise<CommunityPage> => {
  await requireSitePart(ctx, 'community')
  const page = keyset({ createdAt: communityPosts.createdAt }, communityPosts.id, query, { sort: 'createdAt' })
  const filters = and(isPublicPost(), query.pinned === undefined ? undefined : eq(communityPosts.pinned, query.pinned))
  const rows = await ctx.db
    .select(postColumns)
    .from(communityPosts)
    .innerJoin(users, eq(users.id, communityPosts.authorId))
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(rows)
})

export const get = read('community.get', anyone, async (ctx, { id }: { id: string }): Promise<CommunityPost> => {
  await requireSitePart(ctx, 'community')
  return toPost(await findPost(ctx, id))
})

/** Posts of new accounts, and all posts if the setting says so, are hidden until an administrator shows them. */
async function firstStatus(ctx: Ctx, { createdAt }: User): Promise<'visible' | 'hidden'> {
  const { moderation } = (await settingsOf(ctx)).community
  const isNew = Date.parse(ctx.now) - Date.parse(createdAt) < DAY_MS
  return moderation === 'before' || isNew ? 'hidden' : 'visible'
}

const storePost = write(
  'community.store',
  communityWriteRule,
  async (ctx, input: CommunityCreate): Promise<CommunityPost> => {
    const user = await verifiedUser(ctx)
    const [made] = await ctx.db
      .insert(communityPosts)
      .values({
        ...cleanPost(input),
        authorId: user.id,
        status: await firstStatus(ctx, user),
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .returning({ id: communityPosts.id, title: communityPosts.title, status: communityPosts.status })
    if (!made) throw new Error('insert returned nothing')
    ctx.emit(postWritten, { subjectId: made.id, userId: user.id, data: { title: made.title, status: made.status } })
    return toPost(await findPost(ctx, made.id))
  },
)

/** Counts before the transaction, so that attempts that fail count too. */
export const create = flow('community.create', communityWriteRule, async (ctx, input: CommunityCreate, keyed) => {
  await requireSitePart(ctx, 'community')
  const { id } = await verifiedUser(ctx)
  const { driver, clock } = ctx.app
  await countAttempt(driver, `community:${id}`, PER_DAY, DAY_MS / 1000, clock(), 'posts')
  return storePost(keyed, input)
})

/** Finds a post of the caller, and refuses those of others. */
async function findOwn(ctx: Ctx, id: string) {
  await requireSitePart(ctx, 'community')
  const found = await findPost(ctx, id)
  if (found.authorId !== ctx.actor.userId) throw new AppError('forbidden', 'Only the author of a post can change it.')
  return found
}

export const update = write(
  'community.update',
  communityWriteRule,
  async (ctx, { id, ...patch }: CommunityPatch & { id: string }): Promise<CommunityPost> => {
    const before = await findOwn(ctx, id)
    checkVersion(ctx, before)
    // An approved text must not change without another review.
    const again = before.status === 'visible' ? await firstStatus(ctx, await verifiedUser(ctx)) : 'hidden'
    await updateVersioned(ctx, communityPosts, {
      columns: { id: communityPosts.id, version: communityPosts.version },
      before,
      set: { ...cleanPost(patch), status: again },
      what: 'this post',
      again: () => findPost(ctx, id),
    })
    ctx.emit(postChanged, {
      subjectId: id,
      userId: before.authorId,
      data: { fields: Object.keys(patch), status: again },
    })
    return toPost(await findPost(ctx, id))
  },
  { versioned: true },
)

export const remove = write(
  'community.remove',
  communityWriteRule,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findOwn(ctx, id)
    checkVersion(ctx, before)
    await softDeletePost(ctx, id)
    ctx.emit(postRemoved, { subjectId: id, userId: before.authorId, data: { title: before.title } })
    return { id, deleted: true }
  },
  { versioned: true, destructive: true },
)

export const softDeletePost = (ctx: Ctx, id: string) =>
  ctx.db
    .update(communityPosts)
    .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${communityPosts.version} + 1` })
    .where(eq(communityPosts.id, id))

/** Reports a post, once for each user. The third report hides it until an administrator has looked at it. */
export const report = write(
  'community.report',
  communityWriteRule,
  async (ctx, { id, reason }: CommunityReport & { id: string }): Promise<Reported> => {
    await requireSitePart(ctx, 'community')
    // Locks the post: otherwise none of three concurrent reports would count the other two.
    await ctx.db.select({ id: communityPosts.id }).from(communityPosts).where(eq(communityPosts.id, id)).for('update')
    const post = await findPost(ctx, id)
    const user = await verifiedUser(ctx)
    if (post.authorId === user.id) throw new AppError('conflict', 'You cannot report your own post. You can delete it.')
    const made = await ctx.db
      .insert(communityReports)
      .values({ postId: id, userId: user.id, reason: visibleText(reason).trim(), createdAt: ctx.now })
      .onConflictDoNothing()
      .returning({ postId: communityReports.postId })
    if (made.length === 0) return { id, reported: false }
    const reports = await ctx.db.$count(communityReports, eq(communityReports.postId, id))
    const hidden = reports >= REPORTS_TO_HIDE && post.status === 'visible'
    if (hidden)
      await ctx.db
        .update(communityPosts)
        .set({ status: 'hidden', updatedAt: ctx.now, version: sql`${communityPosts.version} + 1` })
        .where(eq(communityPosts.id, id))
    ctx.emit(postReported, { subjectId: id, userId: post.authorId, data: { hidden } })
    return { id, reported: true }
  },
  { idempotent: true },
)
