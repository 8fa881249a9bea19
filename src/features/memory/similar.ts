import type { Ctx } from '../../action.ts'
import { excerptOf } from '../../text/text.ts'
import { type QueryVector, searchHybrid } from '../search/hybrid.ts'
import type { Memory, MemoryStored } from './schema.ts'

/**
 * Measured with the built-in model: paraphrases reach 0.75 to 0.95, equal words about another topic less than 0.85.
 */
const SAME_MEANING = 0.85
const SAME_WORDS = 0.75
const COMPARED = 1000
/** Longest time that a write waits for the model's vector. Tests set it higher. */
export const vectorPatience = { ms: 80 }

/** Returns the vector of a text if it is available soon. Does not load an idle model or wait for a busy one. */
export async function vectorSoon({ app: { embedder } }: Ctx, text: string): Promise<Float32Array | undefined> {
  if (!embedder.ready) return undefined
  const limit = new AbortController()
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => {
    limit.abort()
    resolve(undefined)
  }, vectorPatience.ms)
  const soon = embedder.embed([text], { signal: limit.signal, urgent: true }).then(
    ([vector]) => vector,
    () => undefined,
  )
  const vector = await Promise.race([soon, late])
  clearTimeout(timer)
  return vector
}

/**
 * Returns memories with similar words or, given a vector, similar meaning. Duplicates are reported, not refused.
 */
export async function similarMemories(
  ctx: Ctx,
  memory: Memory,
  vector: QueryVector | undefined,
): Promise<MemoryStored['similar']> {
  const text = memory.content.slice(0, COMPARED)
  const words = wordsOf(text)
  const hits = await searchHybrid(
    ctx,
    { text, kinds: ['memory'], scope: memory.scope, scopeId: memory.scopeId, limit: 6 },
    vector,
  )
  return hits
    .filter((hit) => hit.recordId !== memory.id)
    .flatMap((hit) => {
      const shared = overlap(words, wordsOf(hit.content.slice(0, COMPARED)))
      if (shared < SAME_WORDS && (hit.meaning ?? 0) < SAME_MEANING) return []
      const similarity = Math.round(Math.max(shared, hit.meaning ?? 0) * 100) / 100
      return { id: hit.recordId, title: hit.title || null, excerpt: excerptOf(hit.content), similarity }
    })
}

const wordsOf = (text: string): Set<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))

/** Returns the share of common words among the words of both. */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const all = a.union(b).size
  return all === 0 ? 0 : a.intersection(b).size / all
}
