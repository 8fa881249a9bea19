import { sql } from 'drizzle-orm'
import { boolean, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant, searchOver, softRecord } from '../../db/columns.ts'
import { users } from '../users/table.ts'

export const communityPosts = pgTable(
  'community_posts',
  {
    ...softRecord(),
    authorId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    title: text().notNull(),
    content: text().notNull(),
    status: text().$type<'visible' | 'hidden'>().notNull(),
    pinned: boolean().notNull().default(false),
    /** Why an administrator hid or showed it; the author can read it. */
    reason: text(),
    search: searchOver('title', 'content'),
  },
  (t) => [
    index('community_posts_created').on(t.createdAt, t.id),
    index('community_posts_visible')
      .on(t.createdAt, t.id)
      .where(sql`${t.status} = 'visible' and ${t.deletedAt} is null`),
    index('community_posts_author').on(t.authorId),
    index('community_posts_search').using('gin', t.search),
  ],
)

/** One report of each user: three of them hide a post until an administrator has looked at it. */
export const communityReports = pgTable(
  'community_reports',
  {
    postId: uuid()
      .notNull()
      .references(() => communityPosts.id, { onDelete: 'cascade' }),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    reason: text().notNull(),
    createdAt: instant().notNull(),
  },
  (t) => [primaryKey({ columns: [t.postId, t.userId] }), index('community_reports_user').on(t.userId)],
)
