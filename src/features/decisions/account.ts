import { and, eq } from 'drizzle-orm'
import { accountRemoved, FORMER_USER } from '../accounts/hooks.ts'
import { decisionComments, decisions } from './table.ts'

/** Decisions and comments stay, without the name of the user who left. */
export const withoutAuthor = accountRemoved.handle(async (ctx, { userId }) => {
  for (const table of [decisions, decisionComments])
    await ctx.db
      .update(table)
      .set({ authorId: null, authorName: FORMER_USER })
      .where(and(eq(table.authorType, 'user'), eq(table.authorId, userId)))
})
