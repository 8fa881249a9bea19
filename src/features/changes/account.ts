import { eq, inArray } from 'drizzle-orm'
import { accountRemoved } from '../accounts/hooks.ts'
import { changeItems, changes } from './table.ts'

/** Removes the changes of an account that is deleted: they may contain texts of the person. */
export const removeChanges = accountRemoved.handle(async (ctx, { userId }) => {
  const own = ctx.db.select({ id: changes.id }).from(changes).where(eq(changes.userId, userId))
  await ctx.db.delete(changeItems).where(inArray(changeItems.changeId, own))
  await ctx.db.delete(changes).where(eq(changes.userId, userId))
})
