import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { visibleText } from '../../text/text.ts'
import type { Language, Span } from './query.ts'
import type { Part } from './schema.ts'

/** Two characters that never occur in a text after `translate`. */
const [START, END] = ['\u0001', '\u0002']
const LONGEST = 20_000
const WINDOW = 240
const BEFORE = 60

/**
 * Returns the text with marks around the matches. Each punctuation character becomes a space first, because Postgres'
 * parser takes quadratic time on some of it. Positions stay valid, so the marks also fit the original text.
 */
export const marked = (text: SQLWrapper, query: SQL, language: Language): SQL<string> => {
  const punctuation = `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~${START}${END}`
  const plain = sql`translate(left(${text}, ${LONGEST}), ${punctuation}, repeat(' ', 34))`
  const options = `StartSel="${START}", StopSel="${END}", HighlightAll=true`
  return sql<string>`ts_headline(${language}::regconfig, ${plain}, ${query}, ${options})`
}

function spansOf(marks: string): { spans: Span[]; length: number } {
  const spans: Span[] = []
  let length = 0
  let from = 0
  for (const char of marks) {
    if (char === START) from = length
    else if (char === END) spans.push([from, length])
    else length += char.length
  }
  return { spans, length }
}

/**
 * Splits a text into pieces and flags those that match. The pieces are plain text, so no markup can be injected, and
 * there are no offsets, which every language counts differently.
 */
export function parts(text: string, marks: string): Part[] {
  const { spans, length } = spansOf(marks)
  return pieces(text, length <= text.length ? spans : [])
}

export const pieces = (text: string, spans: readonly Span[]): Part[] => cut(text, spans, 0, text.length)

/** For a long text: splits only the excerpt with most matches, or the beginning. `inside`: not the first passage. */
export function excerpt(text: string, marks: string, inside = false): Part[] {
  const { spans } = spansOf(marks)
  return around(text, spans, { inside })
}

/**
 * Returns the excerpt of a text with most of these spans, which must be in order. `inside`: text precedes it; `more`:
 * text follows it.
 */
export function around(
  text: string,
  spans: readonly Span[],
  { inside = false, more = false }: { inside?: boolean; more?: boolean },
): Part[] {
  const best = densest(spans)
  const start = best ? atWord(text, Math.max(0, best[0] - BEFORE), best[0]) : 0
  const end = Math.min(text.length, Math.max(start + WINDOW, best?.[1] ?? 0))
  const found = cut(text, spans, start, end)
  const ellipsis = (wanted: boolean): Part[] => (wanted ? [{ text: '…' }] : [])
  return [...ellipsis(start > 0 || inside), ...found, ...ellipsis(end < text.length || more)]
}

/**
 * Returns the span that most others follow within the length of an excerpt. The spans are in order, so one pass with
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

function cut(text: string, spans: readonly Span[], start: number, end: number): Part[] {
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
