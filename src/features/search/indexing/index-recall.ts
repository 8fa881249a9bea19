import { type Ctx, read, write } from '../../../action.ts'
import { machine } from '../../../auth/policy.ts'
import { idList, vectorText } from '../../../db/columns.ts'
import { vectorIndexes } from '../table.ts'
import { type Pacing, runPaced } from './pacing.ts'
import { decodeVector, forgetIndexes, isIndex, searchIndex, type VectorIndex } from './vector-index.ts'

/** The highest `hnsw.ef_search` that is tried. */
const LAST_EF = 400
/** The least recall of an index that is used, and how many searches measure it. */
const RECALL = 0.95
const QUERIES = 100
/** Passages whose order counts for the recall, and how many candidates a search takes from an index. */
const BEST = 10
const TAKEN = 400
/** Time limit: comparing all passages of a large owner takes long. */
export const EXACT_MS = 120_000

export interface Limits extends Pacing {
  /** Passages above which an owner counts as large. */
  above?: number
  recall?: number
  queries?: number
}

/**
 * Measures the recall of the index. If it is too low, doubles `ef_search`; in the end the index is refused, and search
 * compares vector signs as for other owners.
 */
export async function checkRecall(ctx: Ctx, index: VectorIndex, limits: Limits): Promise<void> {
  const { log } = ctx.app
  const { owner } = index
  for (let { efSearch } = index; ; efSearch *= 2) {
    const recall = await recallOf(ctx, { ...index, efSearch }, limits)
    if (recall === undefined) return
    const isEnough = recall >= (limits.recall ?? RECALL)
    if (!isEnough && efSearch < LAST_EF) continue
    await storeRecall(ctx, { ...index, efSearch, recall, state: isEnough ? 'ready' : 'refused' })
    forgetIndexes(ctx.app)
    if (isEnough) log.info('vector index checked', { owner, recall, efSearch })
    else log.warn('vector index has too low a recall and is not used', { owner, recall })
    return
  }
}

const storeRecall = write(
  'search.judgeIndex',
  machine,
  async (ctx, { state, efSearch, recall, ...index }: VectorIndex & { recall: number; state: 'ready' | 'refused' }) => {
    await ctx.db.update(vectorIndexes).set({ state, efSearch, recall, checkedAt: ctx.now }).where(isIndex(index))
  },
  { bookkeeping: true },
)

/** Returns the recall of the index; undefined if it was stopped. */
async function recallOf(ctx: Ctx, index: VectorIndex, limits: Limits): Promise<number | undefined> {
  const { queries = QUERIES, signal } = limits
  let [found, right] = [0, 0]
  for (let i = 0; i < queries; i++) {
    if (signal?.aborted) return undefined
    const values = vectorNear(await randomVector(ctx, index))
    const taken = await searchIndex(ctx.app.driver, index, values, TAKEN)
    const compared = await runPaced(limits, () => compareExactly(ctx, { ...index, values, taken }))
    found += compared.found
    right += compared.right
  }
  return right === 0 ? 1 : found / right
}

/**
 * Distance between a test query and a passage, relative to the length of its vector: their cosine is then 0.43. That is
 * the median between the questions of `test/retrieval` and their answers, with the built-in model. Searches look for
 * texts, so the check does not query points halfway between unrelated passages, where there is no text; an index finds
 * only two thirds there, however it is built.
 */
const AWAY = 2.1
const randomNormal = (): number => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())

/** Returns a vector that lies `AWAY` from another one, in any direction. */
function vectorNear(vector: Float32Array): Float32Array {
  const way = vector.map(randomNormal)
  const scale = (AWAY * Math.hypot(...vector)) / Math.hypot(...way)
  return vector.map((value, i) => value + scale * (way[i] as number))
}

/** Returns the vector of a random passage of the owner. */
const randomVector = read(
  'search.somePassage',
  machine,
  async (ctx, { owner, model }: VectorIndex): Promise<Float32Array> => {
    const { rows } = await ctx.app.driver.query(
      `select encode(vector_send(v.vector), 'base64')
      from passage_signs s join passage_vectors v using (passage_id, model)
      where s.owner = $1::uuid and s.model = $2 and s.seq >= (
        select min(seq) + (random() * (max(seq) - min(seq)))::bigint from passage_signs where owner = $1::uuid)
      order by s.owner, s.seq limit 1`,
      [owner, model],
      { timeout: EXACT_MS },
    )
    return decodeVector(String(rows[0]?.[0]))
  },
)

/** Compares all passages of the owner. Passages as near as the last of the best count as right, too. */
const compareExactly = read(
  'search.compareExactly',
  machine,
  async (
    ctx,
    { owner, model, values, taken }: VectorIndex & { values: Float32Array; taken: readonly string[] },
  ): Promise<{ found: number; right: number }> => {
    const { rows } = await ctx.app.driver.query(
      `with near as materialized (
        select v.passage_id, v.vector <=> $3::vector as distance from passage_vectors v
        where v.model = $2 and v.passage_id = any(array(
          select passage_id from passage_signs where owner = $1::uuid and model = $2))),
      best as (select distance from near order by distance limit ${BEST})
      select count(*) filter (where passage_id = any($4::uuid[]))::int, (select count(*) from best)::int
      from near where distance <= (select max(distance) from best) + 1e-6`,
      [owner, model, vectorText(values), idList(taken)],
      { timeout: EXACT_MS },
    )
    const [found, right] = (rows[0] ?? []).map(Number)
    return { found: Math.min(found ?? 0, right ?? 0), right: right ?? 0 }
  },
)
