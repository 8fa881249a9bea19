import { eq, isNull } from 'drizzle-orm'
import { and } from '../../db/conditions.ts'
import { projectStats } from '../projects/hooks.ts'
import { notes } from './table.ts'

export const noteStats = projectStats.handle(async (ctx, { projectId }) => ({
  notes: await ctx.db.$count(notes, and(eq(notes.projectId, projectId), isNull(notes.deletedAt))),
}))
