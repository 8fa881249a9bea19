import { and, eq, gt, sql } from 'drizzle-orm'
import { type Ctx, contextOf, read } from '../../action.ts'
import { NO_USER_ID, system } from '../../auth/actor.ts'
import { machine } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { VectorCodes } from '../../embeddings/codes.ts'
import type { App } from '../../services.ts'
import type { QueryVector } from './indexing/model.ts'
import { decodeVector, nearestIndexed, OVERTAKEN } from './indexing/vector-index.ts'
import { passageSigns, passageVectors } from './table.ts'

/** Candidates for each owner, which are then compared exactly. An owner with fewer passages needs no cache. */
const NEAREST = 400
/** A caller with more owners than this is served from the database. */
const MOST_OWNERS = 50
/** Memory limit for vectors; those of the least recently searched owners are dropped first. */
const MOST_BYTES = 128 << 20
/** Numbers and vectors that are read at once. */
const NUMBERS = 2000
const VECTORS = 500
const IDLE_MS = 10 * 60_000
/** Age at which vectors are loaded again, which drops those of deleted passages; the database ignores them before. */
const OLD_MS = 60 * 60_000

interface LoadedVectors {
  codes: VectorCodes
  /** The highest number that was read. */
  seq: number
  bornAt: number
  usedAt: number
}

interface NumberedPassage {
  id: string
  seq: number
}

/** Returns the next passages of an owner that have a vector, in the order of their numbers. */
const readNumbers = read(
  'search.numbersOf',
  machine,
  async (
    ctx,
    { owner, model, after, most }: { owner: string; model: string; after: number; most: number },
  ): Promise<NumberedPassage[]> =>
    ctx.db
      .select({ id: passageSigns.passageId, seq: passageSigns.seq })
      .from(passageSigns)
      .where(and(eq(passageSigns.owner, owner), gt(passageSigns.seq, after), eq(passageSigns.model, model)))
      // Orders by the whole index, so that it is used: the planner expects a third of the table.
      .orderBy(passageSigns.owner, passageSigns.seq)
      .limit(most),
)

/** Returns vectors as pgvector sends them: two numbers of 16 bits, then one of 32 bits for each dimension. */
const readVectors = read(
  'search.vectorsOf',
  machine,
  async (ctx, { ids, model }: { ids: readonly string[]; model: string }): Promise<{ id: string; vector: string }[]> =>
    ctx.db
      .select({
        id: passageVectors.passageId,
        vector: sql<string>`encode(vector_send(${passageVectors.vector}), 'base64')`,
      })
      .from(passageVectors)
      .where(and(anyOf(passageVectors.passageId, idList(ids)), eq(passageVectors.model, model))),
)

/** The vectors that one server keeps in memory, by owner and model. */
export class VectorCache {
  readonly #kept = new Map<string, LoadedVectors>()
  readonly #loading = new Map<string, Promise<void>>()
  /** Owners whose vectors take too much memory, and until when this is assumed. */
  readonly #tooLarge = new Map<string, number>()
  #idle: Timer | undefined

  constructor(
    private readonly app: App,
    private readonly mostBytes = MOST_BYTES,
    private readonly now = () => performance.now(),
  ) {}

  get bytes(): number {
    return this.#kept.values().reduce((sum, { codes }) => sum + codes.bytes, 0)
  }

