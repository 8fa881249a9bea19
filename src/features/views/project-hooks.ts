import { eq } from 'drizzle-orm'
import { projectMoved } from '../projects/hooks.ts'
import { views } from './table.ts'

/** Views of a project move to another team with it. */
export const moveViews = projectMoved.handle(async (ctx, { projectId, organizationId }) => {
  await ctx.db.update(views).set({ organizationId }).where(eq(views.projectId, projectId))
})
