import { desc, eq, getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { mayRead } from '../../records/readable.ts'
import { emitChangedRows } from '../../records/synced-changes.ts'
import { excerptOf } from '../../text/text.ts'
import { accountRemoved, FORMER_USER } from '../accounts/hooks.ts'
import { agentParts, onAgentRemoved, onAgentRestored } from '../agents/hooks.ts'
import type { AgentDetail } from '../agents/schema.ts'
import { dropPassages } from '../search/indexing/passages.ts'
import { indexMemories } from './index-passages.ts'
import { isCurrentMemory, isLiveMemory, selectMemories } from './rows.ts'
import { memories } from './table.ts'

/** Replaces the author of memories whose account is deleted. */
export const removeMemoryAuthor = accountRemoved.handle(async (ctx, { userId }) => {
  const theirs = await ctx.db
    .update(memories)
    .set({ authorId: null, authorName: FORMER_USER })
    .where(and(eq(memories.authorType, 'user'), eq(memories.authorId, userId)))
    .returning({ id: memories.id, organizationId: memories.organizationId, projectId: memories.projectId })
  emitChangedRows(ctx, 'memory', theirs)
})

interface Owned {
  id: string
  organizationId: string | null
}

/**
 * The memories that are deleted and restored with an agent: only those of its own team. Other teams that work with a
 * public agent keep their memories of it.
 */
const ofAgent = ({ id, organizationId }: Owned, deletedAt: SQL): SQL =>
  and(
    eq(memories.scope, 'agent'),
    eq(memories.scopeId, id),
    sql`${memories.organizationId} = ${organizationId}::uuid`,
    deletedAt,
  )

/** Sets the same `deletedAt` as the agent has, so that restore finds them. */
async function removeMemoriesOf(ctx: Ctx, agent: Owned): Promise<number> {
  const deleted = await ctx.db
    .update(memories)
    .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
    .where(ofAgent(agent, isLiveMemory))
    .returning({ id: memories.id, organizationId: memories.organizationId, projectId: memories.projectId })
  emitChangedRows(ctx, 'memory', deleted)
  const ids = deleted.map(({ id }) => id)
  await dropPassages(ctx, 'memory', ids)
  return ids.length
}

export const removeAgentMemories = onAgentRemoved.handle(async (ctx, { agent, keepMemories }) => ({
  memories: keepMemories
    ? await ctx.db.$count(memories, ofAgent(agent, isLiveMemory))
    : await removeMemoriesOf(ctx, agent),
}))

export const restoreAgentMemories = onAgentRestored.handle(async (ctx, { agent, deletedAt }) => {
  const back = await ctx.db
    .update(memories)
    .set({ deletedAt: null, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
    .where(ofAgent(agent, eq(memories.deletedAt, deletedAt)))
    .returning(getTableColumns(memories))
  emitChangedRows(ctx, 'memory', back)
  await indexMemories(ctx, back)
})

const MOST_MEMORIES = 5

/** Returns nothing if the credential's scopes do not allow reading memories. */
export const agentMemories = agentParts.handle(async (ctx, { agent }) =>
  mayRead(ctx, 'memory') ? { recentMemories: await memoriesOf(ctx, agent.id) } : {},
)

async function memoriesOf(ctx: Ctx, agentId: string): Promise<AgentDetail['recentMemories']> {
  const rows = await selectMemories(
    ctx,
    and(eq(memories.scope, 'agent'), eq(memories.scopeId, agentId), isCurrentMemory(ctx.now)),
  )
    .orderBy(desc(memories.updatedAt), desc(memories.id))
    .limit(MOST_MEMORIES)
  return rows.map(({ id, title, content, tags, updatedAt }) => ({
    id,
    title,
    excerpt: excerptOf(content),
    tags,
    updatedAt,
  }))
}
