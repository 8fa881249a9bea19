import { and, eq, isNull } from 'drizzle-orm'
import { accountRemoved } from '../accounts/hooks.ts'
import { skills } from './table.ts'

/** Deletes the user's personal skills; a team keeps its own. */
export const removePersonalSkills = accountRemoved.handle(async (ctx, { userId }) => {
  await ctx.db.delete(skills).where(and(eq(skills.createdById, userId), isNull(skills.organizationId)))
})
