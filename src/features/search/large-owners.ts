import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { meta } from '../../db/table.ts'
import { checkRecall, EXACT_MS, type Limits } from './indexing/index-recall.ts'
import { MODEL } from './indexing/model.ts'
import { type Pacing, runPaced } from './indexing/pacing.ts'
import {
  indexedRows,
  indexedVector,
  isIndex,
  OVERTAKEN,
  readyIndexes,
  type VectorIndex,
} from './indexing/vector-index.ts'
import { passageSigns, passageVectors, vectorIndexes } from './table.ts'

/** An owner with more passages gets an index; below half of it, the index is dropped. */
const LARGE = 100_000
/** `hnsw.ef_search` of a new index. */
const FIRST_EF = 100
/** Rows that are marked in one write. Each then enters the index, which takes milliseconds. */
const MARKED = 200
const PREFIX = 'passage_vectors_near_'

/** Returns whether the database supports such indexes: pgvector 0.8 or later scans on until enough rows pass. */
async function canIndex({ app: { driver } }: Ctx): Promise<boolean> {
  if (driver.kind !== 'postgres') return false
  const { rows } = await driver.query(
    `select string_to_array(extversion, '.')::int[] >= '{0,8}' from pg_extension where extname = 'vector'`,
  )
  return rows[0]?.[0] === true
}

/**
 * Creates a vector index for each owner with very many passages, and drops indexes that are no longer needed. An index
 * is used once a check has confirmed its recall.
 */
export const indexLargeOwners = flow(
  'search.indexLarge',
  machine,
  async (ctx, { above = LARGE, ...limits }: Limits): Promise<void> => {
    if (!(await canIndex(ctx))) return
    await dropUnused(ctx)
    const owners = await countedOwners(ctx, { above: above / 2 })
    const isKept = new Set(owners.map(({ owner }) => owner))
    for (const index of await allIndexes(ctx, {}))
      if (!isKept.has(index.owner) || !(await isOfUsedModel(ctx, index))) await forgetIndex(ctx, index)
    const there = new Set(
      (await allIndexes(ctx, {})).flatMap(({ owner, state }) => (state === 'building' ? [] : owner)),
    )
    for (const { owner, count } of owners)
      if (count > above && !there.has(owner) && !limits.signal?.aborted) await buildIndex(ctx, owner, count, limits)
  },
)

/** Adds the new passages of large owners to their indexes. */
export const markLargeOwners = flow('search.markLarge', machine, async (ctx, way: Pacing): Promise<void> => {
  for (const index of await readyIndexes(ctx, {})) await markVectors(ctx, index, way)
})

/** Compares the results of the indexes with the exact ones. */
export const checkIndexes = flow('search.checkIndexes', machine, async (ctx, limits: Limits): Promise<void> => {
  for (const index of await readyIndexes(ctx, {})) await checkRecall(ctx, index, limits)
})

const allIndexes = read('search.allIndexes', machine, (ctx, _: Record<string, never>) =>
  ctx.db.select().from(vectorIndexes),
)

/** Returns the owners with more vectors of the current model than `above`. */
const countedOwners = read('search.countedOwners', machine, async (ctx, { above }: { above: number }) => {
  const { rows } = await ctx.app.driver.query(
    'select owner, count(*)::int from passage_signs where model = $1 group by owner having count(*) > $2::int',
    [ctx.app.embedder.id, Math.floor(above)],
    { timeout: EXACT_MS },
  )
  return rows.map(([owner, count]) => ({ owner: String(owner), count: Number(count) }))
})

/** After a change of model, search uses the earlier one until the new one has all vectors. */
async function isOfUsedModel(ctx: Ctx, { model }: VectorIndex): Promise<boolean> {
  if (model === ctx.app.embedder.id) return true
  const [used] = await ctx.db.select().from(meta).where(eq(meta.key, MODEL))
  return used?.value === model
}

/** Deletes only the entry: instances use the index for another minute, and the next run drops it. */
const forgetIndex = write(
  'search.forgetIndex',
  machine,
  async (ctx, index: VectorIndex): Promise<void> => {
    await ctx.db.delete(vectorIndexes).where(isIndex(index))
  },
  { bookkeeping: true },
)

/** Drops indexes that are incomplete, refused, or without an entry. */
async function dropUnused({ app: { driver } }: Ctx): Promise<void> {
  const { rows } = await driver.query(
    `select c.relname::text from pg_index i join pg_class c on c.oid = i.indexrelid
    left join vector_indexes v on v.name = c.relname
    where i.indrelid = 'passage_vectors'::regclass and starts_with(c.relname, $1)
      and (not i.indisvalid or v.name is null or v.state = 'refused')`,
    [PREFIX],
  )
  for (const [name] of rows) await driver.exec(`drop index concurrently if exists "${name}"`)
}

