import { checked, type Synced, split } from '../../records/sync.ts'
import { visible } from './rows.ts'
import { DecisionCreate, DecisionPatch } from './schema.ts'
import { create, update } from './service.ts'

const startsAs = new Set<unknown>(['proposed', 'accepted'])

/** The web API deletes no decision, so devices cannot either. */
export const decisionSync: Synced = {
  columns: visible,
  fields: {
    title: 'value',
    context: 'text',
    decision: 'text',
    rationale: 'text',
    alternatives: 'value',
    status: 'value',
    outcome: 'text',
    tags: 'set',
  },
  onCreate: ['projectId', 'supersedes'],
  create: async (ctx, id, fields) => {
    const isLater = (name: string, value: unknown) => name === 'outcome' || (name === 'status' && !startsAs.has(value))
    const { now, later } = split(fields, isLater)
    await create(ctx, { ...checked(DecisionCreate, now), id })
    if (Object.keys(later).length > 0) await update(ctx, { ...checked(DecisionPatch, later), ref: id })
  },
  update: (ctx, { id }, fields) => update(ctx, { ...checked(DecisionPatch, fields), ref: id }),
}
