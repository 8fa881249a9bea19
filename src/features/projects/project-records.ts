import { eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { rowsAs } from '../../db/session.ts'
import type { ProjectTable } from '../../records/kind.ts'
import { emitChanged } from '../../records/synced-changes.ts'
import { projectLocked } from './hooks.ts'

type Change = Partial<Record<'deletedAt' | 'organizationId', string | null>>

/** Changes all records of a project, raises their versions and reports the changes. Default: deleted ones too. */
export async function changeProjectRecords(
  ctx: Ctx,
  project: { id: string; organizationId: string },
  set: Change,
  which?: (table: ProjectTable) => SQL,
): Promise<void> {
  const place = { organizationId: project.organizationId, projectId: project.id }
  await projectLocked.call(ctx, { projectId: project.id })
  for (const table of ctx.app.records.inProjects) {
    const rows = await rowsAs<{ id: string }>(
      ctx.db
        .update(table)
        .set({ ...set, updatedAt: ctx.now, version: sql`${table.version} + 1` })
        .where(and(eq(table.projectId, project.id), which?.(table)))
        .returning({ id: table.id }),
    )
    const record = ctx.app.records.all.find((kind) => kind.table === table)
    const ids = rows.map(({ id }) => id)
    if (record?.sync) emitChanged(ctx, record.kind, place, ids)
  }
}
