import { count, eq, getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { dropPassages } from '../search/passages.ts'
import { index } from './indexed.ts'
import { memories } from './table.ts'

interface Owned {
  id: string
  organizationId: string | null
}

/**
 * What becomes of an agent's memory when the agent goes, and when it comes back. Apart from the rest, which knows agents. Its own team's
 * alone: others work with public agents too, and what they remember of them is theirs.
 */
const ofAgent = ({ id, organizationId }: Owned, deletedAt: SQL): SQL =>
  and(
    eq(memories.scope, 'agent'),
    eq(memories.scopeId, id),
    sql`${memories.organizationId} = ${organizationId}::uuid`,
    deletedAt,
  )

export async function countOfAgent(ctx: Ctx, agent: Owned): Promise<number> {
  const [row] = await ctx.db
    .select({ n: count() })
    .from(memories)
    .where(ofAgent(agent, sql`${memories.deletedAt} is null`))
  return row?.n ?? 0
}

/** At the very moment at which the agent goes: by it they are known again. */
export async function removeOfAgent(ctx: Ctx, agent: Owned): Promise<number> {
  const gone = await ctx.db
    .update(memories)
    .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
    .where(ofAgent(agent, sql`${memories.deletedAt} is null`))
    .returning({ id: memories.id })
  const ids = gone.map(({ id }) => id)
  await dropPassages(ctx, 'memory', ids)
  return ids.length
}

export async function restoreOfAgent(ctx: Ctx, agent: Owned, deletedAt: string): Promise<void> {
  const back = await ctx.db
    .update(memories)
    .set({ deletedAt: null, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
    .where(ofAgent(agent, eq(memories.deletedAt, deletedAt)))
    .returning(getTableColumns(memories))
  await index(ctx, back)
}