async function buildIndex(ctx: Ctx, owner: string, count: number, limits: Limits): Promise<void> {
  const { driver, embedder, log } = ctx.app
  const index = await beginIndex(ctx, { owner, model: embedder.id })
  if (!index || !(await markVectors(ctx, index, limits))) return
  const started = performance.now()
  // `ef_construction` 200 instead of 64 takes nearly twice the time and no more space, and finds 97 % to 100 % instead
  // of 87 % to 90 % (test/bench/README.md); m 32 found no more. Building is many times slower when the graph does not
  // fit into memory. Other processes would need shared memory, which containers have little of.
  const megabytes = Math.min(1024, Math.max(64, Math.ceil((count * (2 * index.dimensions + 512)) / 2 ** 20)))
  await driver.exec(
    `create index concurrently if not exists "${index.name}" on passage_vectors
      using hnsw (${indexedVector(index)} halfvec_cosine_ops) with (m = 16, ef_construction = 200)
      where ${indexedRows(index)}`,
    { maintenance_work_mem: `${megabytes}MB`, max_parallel_maintenance_workers: '0' },
  )
  const seconds = Math.round((performance.now() - started) / 1000)
  log.info('vector index built', { owner, passages: count, seconds })
  await checkRecall(ctx, index, limits)
}

/** Stores that an index is being built, unless it has an entry already. */
const beginIndex = write(
  'search.beginIndex',
  machine,
  async (ctx, { owner, model }: { owner: string; model: string }): Promise<VectorIndex | undefined> => {
    const [one] = await ctx.db
      .select({ dimensions: sql<number>`vector_dims(${passageVectors.vector})`.mapWith(Number) })
      .from(passageSigns)
      .innerJoin(
        passageVectors,
        and(eq(passageVectors.passageId, passageSigns.passageId), eq(passageVectors.model, passageSigns.model)),
      )
      .where(and(eq(passageSigns.owner, owner), eq(passageSigns.model, model)))
      .limit(1)
    if (!one) return undefined
    const hash = new Bun.CryptoHasher('sha256').update(`${model} ${owner}`).digest('hex')
    const index = { owner, model, name: `${PREFIX}${hash.slice(0, 16)}`, ...one, efSearch: FIRST_EF, markedSeq: 0 }
    await ctx.db
      .insert(vectorIndexes)
      .values({ ...index, state: 'building' })
      .onConflictDoNothing()
    return index
  },
  { bookkeeping: true },
)

/** Marks the owner's vectors, so that the index contains them. Returns false if it was stopped. */
async function markVectors(ctx: Ctx, index: VectorIndex, way: Pacing): Promise<boolean> {
  for (let after = index.markedSeq - OVERTAKEN; !way.signal?.aborted; ) {
    const rows = await readUnmarked(ctx, { ...index, after })
    const last = rows.at(-1)
    if (!last) return true
    const ids = rows.map(({ id }) => id)
    await runPaced(way, () => markSome(ctx, { owner: index.owner, model: index.model, ids, seq: last.seq }))
    after = last.seq
  }
  return false
}

const readUnmarked = read(
  'search.unmarked',
  machine,
  (ctx, { owner, model, after }: Pick<VectorIndex, 'owner' | 'model'> & { after: number }) =>
    ctx.db
      .select({ id: passageSigns.passageId, seq: passageSigns.seq })
      .from(passageSigns)
      .innerJoin(
        passageVectors,
        and(eq(passageVectors.passageId, passageSigns.passageId), eq(passageVectors.model, passageSigns.model)),
      )
      .where(
        and(
          eq(passageSigns.owner, owner),
          eq(passageSigns.model, model),
          sql`${passageSigns.seq} > ${after}`,
          sql`${passageVectors.owner} is distinct from ${passageSigns.owner}`,
        ),
      )
      .orderBy(passageSigns.owner, passageSigns.seq)
      .limit(MARKED),
)

const markSome = write(
  'search.markSome',
  machine,
  async (
    ctx,
    { owner, model, ids, seq }: Pick<VectorIndex, 'owner' | 'model'> & { ids: readonly string[]; seq: number },
  ): Promise<void> => {
    await ctx.db
      .update(passageVectors)
      .set({ owner })
      .where(and(anyOf(passageVectors.passageId, idList(ids)), eq(passageVectors.model, model)))
    await ctx.db
      .update(vectorIndexes)
      .set({ markedSeq: sql`greatest(${vectorIndexes.markedSeq}, ${seq})` })
      .where(isIndex({ owner, model }))
  },
  { bookkeeping: true },
)
