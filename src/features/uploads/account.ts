import { and, eq, isNotNull } from 'drizzle-orm'
import { accountRemoved } from '../accounts/hooks.ts'
import { uploads } from './table.ts'

/** Keeps the pictures of teams; those of the user are deleted with their row. */
export const clearUploadOwner = accountRemoved.handle(async (ctx, { userId }) => {
  await ctx.db
    .update(uploads)
    .set({ userId: null })
    .where(and(eq(uploads.userId, userId), isNotNull(uploads.organizationId)))
})
