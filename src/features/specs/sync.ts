import type { Ctx } from '../../action.ts'
import { checked, type Synced, split } from '../../records/sync.ts'
import { visible } from './rows.ts'
import { SpecCreate, SpecPatch } from './schema.ts'
import { create, revise } from './service.ts'

/** Specs cannot be deleted, neither by the web API nor by devices. Every change makes a version. */
export const specSync: Synced<Ctx> = {
  columns: visible,
  fields: { title: 'value', content: 'text', status: 'value' },
  onCreate: ['projectId'],
  create: async (ctx, id, fields) => {
    const { now, later } = split(fields, (name, value) => name === 'status' && value === 'archived')
    const { version: baseVersion } = await create(ctx, { ...checked(SpecCreate, now), id })
    if (Object.keys(later).length > 0) await revise(ctx, { ...checked(SpecPatch, later), ref: id, baseVersion })
  },
  update: (ctx, { id, version }, fields) =>
    revise(ctx, { ...checked(SpecPatch, fields), ref: id, baseVersion: version }),
}
