import type { Ctx } from '../../action.ts'
import { type SyncRules, splitFields, validateFields } from '../../records/sync.ts'
import { agentColumns } from './rows.ts'
import { AgentCreate, AgentPatch } from './schema.ts'
import { create, remove, restore, update } from './service.ts'

export const agentSync: SyncRules<Ctx> = {
  columns: agentColumns,
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
    const { now, later } = splitFields(fields, (name) => name === 'status')
    await create(ctx, { ...validateFields(AgentCreate, now), id })
    if (later.status === 'archived') await update(ctx, { ...validateFields(AgentPatch, later), ref: id })
  },
  update: (ctx, { id }, fields) => update(ctx, { ...validateFields(AgentPatch, fields), ref: id }),
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
  restore: (ctx, { id }) => restore(ctx, { ref: id }),
}
