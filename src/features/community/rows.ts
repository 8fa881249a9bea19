import { eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, admin, type Rule, ruleRefusal } from '../../auth/policy.ts'
import { and, or } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import type { User } from '../users/schema.ts'
import { activeUser } from '../users/service.ts'
import { users } from '../users/table.ts'
import { communityPosts } from './table.ts'

export const postColumns = {
  id: communityPosts.id,
  createdAt: communityPosts.createdAt,
  updatedAt: communityPosts.updatedAt,
  version: communityPosts.version,
  title: communityPosts.title,
  pinned: communityPosts.pinned,
  status: communityPosts.status,
  author: { handle: users.handle, name: users.name },
}

/** SQL condition: everyone sees the post. Posts of suspended users are hidden. */
export const isPublicPost = (): SQL =>
  sql`${communityPosts.status} = 'visible' and ${communityPosts.deletedAt} is null and ${users.status} = 'active'`

const selectPosts = (ctx: Ctx) =>
  ctx.db
    .select({ ...postColumns, authorId: users.id, content: communityPosts.content })
    .from(communityPosts)
    .innerJoin(users, eq(users.id, communityPosts.authorId))
    .$dynamic()
const communityReadRule = account('community:read')
type Row = Awaited<ReturnType<typeof selectPosts>>[number]

/**
 * Finds a post that the caller may read: a visible one, their own, or any if they are an administrator. An API key has
 * no administrator rights, and needs the scope to see its user's own hidden posts.
 */
export async function findPost(ctx: Ctx, id: string): Promise<Row> {
  const { actor, app } = ctx
  const may = (rule: Rule): boolean => ruleRefusal(actor, rule, 'community.get', app.clock) === undefined
  const mine = actor.userId && may(communityReadRule) ? eq(communityPosts.authorId, actor.userId) : undefined
  const readable = may(admin) ? undefined : or(isPublicPost(), mine)
  const [found] = await selectPosts(ctx).where(
    and(eq(communityPosts.id, id), isNull(communityPosts.deletedAt), readable),
  )
  if (!found) throw notFound('community_post', id)
  return found
}

/** Returns the caller, who must have proved their address: otherwise anyone could post under any number of names. */
export async function verifiedUser(ctx: Ctx): Promise<User> {
  const user = await activeUser(ctx, userIdOf(ctx.actor))
  if (!user?.emailVerifiedAt)
    throw new AppError('forbidden', 'Confirm your e-mail address first, with the link in the mail that you received.')
  return user
}
