import { and, eq } from 'drizzle-orm'
import { accountRemoved } from '../accounts/hooks.ts'
import { views } from './table.ts'

/** Deletes the personal views of a removed account; shared ones stay with their team. */
export const removePersonalViews = accountRemoved.handle(async (ctx, { userId }) => {
  await ctx.db.delete(views).where(and(eq(views.createdById, userId), eq(views.shared, false)))
})
