import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { users } from './table.ts'

/** SQL condition: the author is not suspended. Suspending a user hides their public records. */
export const isNotBySuspendedAuthor = (authorId: SQLWrapper): SQL =>
  sql`not exists (select 1 from ${users} where ${users.id} = ${authorId} and ${users.status} = 'suspended')`
