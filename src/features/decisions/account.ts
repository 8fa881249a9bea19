import { and, eq } from 'drizzle-orm'
import { accountRemoved, FORMER_USER } from '../accounts/hooks.ts'
import { decisionComments, decisions } from './table.ts'

/** Removes the name of a removed account from decisions and comments, which stay. */
export const withoutAuthor = accountRemoved.handle(async (ctx, { userId }) => {
  for (const table of [decisions, decisionComments])
    await ctx.db
      .update(table)
      .set({ authorId: null, authorName: FORMER_USER })
      .where(and(eq(table.authorType, 'user'), eq(table.authorId, userId)))
})
