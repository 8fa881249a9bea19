import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { users } from './table.ts'

/** SQL condition for what anybody may read: its author is not suspended. Suspending hides what one made public. */
export const notBySuspended = (authorId: SQLWrapper): SQL =>
  sql`not exists (select 1 from ${users} where ${users.id} = ${authorId} and ${users.status} = 'suspended')`
