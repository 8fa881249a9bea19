import { and, eq, isNull } from 'drizzle-orm'
import { accountRemoved } from '../accounts/hooks.ts'
import { agents } from './table.ts'

/** Deletes the user's personal agents; a team keeps its own. */
export const removePersonal = accountRemoved.handle(async (ctx, { userId }) => {
  await ctx.db.delete(agents).where(and(eq(agents.createdById, userId), isNull(agents.organizationId)))
})
