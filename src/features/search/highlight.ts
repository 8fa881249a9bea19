import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { excerptAround, splitMatches } from '../../text/highlight.ts'
import type { Span } from '../../text/search-query.ts'
import type { Language } from './query.ts'
import type { Part } from './schema.ts'

/** Two characters that never occur in a text after `translate`. */
const [START, END] = ['\u0001', '\u0002']
const LONGEST = 20_000

/**
 * SQL: the text with spaces in place of punctuation, on which Postgres' parser may take quadratic time. Positions stay
 * valid.
 */
export const withoutPunctuation = (text: SQL): SQL =>
  sql`translate(${text}, ${`!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~${START}${END}`}, repeat(' ', 34))`

/** Returns the text with marks around the matches. The marks also fit the original text. */
export const markMatches = (text: SQLWrapper, query: SQL, language: Language): SQL<string> => {
  const plain = withoutPunctuation(sql`left(${text}, ${LONGEST})`)
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
export function splitByMarks(text: string, marks: string): Part[] {
  const { spans, length } = spansOf(marks)
  return splitMatches(text, length <= text.length ? spans : [])
}

/** Like `splitByMarks`: the excerpt of a long text with most matches, or its beginning. `inside`: a later passage. */
export function excerptByMarks(text: string, marks: string, inside = false): Part[] {
  const { spans } = spansOf(marks)
  return excerptAround(text, spans, { inside })
}
