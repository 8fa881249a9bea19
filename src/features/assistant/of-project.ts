import { eq } from 'drizzle-orm'
import { projectMoved } from '../projects/hooks.ts'
import { aiSessions } from './table.ts'

/** When a project moves to another team, its chats move too. Their owners keep them. */
export const moveChats = projectMoved.handle(async (ctx, { projectId, organizationId }) => {
  await ctx.db.update(aiSessions).set({ organizationId }).where(eq(aiSessions.projectId, projectId))
})
