import { and, eq, gte, lt, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { includePermissions, member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, hasAll, idList, newId } from '../../db/columns.ts'
import { noEmbedder } from '../../embeddings/embedder.ts'
import { invalid, notFound } from '../../errors.ts'
import { requireContentSize } from '../../records/content-size.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { emitChanged } from '../../records/synced-changes.ts'
import { currentUserOrAgent } from '../agents/users-and-agents.ts'
import { textToEmbed } from '../search/indexing/embed.ts'
import { chunksOf, dropPassages } from '../search/indexing/passages.ts'
import { passages } from '../search/table.ts'
import { memoryCleared, memoryDeleted, memoryStored, memoryUpdated } from './events.ts'
import { indexMemories } from './index-passages.ts'
import { canStore, memoryWriteRule, withPermissions } from './permissions.ts'
import { findMemory, isCurrentMemory, isLiveMemory, selectMemories, toItem, toMemory, visibleTo } from './rows.ts'
import {
  CONTENT_BYTES,
  type MemoriesCreate,
  type MemoriesStored,
  type Memory,
  type MemoryClear,
  type MemoryCleared,
  type MemoryCreate,
  type MemoryPage,
  type MemoryPatch,
  type MemoryQuery,
  type MemoryRead,
  type MemoryStored,
} from './schema.ts'
import { similarMemories, vectorSoon } from './similar.ts'
import { memories } from './table.ts'
import { type MemoryTarget, requireWriter, resolveTarget, withShared } from './target.ts'

export { search } from './search.ts'

/** Tools also filter by several tags, and accept any reference as `scopeId`. */
type MemoryFilter = MemoryQuery & { tags?: string[]; mustExist?: boolean }

export const list = read(
  'memory.list',
  member('memories:read'),
  async (ctx, query: MemoryFilter): Promise<MemoryPage> => {
    const sort = { updatedAt: memories.updatedAt, createdAt: memories.createdAt, importance: memories.importance }
    const page = keyset(sort, memories.id, query, { sort: 'updatedAt' })
    const { scope } = query
    const scopeId =
      query.mustExist && query.scopeId ? (await resolveTarget(ctx, scope, query.scopeId)).scopeId : query.scopeId
    const filters = and(
      query.projectId
        ? eq(memories.projectId, query.projectId)
        : eq(memories.organizationId, currentOrganization(ctx.actor)),
      scope && eq(memories.scope, scope),
      scopeId === undefined ? undefined : eq(memories.scopeId, scopeId),
      hasAll(memories.tags, query.tags ?? query.tag),
      query.since === undefined ? undefined : gte(memories.updatedAt, query.since),
      query.until === undefined ? undefined : lt(memories.updatedAt, query.until),
      query.old ? undefined : isCurrentMemory(ctx.now),
    )
    const rows = await selectMemories(ctx, page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(memories, and(filters, visibleTo(rightsOf(ctx.actor)))) : undefined
    const items = rows.map((row) => toItem(toMemory(row)))
    return { ...page.page(items, total), ...includePermissions(ctx.actor, () => canStore(ctx)) }
  },
)

export const get = read(
  'memory.get',
  member('memories:read'),
  async (ctx, { ref }: { ref: string }): Promise<MemoryRead> => withPermissions(ctx, await findMemory(ctx, ref)),
)

/** A vector that is left out of JSON, so that a repeated request is equal with or without it. */
class VectorAside {
  constructor(readonly vector: Float32Array) {}
  toJSON(): undefined {}
}

/** Stores a memory and returns it with similar ones. */
export const store = flow(
  'memory.store',
  memoryWriteRule,
  async (ctx, input: MemoryCreate, keyed): Promise<MemoryStored> => {
    const one = await prepareMemory(ctx, input)
    return withSimilar(ctx, await storePrepared(keyed, one), one)
  },
)

/** Stores several memories, all or none. */
export const storeMany = flow(
  'memory.storeMany',
  memoryWriteRule,
  async (ctx, { memories: list, ...shared }: MemoriesCreate, keyed): Promise<MemoriesStored> => {
    const ready = await Promise.all(list.map((input) => prepareMemory(ctx, withShared(shared, input))))
    const stored = await storeAllPrepared(keyed, { memories: ready })
    const items: MemoryStored[] = []
    for (const [i, memory] of stored.entries()) items.push(await withSimilar(ctx, memory, ready[i]))
    return { items }
  },
)

type PreparedMemory = Omit<MemoryCreate, 'embedding'> & { id?: string; aside?: VectorAside }

/** Adds the vector of the caller, or that of the model if it is ready soon. */
async function prepareMemory(ctx: Ctx, { embedding, ...input }: MemoryCreate): Promise<PreparedMemory> {
  checkContent(input.content)
  const [first = ''] = chunksOf(input.content)
  const given = embedding && checkVector(ctx, embedding)
  const vector = given ?? (await vectorSoon(ctx, textToEmbed({ title: input.title ?? '', content: first })))
  return { ...input, ...(vector && { aside: new VectorAside(vector) }) }
}

const withSimilar = async (
  ctx: Ctx,
  memory: Memory,
  { aside }: Pick<PreparedMemory, 'aside'> = {},
): Promise<MemoryStored> => ({
  ...memory,
  similar: await similarMemories(ctx, memory, aside && { model: ctx.app.embedder.id, values: aside.vector }),
})

const storeAllPrepared = write(
  'memory.putMany',
  memoryWriteRule,
  async (ctx, { memories: list }: { memories: PreparedMemory[] }): Promise<Memory[]> => {
    const stored: Memory[] = []
    for (const input of list) stored.push(await storePrepared(ctx, input))
    return stored
  },
)

export const storePrepared = write(
  'memory.put',
  memoryWriteRule,
  async (ctx, { aside, ...input }: PreparedMemory): Promise<Memory> => {
    checkContent(input.content)
    const vector = aside?.vector
    const old = input.supersedes ? await findMemory(ctx, input.supersedes) : undefined
    // By default a memory gets the scope of the one that it supersedes.
    const { scope, scopeId } = input.scope === undefined && input.scopeId === undefined && old ? old : input
    const place = await resolveTarget(ctx, scope, scopeId)
    await requireWriter(ctx, place)
    const id = input.id ?? newId()
    const author = currentUserOrAgent(ctx)
    if (old) await supersedeMemory(ctx, old, id, place)
    await ctx.db.insert(memories).values({
      id,
      ...place,
      createdById: ctx.actor.userId,
      authorType: author.type,
      authorId: author.id,
      authorName: author.name,
      title: input.title,
      content: input.content,
      tags: input.tags ?? [],
      source: input.source,
      importance: input.importance ?? 0.5,
      expiresAt: input.expiresAt,
      supersedes: old?.id,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    const memory = await findMemory(ctx, id)
    await indexMemories(ctx, [memory], vector)
    ctx.emit(memoryStored, memoryEvent(memory))
    return vector ? { ...memory, embeddingModel: ctx.app.embedder.id } : memory
  },
)

async function supersedeMemory(ctx: Ctx, old: Memory, by: string, place: MemoryTarget): Promise<void> {
  if (old.organizationId !== place.organizationId) throw notFound('memory', old.id)
  await requireWriter(ctx, old)
  await ctx.db
    .update(memories)
    .set({ supersededById: by, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
    .where(eq(memories.id, old.id))
  emitChanged(ctx, 'memory', old, [old.id])
  await ctx.db
    .update(passages)
    .set({ expiresAt: ctx.now, at: ctx.now })
    .where(and(eq(passages.kind, 'memory'), eq(passages.recordId, old.id)))
}

function checkVector({ app }: Ctx, given: readonly number[]): Float32Array {
  const { dimensions, id } = app.embedder
  if (app.embedder === noEmbedder)
    throw invalid('/embedding', 'This server stores no embeddings (EMBEDDINGS is off). Leave the field out.')
  if (given.length !== dimensions)
    throw invalid('/embedding', `embedding must have ${dimensions} numbers, computed by the model ${id}.`)
  const length = Math.hypot(...given)
  if (!Number.isFinite(length) || length === 0)
    throw invalid('/embedding', 'embedding must contain finite numbers that are not all zero.')
  return Float32Array.from(given, (value) => value / length)
}

export const update = write(
  'memory.update',
  memoryWriteRule,
  async (ctx, { ref, ...patch }: MemoryPatch & { ref: string }): Promise<Memory> => {
    const before = await findMemory(ctx, ref)
    await requireWriter(ctx, before)
    checkVersion(ctx, before)
    if (patch.content !== undefined) checkContent(patch.content)
    await updateVersioned(ctx, memories, {
      columns: { id: memories.id, version: memories.version },
      before: { id: before.id, version: before.version },
      set: patch,
      what: 'this memory',
      again: () => findMemory(ctx, before.id),
    })
    await indexMemories(ctx, [await findMemory(ctx, before.id)])
    const after = await findMemory(ctx, before.id)
    ctx.emit(memoryUpdated, memoryEvent(after, { fields: Object.keys(patch) }))
    return after
  },
  { versioned: true },
)

export const remove = write(
  'memory.remove',
  memoryWriteRule,
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findMemory(ctx, ref)
    await requireWriter(ctx, before)
    checkVersion(ctx, before)
    const { version } = await updateVersioned(ctx, memories, {
      columns: { id: memories.id, version: memories.version },
      before: { id: before.id, version: before.version },
      set: { deletedAt: ctx.now },
      what: 'this memory',
      again: () => findMemory(ctx, before.id),
    })
    await dropPassages(ctx, 'memory', [before.id])
    ctx.emit(memoryDeleted, memoryEvent({ ...before, version }))
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

/**
 * Deletes all memories of a scope, after the caller confirmed their count. A memory that is added meanwhile stays.
 */
export const clear = write(
  'memory.clear',
  memoryWriteRule,
  async (ctx, { scope, scopeId, confirm }: MemoryClear): Promise<MemoryCleared> => {
    const place = await resolveTarget(ctx, scope, scopeId)
    await requireWriter(ctx, place)
    const there = await ctx.db
      .select({ id: memories.id })
      .from(memories)
      .where(
        and(
          eq(memories.scope, place.scope),
          eq(memories.scopeId, place.scopeId),
          eq(memories.organizationId, place.organizationId),
          isLiveMemory,
        ),
      )
      .for('update')
    const ids = there.map(({ id }) => id)
    if (confirm !== ids.length) return { count: ids.length, removed: false }
    await ctx.db
      .update(memories)
      .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
      .where(anyOf(memories.id, idList(ids)))
    await dropPassages(ctx, 'memory', ids)
    emitChanged(ctx, 'memory', place, ids)
    ctx.emit(memoryCleared, {
      subjectId: place.scopeId,
      organizationId: place.organizationId,
      projectId: place.projectId,
      data: { scope, count: ids.length },
    })
    return { count: ids.length, removed: true }
  },
  { destructive: true },
)

const checkContent = (content: string): void =>
  requireContentSize(content, CONTENT_BYTES, ' Store long texts as a note, and a memory that refers to the note.')

const memoryEvent = <D extends object>(memory: Memory, data?: D) => ({
  subjectId: memory.id,
  organizationId: memory.organizationId,
  projectId: memory.projectId,
  data: Object.assign(
    { title: memory.title, scope: memory.scope, scopeId: memory.scopeId, version: memory.version },
    data,
  ),
})
