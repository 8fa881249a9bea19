import { eq, gt, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import { excerptOf } from '../../text/text.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import { passages, passageVectors } from '../search/table.ts'
import type { Memory, MemoryItem } from './schema.ts'
import { memories } from './table.ts'

/** Names the table, because drizzle omits it in a query with one table, and `id` would then be that of `p`. */
const embeddingModel = sql<
  string | null
>`(select min(v.model) from ${passages} p join ${passageVectors} v on v.passage_id = p.id
  where p.kind = 'memory' and p.record_id = ${memories}.id and p.chunk = 0)`
export const memoryColumns = {
  id: memories.id,
  createdAt: memories.createdAt,
  updatedAt: memories.updatedAt,
  version: memories.version,
  organizationId: memories.organizationId,
  projectId: memories.projectId,
  scope: memories.scope,
  scopeId: memories.scopeId,
  createdById: memories.createdById,
  authorType: memories.authorType,
  authorId: memories.authorId,
  authorName: memories.authorName,
  title: memories.title,
  content: memories.content,
  tags: memories.tags,
  source: memories.source,
  importance: memories.importance,
  expiresAt: memories.expiresAt,
  supersedes: memories.supersedes,
  supersededById: memories.supersededById,
}
const memoryReadColumns = { ...memoryColumns, embeddingModel }
type Row = Omit<Memory, 'author'> & { authorType: 'user' | 'agent'; authorId: string | null; authorName: string }

export const toMemory = ({ authorType: type, authorId: id, authorName: name, ...rest }: Row): Memory => ({
  ...rest,
  author: { type, id, name },
})
export const toItem = ({ content, ...rest }: Memory): MemoryItem => ({ ...rest, excerpt: excerptOf(content) })

export const isLiveMemory = isNull(memories.deletedAt)

export const visibleTo = liveOfTeamOrProject(memories)

/** SQL condition: the memory is neither superseded nor expired. */
export const isCurrentMemory = (now: string): SQL =>
  and(isNull(memories.supersededById), or(isNull(memories.expiresAt), gt(memories.expiresAt, now)))

export const selectMemories = (ctx: Ctx, where: SQL | undefined) =>
  ctx.db
    .select(memoryReadColumns)
    .from(memories)
    .where(and(where, visibleTo(rightsOf(ctx.actor))))
    .$dynamic()

export async function findMemory(ctx: Ctx, ref: string): Promise<Memory> {
  const found = await findByReference<Row>(ref, {
    id: (id) => selectMemories(ctx, eq(memories.id, id)),
    name: async () => [],
    prefix: (prefix) => selectMemories(ctx, idStartsWith(memories.id, prefix)).limit(2),
  })
  if (!found) throw notFound('memory', ref)
  return toMemory(found)
}
