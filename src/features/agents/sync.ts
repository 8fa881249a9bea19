import type { Ctx } from '../../action.ts'
import { checked, type Synced, split } from '../../records/sync.ts'
import { visible } from './rows.ts'
import { AgentCreate, AgentPatch } from './schema.ts'
import { create, remove, restore, update } from './service.ts'

export const agentSync: Synced<Ctx> = {
  columns: visible,
  fields: {
    name: 'value',
    role: 'value',
    persona: 'text',
    systemPrompt: 'text',
    model: 'value',
    provider: 'value',
    skills: 'set',
    memoryScope: 'value',
    scope: 'value',
    status: 'value',
  },
  create: async (ctx, id, fields) => {
    const { now, later } = split(fields, (name) => name === 'status')
    await create(ctx, { ...checked(AgentCreate, now), id })
    if (later.status === 'archived') await update(ctx, { ...checked(AgentPatch, later), ref: id })
  },
  update: (ctx, { id }, fields) => update(ctx, { ...checked(AgentPatch, fields), ref: id }),
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
  restore: (ctx, { id }) => restore(ctx, { ref: id }),
}
