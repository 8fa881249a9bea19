import { and, eq, sql } from 'drizzle-orm'
import { holderNames } from '../../records/names.ts'
import { noteMoved } from '../notes/hooks.ts'
import { planUsage } from '../organizations/hooks.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import { projectMoved } from '../projects/hooks.ts'
import { attachments } from './table.ts'

/** Files count towards the storage of the team of their record, so they move with it. */
export const moveFilesOfProject = projectMoved.handle(async (ctx, { projectId, organizationId }) => {
  let moved = 0
  for (const kind of holderNames) {
    const { table } = ctx.app.records.get(kind)
    if (!table.projectId) continue
    const ids = sql`select ${table.id} from ${table} where ${table.projectId} = ${projectId}`
    const files = await ctx.db
      .update(attachments)
      .set({ organizationId })
      .where(and(eq(attachments.kind, kind), sql`${attachments.recordId} in (${ids})`))
      .returning({ id: attachments.id })
    moved += files.length
  }
  if (moved > 0) await requirePlanRoom(ctx, organizationId, 'storageMb', { more: 0 })
})

export const moveFilesOfNote = noteMoved.handle(async (ctx, { noteId, organizationId }) => {
  const moved = await ctx.db
    .update(attachments)
    .set({ organizationId })
    .where(and(eq(attachments.kind, 'note'), eq(attachments.recordId, noteId)))
    .returning({ id: attachments.id })
  if (moved.length > 0 && organizationId) await requirePlanRoom(ctx, organizationId, 'storageMb', { more: 0 })
})

/** Counts the files of a team in units of 2^20 bytes. */
export const countFiles = planUsage.handle(async (ctx, { organizationId, limit }) => {
  if (limit !== 'storageMb') return 0
  const [used] = await ctx.db
    .select({ bytes: sql<string>`coalesce(sum(${attachments.size}), 0)` })
    .from(attachments)
    .where(eq(attachments.organizationId, organizationId))
  return Number(used?.bytes) / 2 ** 20
})
