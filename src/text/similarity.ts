/**
 * Levenshtein distance: how many letters must be inserted, removed or changed. Returns Infinity if it is more than
 * `most`, and compares only letters whose places differ by at most that much.
 */
export function editDistance(a: string, b: string, most = Number.POSITIVE_INFINITY): number {
  if (Math.abs(a.length - b.length) > most) return Number.POSITIVE_INFINITY
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  let next = [...row]
  for (let i = 1; i <= a.length; i++) {
    const [first, last] = [Math.max(1, i - most), Math.min(b.length, i + most)]
    next[first - 1] = first === 1 ? i : Number.POSITIVE_INFINITY
    let least = next[first - 1] as number
    for (let j = first; j <= last; j++) {
      const changed = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next[j] = Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, changed)
      least = Math.min(least, next[j] as number)
    }
    if (least > most) return Number.POSITIVE_INFINITY
    if (last < b.length) next[last + 1] = Number.POSITIVE_INFINITY
    ;[row, next] = [next, row]
  }
  const found = row[b.length] as number
  return found > most ? Number.POSITIVE_INFINITY : found
}

/** Wrong letters of a long name that may be slips. */
export const MOST_TYPOS = 2

/** Whether `given` may mean `name`: it is a part of it, or has a few wrong letters. */
export function isSimilar(given: string, name: string): boolean {
  const [wanted, text] = [given.toLowerCase(), name.toLowerCase()]
  if (wanted === '' || Math.abs(wanted.length - text.length) > 200) return false
  const most = Math.min(MOST_TYPOS, Math.floor(wanted.length / 3))
  return text.includes(wanted) || editDistance(text, wanted, most) <= most
}

/** Returns the pairs of neighbouring letters and digits of each word, each with how often it occurs. */
function pairsOf(text: string): Map<string, number> {
  const pairs = new Map<string, number>()
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const letters = [...` ${word} `]
    for (let i = 1; i < letters.length; i++) {
      const pair = `${letters[i - 1]}${letters[i]}`
      pairs.set(pair, (pairs.get(pair) ?? 0) + 1)
    }
  }
  return pairs
}

/** Returns how similar two short texts are, from 0 to 1: the share of pairs of letters that both have (Dice). */
export function shareOfPairs(a: string, b: string): number {
  const [first, second] = [pairsOf(a), pairsOf(b)]
  const all = [...first.values(), ...second.values()].reduce((sum, n) => sum + n, 0)
  const shared = [...first].reduce((sum, [pair, n]) => sum + Math.min(n, second.get(pair) ?? 0), 0)
  return all === 0 ? 0 : (2 * shared) / all
}
