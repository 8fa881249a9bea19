import { type Ctx, checkVersion } from '../../action.ts'
import { throwIfRefused } from '../../auth/policy.ts'
import { updateVersioned } from '../../records/rows.ts'
import type { Project } from '../projects/schema.ts'
import { findFeatureByRef, findIn, type Ref } from './reading.ts'
import { writingRefusal } from './refusals.ts'
import { featureColumns, type Row } from './rows.ts'
import { features } from './table.ts'

/** Finds a feature that the caller may change, and checks the expected version. */
export async function findWritableFeature(ctx: Ctx, ref: Ref): Promise<{ row: Row; project: Project }> {
  const found = await findFeatureByRef(ctx, ref)
  requireWriter(ctx, found.project)
  checkVersion(ctx, found.row)
  return found
}

export const requireWriter = (ctx: Ctx, project: Project): void => throwIfRefused(writingRefusal(ctx, project))

export const changeFeature = (ctx: Ctx, before: Row, set: Partial<typeof features.$inferInsert>): Promise<Row> =>
  updateVersioned<typeof features, Row>(ctx, features, {
    columns: featureColumns,
    before,
    set,
    what: 'this feature',
    again: async () => (await findIn(ctx, before.id)).row,
  })
