import { visibleText } from './text.ts'
import { clipToTokens } from './token-estimate.ts'

/**
 * Quotes stored text in results, errors and briefs that a model reads. Only text between « and », or after `> ` at the
 * beginning of a line, is stored text; nothing inside can close the quotation.
 */

const plain = (text: string): string => visibleText(text).replaceAll('«', '‹').replaceAll('»', '›').trim()
/** Returns a text as it is quoted, without the quotation marks. */
export const toOneLine = (text: string): string => plain(text).replace(/\s+/g, ' ')

/** Quotes a text on one line. */
export const quoteText = (text: string, most = 200): string => `«${clipToTokens(toOneLine(text), most)}»`
/** Quotes a text and keeps its lines. */
export const quoteBlock = (text: string): string =>
  plain(text)
    .replace(/[\r\n\u2028\u2029]+/g, '\n')
    .replace(/^/gm, '> ')

const word = "[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}.'’_-]*"
/** Up to three words, and two more in parentheses: `Ada Lovelace`, `claude-code (desk)`. */
const nameLike = new RegExp(`^${word}(?: ${word}){0,2}(?: \\(${word}(?: ${word})?\\))?$`, 'u')
/** A single word: a reference, a path, an address. */
const wordLike = /^[\w.@/:+-]+$/
/** Words that the server itself uses for people. */
const reserved = new Set([
  'me',
  'you',
  'nobody',
  'no one',
  'somebody',
  'someone',
  'unassigned',
  'former user',
  'a former user',
  'system',
  'tutti',
])
const LONGEST_NAME = 40

/** Quotes a name that a user chose, unless it is too short and plain to be read as a sentence. */
export const quoteName = (name: string): string => (isPlainName(name) ? name : quoteText(name, LONGEST_NAME))

const isPlainName = (name: string): boolean =>
  name.length <= LONGEST_NAME && (nameLike.test(name) || wordLike.test(name)) && !reserved.has(name.toLowerCase())

/** Returns the texts that are quoted within a text. */
export const findQuotes = (text: string): string[] =>
  [...text.matchAll(/«([^«»]*)»/g)].map(([, inner]) => inner as string)
