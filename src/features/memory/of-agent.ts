import { and, count, eq, getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { dropPassages } from '../search/passages.ts'
import { index } from './indexed.ts'
import { memories } from './table.ts'

/** What becomes of an agent's memory when the agent goes, and when it comes back. Apart from the rest, which knows agents. */
const ofAgent = (agentId: string, deletedAt: SQL): SQL => and(eq(memories.scope, 'agent'), eq(memories.scopeId, agentId), deletedAt) as SQL

export async function countOfAgent(ctx: Ctx, agentId: string): Promise<number> {
  const [row] = await ctx.db
    .select({ n: count() })
    .from(memories)
    .where(ofAgent(agentId, sql`${memories.deletedAt} is null`))
  return row?.n ?? 0
}

/** At the very moment at which the agent goes: by it they are known again. */
export async function removeOfAgent(ctx: Ctx, agentId: string): Promise<number> {
  const gone = await ctx.db
    .update(memories)
    .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
    .where(ofAgent(agentId, sql`${memories.deletedAt} is null`))
    .returning({ id: memories.id })
  const ids = gone.map(({ id }) => id)
  await dropPassages(ctx, 'memory', ids)
  return ids.length
}

export async function restoreOfAgent(ctx: Ctx, agentId: string, deletedAt: string): Promise<void> {
  const back = await ctx.db
    .update(memories)
    .set({ deletedAt: null, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
    .where(ofAgent(agentId, eq(memories.deletedAt, deletedAt)))
    .returning(getTableColumns(memories))
  await index(ctx, back)
}
