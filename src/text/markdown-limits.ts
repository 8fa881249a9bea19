/**
 * Keeps texts that no one writes by hand from taking seconds to show as Markdown. The server and the dashboard, whose
 * parsers differ, apply these limits before they parse a text.
 */

/** How deep quotes, lists and other elements may be nested. */
export const MOST_NESTED = 32
/** How many cells the tables of a text may have. Parsers fill short rows, so a few bytes can become many cells. */
const MOST_CELLS = 10_000
/** How many tags a rendered text may have: filtering and showing them takes most of the time. */
const MOST_TAGS = 25_000
/** How many backticks may follow each other: each length has to be looked for by itself. */
const MOST_BACKTICKS = 32

const MARKER = String.raw`[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))`
/** The beginning of a line with as many markers of quotes and lists as are allowed, before one more. */
const TOO_DEEP = new RegExp(`^((?:${MARKER}){${MOST_NESTED}})(?=${MARKER})`, 'gm')
const TOO_MANY_BACKTICKS = new RegExp(`\`{${MOST_BACKTICKS + 1},}`, 'g')
/** A line that may separate the head of a table from its rows. */
const DELIMITER = /^([ \t>]*)(?=[|:-][ \t>|:-]*$)/gm
/** An entity is always text, so a line or the rest of a line that begins with it is a paragraph. */
const SPACE = '&#32;'

/** Parsers treat a carriage return as a line break, so the limits do too. */
const toNewlines = (text: string): string => (text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text)

/** Returns the text with the markup as text that exceeds a limit. A text that people write stays as it is. */
export function limitMarkdown(text: string): string {
  const flat = toNewlines(text).replace(TOO_DEEP, `$1 ${SPACE}`).replace(TOO_MANY_BACKTICKS, '`'.repeat(MOST_BACKTICKS))
  return mostCellsIn(flat) > MOST_CELLS ? flat.replace(DELIMITER, `$1${SPACE}`) : flat
}

/** Returns how many cells the tables of a text can have: each is a block of lines, and one of these has the columns. */
function mostCellsIn(text: string): number {
  if (!text.includes('|')) return 0
  let [cells, columns, rows] = [0, 0, 0]
  for (let at = 0; at <= text.length; ) {
    const next = text.indexOf('\n', at)
    const end = next < 0 ? text.length : next
    const line = readDelimiter(text, at, end)
    if (line === 'blank') {
      cells += columns * rows
      columns = rows = 0
    } else {
      rows++
      columns = Math.max(columns, line)
    }
    at = end + 1
  }
  return cells + columns * rows
}

const [TAB, BLANK, DASH, COLON, QUOTE, BAR] = [9, 32, 45, 58, 62, 124]

/** Returns the number of bars in a line that may be a delimiter, 0 for any other line. */
function readDelimiter(text: string, from: number, to: number): number | 'blank' {
  let bars = 0
  let isBlank = true
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code === TAB || code === BLANK || code === QUOTE) continue
    isBlank = false
    if (code === BAR) bars++
    else if (code !== DASH && code !== COLON) return 0
  }
  return isBlank ? 'blank' : bars
}

export function hasTooManyTags(html: string, most = MOST_TAGS): boolean {
  let tags = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) if (++tags > most) return true
  return false
}

/** How long lines without an empty line between them may be, for a parser whose time grows with the square of that. */
const LONGEST_BLOCK = 20_000

export function hasLongBlock(text: string): boolean {
  if (text.length <= LONGEST_BLOCK) return false
  return toNewlines(text)
    .split(/\n[ \t>]*\n/)
    .some((block) => block.length > LONGEST_BLOCK)
}
