import { and, eq } from 'drizzle-orm'
import { accountRemoved, FORMER_USER } from '../accounts/hooks.ts'
import { memories } from './table.ts'

/** Memories stay, without the name of the user who left. */
export const withoutAuthor = accountRemoved.handle(async (ctx, { userId }) => {
  await ctx.db
    .update(memories)
    .set({ authorId: null, authorName: FORMER_USER })
    .where(and(eq(memories.authorType, 'user'), eq(memories.authorId, userId)))
})
