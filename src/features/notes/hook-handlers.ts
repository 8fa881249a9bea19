import { eq, isNotNull, isNull } from 'drizzle-orm'
import { and } from '../../db/conditions.ts'
import { accountRemoved } from '../accounts/hooks.ts'
import { projectStats } from '../projects/hooks.ts'
import { notes } from './table.ts'

/** Notes of a team stay; personal ones are deleted with the user's row. */
export const removeNoteAuthor = accountRemoved.handle(async (ctx, { userId }) => {
  await ctx.db
    .update(notes)
    .set({ createdById: null })
    .where(and(eq(notes.createdById, userId), isNotNull(notes.organizationId)))
})

export const noteStats = projectStats.handle(async (ctx, { projectId }) => ({
  notes: await ctx.db.$count(notes, and(eq(notes.projectId, projectId), isNull(notes.deletedAt))),
}))
