import { visibleText } from './text.ts'
import { clipped } from './token-estimate.ts'

/** Texts that users wrote, as a model reads them between those of the server. */

const plain = (text: string): string => visibleText(text).replaceAll('«', '‹').replaceAll('»', '›').trim()
/** Puts a text on one line, so that it cannot look like a part of the brief. */
const line = (text: string): string => plain(text).replace(/\s+/g, ' ')

export const quoted = (text: string, most = 200): string => `«${clipped(line(text), most)}»`
/** Quotes a text and keeps its lines. */
export const block = (text: string): string =>
  plain(text)
    .replace(/[\r\n\u2028\u2029]+/g, '\n')
    .replace(/^/gm, '> ')
/** Cleans a name, which its owner chose, like any other text. Keeps pairs of parentheses: `Claude Code (laptop)`. */
export const named = (name: string): string =>
  line(name.replace(paired.test(name) ? /[[\]{}<>#*`]/g : /[[\](){}<>#*`]/g, ''))
const paired = /^[^()]*(\([^()]*\)[^()]*)*$/
