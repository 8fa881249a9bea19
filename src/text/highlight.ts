import type { Span } from './search-query.ts'
import { visibleText } from './text.ts'

export interface Part {
  text: string
  match?: true
}

/** Length of an excerpt, and how much of it comes before the first match. */
const WINDOW = 240
const BEFORE = 60

/** Splits a text into the parts that match and those between them. */
export const splitMatches = (text: string, spans: readonly Span[]): Part[] => cutParts(text, spans, 0, text.length)

/**
 * Returns the excerpt of a text around the place with most of these spans, which are in order. `inside`: something
 * comes before the text; `more`: something follows it.
 */
export function excerptAround(
  text: string,
  spans: readonly Span[],
  { inside = false, more = false }: { inside?: boolean; more?: boolean },
): Part[] {
  const best = densest(spans)
  const start = best ? atWord(text, Math.max(0, best[0] - BEFORE), best[0]) : 0
  const end = Math.min(text.length, Math.max(start + WINDOW, best?.[1] ?? 0))
  const found = cutParts(text, spans, start, end)
  const ellipsis = (wanted: boolean): Part[] => (wanted ? [{ text: '…' }] : [])
  return [...ellipsis(start > 0 || inside), ...found, ...ellipsis(end < text.length || more)]
}

/**
 * Returns the first span of those that most others follow within an excerpt. The spans are in order, so one pass with
 * two positions counts them: a text can have ten thousand.
 */
function densest(spans: readonly Span[]): Span | undefined {
  let best: Span | undefined
  let most = 0
  let after = 0
  for (const [n, span] of spans.entries()) {
    while (after < spans.length && (spans[after] as Span)[1] <= span[0] + WINDOW - BEFORE) after++
    const hits = Math.max(0, after - n)
    if (best && hits <= most) continue
    best = span
    most = hits
  }
  return best
}

/** Moves a cut so that it splits neither a word nor a character. */
function atWord(text: string, from: number, before: number): number {
  if (from === 0) return 0
  const space = text.slice(from, before).search(/\s/)
  return space < 0 ? before : from + space + 1
}

function cutParts(text: string, spans: readonly Span[], start: number, end: number): Part[] {
  const found: Part[] = []
  const add = (from: number, to: number, match: boolean) => {
    const piece = visibleText(text.slice(from, to).toWellFormed().replace(/\s+/g, ' '))
    if (piece) found.push(match ? { text: piece, match: true } : { text: piece })
  }
  let at = start
  for (const [from, to] of spans) {
    if (from < at || to > end) continue
    add(at, from, false)
    add(from, to, true)
    at = to
  }
  add(at, end, false)
  return found
}
