import type { Ctx } from '../../action.ts'
import { type SyncRules, splitFields, validateFields } from '../../records/sync.ts'
import { specColumns } from './rows.ts'
import { SpecCreate, SpecPatch } from './schema.ts'
import { create, reviseSpec } from './service.ts'

/** Specs cannot be deleted, neither by the web API nor by devices. Every change makes a version. */
export const specSync: SyncRules<Ctx> = {
  columns: specColumns,
  fields: { title: 'value', content: 'text', status: 'value' },
  onCreate: ['projectId'],
  create: async (ctx, id, fields) => {
    const { now, later } = splitFields(fields, (name, value) => name === 'status' && value === 'archived')
    const { version: baseVersion } = await create(ctx, { ...validateFields(SpecCreate, now), id })
    if (Object.keys(later).length > 0)
      await reviseSpec(ctx, { ...validateFields(SpecPatch, later), ref: id, baseVersion })
  },
  update: (ctx, { id, version }, fields) =>
    reviseSpec(ctx, { ...validateFields(SpecPatch, fields), ref: id, baseVersion: version }),
}
