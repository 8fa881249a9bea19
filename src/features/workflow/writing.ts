import { type Ctx, checkVersion } from '../../action.ts'
import { refuse } from '../../auth/policy.ts'
import { changeVersioned } from '../../records/rows.ts'
import type { Project } from '../projects/schema.ts'
import { find, findIn, type Ref } from './reading.ts'
import { writingRefusal } from './refusals.ts'
import { type Row, visible } from './rows.ts'
import { features } from './table.ts'

/** Finds a feature that the caller may change, and checks the expected version. */
export async function writable(ctx: Ctx, ref: Ref): Promise<{ row: Row; project: Project }> {
  const found = await find(ctx, ref)
  requireWriter(ctx, found.project)
  checkVersion(ctx, found.row)
  return found
}

export const requireWriter = (ctx: Ctx, project: Project): void => refuse(writingRefusal(ctx, project))

export const change = (ctx: Ctx, before: Row, set: Partial<typeof features.$inferInsert>): Promise<Row> =>
  changeVersioned<typeof features, Row>(ctx, features, {
    columns: visible,
    before,
    set,
    what: 'this feature',
    again: async () => (await findIn(ctx, before.id)).row,
  })
