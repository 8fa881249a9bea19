/** Where a match begins and ends in its text. */
export type Span = [from: number, to: number]

/** All but " and -, which have a meaning in a query. */
export const punctuation = /[!#-,./:-@[-`{-~]/g

const word = /[\p{L}\p{N}\p{M}]+/gu
const lastWord = /(?:^|\s)([\p{L}\p{N}\p{M}]+)$/u
/** A single Latin letter begins too many words to be useful; a Chinese character is a whole word. */
const isSpecific = /^..|^[^\u0020-\u024f]/u

export const wordsOf = (text: string): string[] => Array.from(text.toLowerCase().matchAll(word), ([found]) => found)

/**
 * Removes punctuation, but keeps what has a meaning in a query: quotes, and a minus before a word. Terms that repeat an
 * earlier one of their side of `or` are left out, and so are the first ones of very many: Postgres compares every term
 * with every text.
 */
export function queryWords(text: string): string {
  const terms = termsOf(text.replace(punctuation, ' ').replace(/(?<=\S)-|-(?![\p{L}\p{N}"])/gu, ' '))
  let seen = new Set<string>()
  const kept: string[] = []
  // From the end, because the last term may be an incomplete word.
  for (const term of terms.toReversed()) {
    const lower = term.toLowerCase()
    if (lower === 'or') seen = new Set()
    else if (seen.has(lower)) continue
    seen.add(lower)
    kept.push(term)
    if (kept.length === MOST_TERMS) break
  }
  return kept.reverse().join(' ')
}

const MOST_TERMS = 32

/** Returns the words, phrases in quotes, and `or` of a query. A minus stays with its term. */
export const termsOf = (query: string): string[] => query.match(/-?"[^"]*(?:"|$)|[^\s"]+/g) ?? []

/** Returns the last word if it may still be incomplete. */
export function incompleteWord(typed: string): string | undefined {
  const last = lastWord.exec(typed)?.[1]
  const open = (typed.match(/"/g)?.length ?? 0) % 2 === 1
  return !last || open || last.toLowerCase() === 'or' || !isSpecific.test(last) ? undefined : last
}

const MOST_MATCHES = 200

/**
 * Returns a function that finds the words of a query in a text, as `asked` with the dictionary `simple` does. It reads
 * the text once: Postgres' own marks take ten times as long, which is too much for callers without a credential.
 */
export function matchFinder(text: string): (text: string) => Span[] {
  const typed = queryWords(text)
  const last = incompleteWord(typed)?.toLowerCase()
  const words = new Set(
    termsOf(typed).flatMap((term) => (term.startsWith('-') || term.toLowerCase() === 'or' ? [] : wordsOf(term))),
  )
  return (where) => {
    const found: Span[] = []
    for (const { 0: spelt, index } of where.matchAll(word)) {
      const lower = spelt.toLowerCase()
      if (!words.has(lower) && !(last && lower.startsWith(last))) continue
      found.push([index, index + spelt.length])
      if (found.length === MOST_MATCHES) break
    }
    return found
  }
}
