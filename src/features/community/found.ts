import { sql } from 'drizzle-orm'
import { settingsOf } from '../settings/values.ts'
import { alsoFound, matching } from '../site/matching.ts'
import { users } from '../users/table.ts'
import { isShown } from './rows.ts'
import { communityPosts } from './table.ts'

/** The public search finds posts of the community while it is on. */
export const communityFound = alsoFound.handle(async (ctx, { limit }) => {
  if (!(await settingsOf(ctx)).community.enabled) return undefined
  const source = {
    title: communityPosts.title,
    text: communityPosts.content,
    path: sql`concat('/api/public/community/posts/', ${communityPosts.id}::text)`,
    at: communityPosts.updatedAt,
    search: communityPosts.search,
  }
  const rest = sql`${communityPosts} join ${users} on ${users.id} = ${communityPosts.authorId} where ${isShown()}`
  return { kind: 'community', matches: matching(sql`'community'`, source, rest, limit) }
})
