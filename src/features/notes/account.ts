import { and, eq, isNotNull } from 'drizzle-orm'
import { accountRemoved } from '../accounts/hooks.ts'
import { notes } from './table.ts'

/** Notes of a team stay; personal ones are deleted with the user's row. */
export const withoutAuthor = accountRemoved.handle(async (ctx, { userId }) => {
  await ctx.db
    .update(notes)
    .set({ createdById: null })
    .where(and(eq(notes.createdById, userId), isNotNull(notes.organizationId)))
})
