import { and, eq, sql } from 'drizzle-orm'
import { contextOf, read } from '../../../action.ts'
import { system } from '../../../auth/actor.ts'
import { machine } from '../../../auth/policy.ts'
import { vectorText } from '../../../db/columns.ts'
import type { Driver } from '../../../db/driver.ts'
import type { App } from '../../../services.ts'
import { vectorIndexes } from '../table.ts'
import type { QueryVector } from './model.ts'

/** The index of one large owner's vectors; see `large-owners.ts`, which creates it. */
export type VectorIndex = Pick<
  typeof vectorIndexes.$inferSelect,
  'owner' | 'model' | 'name' | 'dimensions' | 'efSearch' | 'markedSeq'
>

export const isIndex = ({ owner, model }: Pick<VectorIndex, 'owner' | 'model'>) =>
  and(eq(vectorIndexes.owner, owner), eq(vectorIndexes.model, model))

/**
 * Numbers are assigned before the commit, so a lower one may appear after a higher one. Transactions that store vectors
 * take milliseconds, in which far fewer others are stored.
 */
export const OVERTAKEN = 1000

/** Reads a vector as pgvector sends it: two numbers of 16 bits, then one of 32 bits for each dimension. */
export function decodeVector(vector: string): Float32Array {
  const bytes = Buffer.from(vector, 'base64')
  return Float32Array.from({ length: bytes.readUInt16BE(0) }, (_, i) => bytes.readFloatBE(4 + 4 * i))
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** The rows of an index, as literals: the planner must see that a search asks for no others. */
export const indexedRows = ({ owner, model }: Pick<VectorIndex, 'owner' | 'model'>): string =>
  `owner = ${literal(owner)}::uuid and model = ${literal(model)}`

/** The indexed value: 16-bit numbers are half as long, and precise enough to choose candidates. */
export const indexedVector = ({ dimensions }: Pick<VectorIndex, 'dimensions'>): string =>
  `(vector::halfvec(${dimensions}))`

/** Returns the statement that lists the nearest in the index, $1 being a vector. */
export const nearestStatement = (index: VectorIndex, most: number): string =>
  `select passage_id from passage_vectors where ${indexedRows(index)}
    order by ${indexedVector(index)} <=> $1::halfvec(${index.dimensions}) limit ${most}`

/** Passages that are too new for the index: `$1` is a vector, `$2` the number after which they begin. */
const freshStatement = ({ owner, model }: VectorIndex, most: number): string =>
  `select passage_id from passage_signs
    where owner = ${literal(owner)}::uuid and seq > $2::bigint and model = ${literal(model)}
    order by signs <~> binary_quantize($1::vector) limit ${most}`

/**
 * Returns the passages nearest to a vector: those of the index, plus those that are too new for it. Without a sort, the
 * planner uses the index however few rows it expects; the scan continues until it has enough.
 */
export async function searchIndex(
  driver: Driver,
  index: VectorIndex,
  values: Float32Array,
  most: number,
): Promise<string[]> {
  const vector = vectorText(values)
  const tx = await driver.begin({ readOnly: true })
  try {
    tx.defer({
      text: `select set_config('hnsw.ef_search', $1, true), set_config('hnsw.iterative_scan', 'strict_order', true),
        set_config('enable_sort', 'off', true)`,
      params: [String(index.efSearch)],
    })
    const near = await tx.query(nearestStatement(index, most), [vector])
    const newer = await tx.query(freshStatement(index, most), [vector, index.markedSeq - OVERTAKEN])
    return [...new Set([...near.rows, ...newer.rows].map(([id]) => String(id)))]
  } finally {
    await tx.rollback()
  }
}

/** Returns the indexes that are complete and checked. */
export const readyIndexes = read('search.readyIndexes', machine, (ctx, _: Record<string, never>) =>
  ctx.db
    .select()
    .from(vectorIndexes)
    .where(
      and(
        eq(vectorIndexes.state, 'ready'),
        sql`exists (select from pg_index
          where indisvalid and indexrelid = to_regclass(quote_ident(${vectorIndexes.name})))`,
      ),
    ),
)

/** How long an index is used after it was given up, so it is dropped much later. */
const REMEMBERED_MS = 60_000
interface KnownIndexes {
  at: number
  indexes: Promise<VectorIndex[]>
}
const knownIndexes = new WeakMap<App, KnownIndexes>()

/** Makes the next search read the list of indexes again. */
export const forgetIndexes = (app: App): void => void knownIndexes.delete(app)

function indexesOf(app: App): Promise<VectorIndex[]> {
  const now = performance.now()
  const before = knownIndexes.get(app)
  if (before && now - before.at < REMEMBERED_MS) return before.indexes
  const indexes = readyIndexes(contextOf(app, system), {})
  knownIndexes.set(app, { at: now, indexes })
  return indexes
}

/** Returns the nearest passages of an owner that has an index; undefined if it has none, or the index fails. */
export async function nearestIndexed(
  app: App,
  owner: string,
  { model, values }: QueryVector,
  most: number,
): Promise<string[] | undefined> {
  if (app.driver.kind !== 'postgres') return undefined
  try {
    const index = (await indexesOf(app)).find((one) => one.owner === owner && one.model === model)
    return index && (await searchIndex(app.driver, index, values, most))
  } catch (error) {
    app.log.warn('the vector index could not be searched; search compares vector signs instead', { owner, error })
    forgetIndexes(app)
    return undefined
  }
}
