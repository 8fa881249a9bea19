import { and, eq, sql } from 'drizzle-orm'
import { holderNames } from '../../records/names.ts'
import { noteMoved } from '../notes/hooks.ts'
import { projectMoved } from '../projects/hooks.ts'
import { attachments } from './table.ts'

/** Files take room where their record is, so they move to another team with it. */
export const moveOfProject = projectMoved.handle(async (ctx, { projectId, organizationId }) => {
  for (const kind of holderNames) {
    const { table } = ctx.app.records.get(kind)
    if (!table.projectId) continue
    const ids = sql`select ${table.id} from ${table} where ${table.projectId} = ${projectId}`
    await ctx.db
      .update(attachments)
      .set({ organizationId })
      .where(and(eq(attachments.kind, kind), sql`${attachments.recordId} in (${ids})`))
  }
})

export const moveOfNote = noteMoved.handle(async (ctx, { noteId, organizationId }) => {
  await ctx.db
    .update(attachments)
    .set({ organizationId })
    .where(and(eq(attachments.kind, 'note'), eq(attachments.recordId, noteId)))
})
