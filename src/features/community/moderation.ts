import { eq, isNull, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { admin } from '../../auth/policy.ts'
import { contains } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { notify } from '../notifications/service.ts'
import { users } from '../users/table.ts'
import { postChanged, postRemoved } from './events.ts'
import { postColumns } from './rows.ts'
import type { ModeratedPage, ModeratedPatch, ModeratedPost, ModeratedQuery } from './schema.ts'
import { softDeletePost } from './service.ts'
import { communityPosts, communityReports } from './table.ts'

const columns = {
  ...postColumns,
  reason: communityPosts.reason,
  author: { id: users.id, handle: users.handle, name: users.name },
  reports: sql<number>`(select count(*)::int from ${communityReports}
    where ${communityReports.postId} = ${communityPosts}.id)`,
}

const selectModerated = (ctx: Ctx) =>
  ctx.db.select(columns).from(communityPosts).innerJoin(users, eq(users.id, communityPosts.authorId)).$dynamic()

async function findModerated(ctx: Ctx, id: string): Promise<ModeratedPost> {
  const [found] = await selectModerated(ctx).where(and(eq(communityPosts.id, id), isNull(communityPosts.deletedAt)))
  if (!found) throw notFound('community_post', id)
  return found
}

export const listAll = read('community.listAll', admin, async (ctx, query: ModeratedQuery): Promise<ModeratedPage> => {
  const page = keyset({ createdAt: communityPosts.createdAt }, communityPosts.id, query, { sort: 'createdAt' })
  const filters = and(
    isNull(communityPosts.deletedAt),
    query.search ? contains(communityPosts.title, query.search) : undefined,
    query.status && eq(communityPosts.status, query.status),
  )
  const rows = await selectModerated(ctx)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(rows, query.total ? await ctx.db.$count(communityPosts, filters) : undefined)
})

const notifyAuthor = (
  ctx: Ctx,
  { author, title }: ModeratedPost,
  what: string,
  reason?: string | null,
): Promise<void> =>
  notify(ctx, {
    userId: author.id,
    type: 'info',
    reason: 'community',
    title: `Your post ${what}: ${title}`,
    message: reason ?? undefined,
    link: '/community',
  })

/** Shows, hides or pins a post. A decision about its status deletes earlier reports. */
export const moderate = write(
  'community.moderate',
  admin,
  async (ctx, { id, ...patch }: ModeratedPatch & { id: string }): Promise<ModeratedPost> => {
    const before = await findModerated(ctx, id)
    checkVersion(ctx, before)
    await updateVersioned(ctx, communityPosts, {
      columns: { id: communityPosts.id, version: communityPosts.version },
      before,
      set: patch,
      what: 'this post',
      again: () => findModerated(ctx, id),
    })
    if (patch.status) await ctx.db.delete(communityReports).where(eq(communityReports.postId, id))
    const after = await findModerated(ctx, id)
    ctx.emit(postChanged, {
      subjectId: id,
      userId: before.author.id,
      data: { fields: Object.keys(patch), status: after.status },
    })
    if (after.status !== before.status)
      await notifyAuthor(ctx, after, after.status === 'visible' ? 'is public now' : 'was hidden', after.reason)
    return after
  },
  { versioned: true },
)

export const removeAny = write(
  'community.removeAny',
  admin,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findModerated(ctx, id)
    checkVersion(ctx, before)
    await softDeletePost(ctx, id)
    ctx.emit(postRemoved, { subjectId: id, userId: before.author.id, data: { title: before.title } })
    await notifyAuthor(ctx, before, 'was deleted')
    return { id, deleted: true }
  },
  { versioned: true, destructive: true },
)
