import type { Ctx } from '../../action.ts'
import { putPassages, putVectors } from '../search/indexing/passages.ts'
import type { memories } from './table.ts'

type Row = Omit<typeof memories.$inferSelect, 'createdById' | 'deletedAt' | 'authorType' | 'authorId' | 'authorName'>
type Fields =
  | 'id'
  | 'organizationId'
  | 'projectId'
  | 'scope'
  | 'scopeId'
  | 'title'
  | 'content'
  | 'tags'
  | 'importance'
  | 'updatedAt'
  | 'expiresAt'
  | 'supersededById'

/** Indexes the texts now. A job creates missing vectors later, so that a write never waits for the model. */
export async function indexMemories(
  ctx: Ctx,
  rows: readonly Pick<Row, Fields>[],
  vector?: Float32Array,
): Promise<void> {
  const fresh = await putPassages(
    ctx,
    'memory',
    rows.map((memory) => ({
      kind: 'memory',
      recordId: memory.id,
      organizationId: memory.organizationId,
      userId: null,
      projectId: memory.projectId,
      scope: memory.scope,
      scopeId: memory.scopeId,
      title: memory.title ?? '',
      text: memory.content,
      tags: memory.tags,
      importance: memory.importance,
      at: memory.updatedAt,
      expiresAt: memory.supersededById ? memory.updatedAt : memory.expiresAt,
    })),
  )
  const [first] = fresh
  if (vector && first) await putVectors(ctx, [{ id: first, vector }])
  if (fresh.length > (vector ? 1 : 0)) ctx.enqueue({ name: 'search.embed', data: {}, key: 'all' })
}
