import { sql } from 'drizzle-orm'
import { settingsOf } from '../settings/values.ts'
import { extraMatches, selectMatches } from '../site/matching.ts'
import { users } from '../users/table.ts'
import { isPublicPost } from './rows.ts'
import { communityPosts } from './table.ts'

/** The public search finds posts of the community while it is on. */
export const communitySearch = extraMatches.handle(async (ctx, { limit }) => {
  if (!(await settingsOf(ctx)).community.enabled) return undefined
  const source = {
    title: communityPosts.title,
    text: communityPosts.content,
    path: sql`concat('/api/public/community/posts/', ${communityPosts.id}::text)`,
    at: communityPosts.updatedAt,
    search: communityPosts.search,
  }
  const rest = sql`${communityPosts} join ${users} on ${users.id} = ${communityPosts.authorId} where ${isPublicPost()}`
  return { kind: 'community', matches: selectMatches(sql`'community'`, source, rest, limit) }
})
