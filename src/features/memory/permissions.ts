import type { Ctx } from '../../action.ts'
import { includePermissions, member, type Permission, permissionOf, ruleRefusal } from '../../auth/policy.ts'
import type { Memory, MemoryRead } from './schema.ts'
import { writeRefusal } from './target.ts'

export const memoryWriteRule = member('memories:write')

const byPolicy = (ctx: Ctx, action: string) =>
  ruleRefusal(ctx.actor, memoryWriteRule, `memory.${action}`, ctx.app.clock)

/** Returns a memory with what the caller may do with it. */
export async function withPermissions(ctx: Ctx, memory: Memory): Promise<MemoryRead> {
  const change = permissionOf(byPolicy(ctx, 'update') ?? (await writeRefusal(ctx, memory)))
  return { ...memory, ...includePermissions(ctx.actor, () => ({ update: change, remove: change })) }
}

export const canStore = (ctx: Ctx): { store: Permission; clear: Permission } => ({
  store: permissionOf(byPolicy(ctx, 'store')),
  clear: permissionOf(byPolicy(ctx, 'clear')),
})
