import { type Ctx, checkVersion } from '../../action.ts'
import { requireRoleOn } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { changeVersioned } from '../../records/rows.ts'
import type { Project } from '../projects/schema.ts'
import { find, findIn, type Ref } from './reading.ts'
import { type Row, visible } from './rows.ts'
import { features } from './table.ts'

/** Finds a feature that the caller may change, and checks the expected version. */
export async function writable(ctx: Ctx, ref: Ref): Promise<{ row: Row; project: Project }> {
  const found = await find(ctx, ref)
  requireWriter(ctx, found.project)
  checkVersion(ctx, found.row)
  return found
}

export function requireWriter(ctx: Ctx, project: Project): void {
  requireRoleOn(ctx.actor, project, 'member', 'Changing features of this project')
  if (project.status === 'archived') throw new AppError('conflict', 'This project is archived. Restore it first.')
}

export const change = (ctx: Ctx, before: Row, set: Partial<typeof features.$inferInsert>): Promise<Row> =>
  changeVersioned<typeof features, Row>(ctx, features, {
    columns: visible,
    before,
    set,
    what: 'this feature',
    again: async () => (await findIn(ctx, before.id)).row,
  })
