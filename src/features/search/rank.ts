import { ALL, type Candidate } from './candidates.ts'

/** Passages below this similarity are unrelated. */
const UNRELATED = 0.15

interface Ranked extends Candidate {
  words: number
  score: number
}

/**
 * Score: `cosine + 0.4 × coverage²`, where coverage is the share of the query's words, weighted by rarity. Measurements
 * showed that mixing the two ranks instead loses both identifiers and paraphrases. Without a vector, word coverage
 * replaces the cosine.
 */
export function rank(candidates: readonly Candidate[], limit: number): Ranked[] {
  const [first] = candidates
  if (!first) return []
  const has = ({ matched }: Candidate, word: number) => ((matched ?? 0) & (1 << word)) !== 0
  // Counts stop at some hundreds: a word with that many matches is a common one.
  const counts = first.counts?.split(',').map(Number)
  const total = counts ? ALL * 10 : candidates.length
  const rarity = Array.from({ length: first.asked }, (_, word) => {
    const count = counts?.[word] ?? candidates.reduce((sum, candidate) => sum + (has(candidate, word) ? 1 : 0), 0)
    return Math.log(1 + (total - count + 0.5) / (count + 0.5))
  })
  const weight = rarity.reduce((sum, r) => sum + r, 0)
  const best = new Map<string, Ranked>()
  for (const candidate of candidates) {
    const covered = rarity.reduce((sum, r, word) => sum + (has(candidate, word) ? r : 0), 0)
    const words = weight > 0 ? covered / weight : 0
    const { meaning, importance, kind, recordId, id } = candidate
    if (words === 0 && (meaning ?? 0) < UNRELATED) continue
    const score = (meaning ?? 0.6 * words) + 0.4 * words ** 2 + 0.05 * (importance - 0.5)
    const key = `${kind} ${recordId}`
    const before = best.get(key)
    if (!before || score > before.score || (score === before.score && id < before.id))
      best.set(key, { ...candidate, words, score })
  }
  return [...best.values()].sort((a, b) => b.score - a.score || (a.recordId < b.recordId ? -1 : 1)).slice(0, limit)
}