  /** Returns undefined while the vectors of an owner are not in memory, and loads them in the background. */
  async findNearest(owners: readonly string[], asked: QueryVector): Promise<string[] | undefined> {
    this.#dropIdle()
    const before = this.bytes
    const found = await Promise.all(owners.map((owner) => this.#nearestOf(owner, asked)))
    if (this.bytes > before) this.#makeRoom()
    return found.some((ids) => !ids) ? undefined : found.flatMap((ids) => ids ?? [])
  }

  async #nearestOf(owner: string, { model, values }: QueryVector): Promise<string[] | undefined> {
    const key = `${model} ${owner}`
    const indexed = await nearestIndexed(this.app, owner, { model, values }, NEAREST)
    if (indexed) {
      this.#kept.delete(key)
      return indexed
    }
    const kept = this.#kept.get(key)
    if (!kept) {
      const query = { owner, model, after: 0, most: NEAREST + 1 }
      const all = await readNumbers(contextOf(this.app, system), query)
      if (all.length <= NEAREST) return all.map(({ id }) => id)
      this.#load(owner, model, values.length)
      return undefined
    }
    kept.usedAt = this.now()
    if (kept.usedAt - kept.bornAt > OLD_MS) this.#load(owner, model, values.length)
    if (await this.#readOn(owner, model, kept)) return kept.codes.nearest(values, NEAREST)
    this.#kept.delete(key)
    this.#tooLarge.set(key, this.now() + OLD_MS)
    return undefined
  }

  #load(owner: string, model: string, dimensions: number): void {
    const key = `${model} ${owner}`
    if (this.#loading.has(key) || (this.#tooLarge.get(key) ?? 0) > this.now()) return
    const started = this.now()
    const kept: LoadedVectors = { codes: new VectorCodes(dimensions), seq: 0, bornAt: started, usedAt: started }
    const loaded = this.#readOn(owner, model, kept, true)
      .then((fits) => {
        if (fits) this.#kept.set(key, kept)
        else this.#tooLarge.set(key, this.now() + OLD_MS)
        this.#makeRoom()
      })
      .catch((error: unknown) =>
        this.app.log.warn('vectors could not be loaded; search reads them from the database', { error }),
      )
      .finally(() => this.#loading.delete(key))
    this.#loading.set(key, loaded)
  }

  /** Adds new vectors. `patient`: pauses after each step for as long as the step took. */
  async #readOn(owner: string, model: string, kept: LoadedVectors, patient = false): Promise<boolean> {
    const ctx = contextOf(this.app, system)
    const slack = this.app.driver.kind === 'pglite' ? 0 : OVERTAKEN
    for (let after = Math.max(0, kept.seq - slack); ; ) {
      const rows = await readNumbers(ctx, { owner, model, after, most: NUMBERS })
      const fresh = rows.flatMap(({ id }) => (kept.codes.has(id) ? [] : id))
      for (let from = 0; from < fresh.length; from += VECTORS) {
        const started = performance.now()
        for (const { id, vector } of await readVectors(ctx, { ids: fresh.slice(from, from + VECTORS), model }))
          kept.codes.add(id, decodeVector(vector))
        if (kept.codes.bytes > this.mostBytes) return false
        if (patient) await Bun.sleep(performance.now() - started)
      }
      after = rows.at(-1)?.seq ?? after
      kept.seq = Math.max(kept.seq, after)
      if (rows.length < NUMBERS) return true
    }
  }

  #makeRoom(): void {
    const byUse = [...this.#kept].toSorted(([, a], [, b]) => b.usedAt - a.usedAt)
    let bytes = 0
    for (const [key, { codes }] of byUse) {
      bytes += codes.bytes
      if (bytes > this.mostBytes) this.#kept.delete(key)
    }
  }

  /** Drops vectors that were not used lately, now and again after a while without a search. */
  #dropIdle(): void {
    const since = this.now() - IDLE_MS
    for (const [key, { usedAt }] of this.#kept) if (usedAt <= since) this.#kept.delete(key)
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#kept.clear(), IDLE_MS)
    this.#idle.unref()
  }

  async whenLoaded(): Promise<void> {
    await Promise.all(this.#loading.values())
  }
}

const vectorCaches = new WeakMap<App, VectorCache>()
function vectorCacheOf(app: App): VectorCache {
  const keeper = vectorCaches.get(app) ?? new VectorCache(app)
  vectorCaches.set(app, keeper)
  return keeper
}

/**
 * Returns the ids of the passages nearest to a vector, among those of the caller's teams. The statement that compares
 * them exactly also checks visibility. Undefined if not all vectors are in memory.
 */
export async function nearestInMemory(ctx: Ctx, asked: QueryVector): Promise<string[] | undefined> {
  const { actor } = ctx
  const { personal } = rightsOf(actor)
  const owners = new Set([...actor.memberships.keys(), ...actor.reach, ...(personal === NO_USER_ID ? [] : [personal])])
  return owners.size > MOST_OWNERS ? undefined : vectorCacheOf(ctx.app).findNearest([...owners], asked)
}

/** Resolves once all vectors requested so far are in memory. */
export const whenVectorsLoaded = (app: App): Promise<void> => vectorCacheOf(app).whenLoaded()
