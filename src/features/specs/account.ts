import { and, eq } from 'drizzle-orm'
import { accountRemoved, FORMER_USER } from '../accounts/hooks.ts'
import { specVersions } from './table.ts'

/** Removes the name of a deleted account from spec versions; the versions stay. */
export const removeSpecAuthor = accountRemoved.handle(async (ctx, { userId }) => {
  await ctx.db
    .update(specVersions)
    .set({ authorId: null, authorName: FORMER_USER })
    .where(and(eq(specVersions.authorType, 'user'), eq(specVersions.authorId, userId)))
})
