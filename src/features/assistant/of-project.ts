import { eq } from 'drizzle-orm'
import { projectMoved } from '../projects/hooks.ts'
import { aiSessions } from './table.ts'

/** Chats about a project belong to its new team after it has moved; they stay their owner's. */
export const moveChats = projectMoved.handle(async (ctx, { projectId, organizationId }) => {
  await ctx.db.update(aiSessions).set({ organizationId }).where(eq(aiSessions.projectId, projectId))
})
