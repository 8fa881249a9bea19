import { writeSync } from 'node:fs'
import { isTerminal, showsColours } from './environment.ts'

/**
 * Characters that control a terminal or are invisible. Except the two joiners, which some scripts and many emoji need.
 */
const controlCharacters = /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\u200c\u200d]]/gv

/** Printable ASCII, which most lines are: a fast path that skips the slower patterns. */
const asciiOnly = /^[\x20-\x7e]*$/

/** Makes one line of text from a server safe to print: it must not control the terminal. */
export const safeLine = (text: string): string =>
  (asciiOnly.test(text) ? text : text.replace(controlCharacters, ' ')).replace(/ {2,}/g, ' ').trim()

const styleWith =
  (on: number) =>
  (text: string, stream: 1 | 2 = 1) =>
    showsColours(stream) ? `\x1b[${on}m${text}\x1b[0m` : text
export const bold = styleWith(1)
export const dim = styleWith(2)

const styles = new Set(['\x1b[0m', '\x1b[1m', '\x1b[2m'])
const styledOrControl = /\p{Cc}\[[012]m|[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\u200c\u200d\t\n]]/gv

/**
 * Removes control characters from a line just before it is printed, except our own styles if the stream shows colours.
 */
export const withoutControls = (text: string, stream: 1 | 2): string =>
  asciiOnly.test(text)
    ? text
    : text.replace(styledOrControl, (found) => (styles.has(found) && showsColours(stream) ? found : ''))

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Formats JSON with all control characters escaped; JSON.stringify escapes only the first 32. */
export const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(controlCharacters, (found) =>
    found === '\n' ? found : found.split('').map(escapeUnit).join(''),
  )

/** Prints a value of a stable shape with `--json`, or else lines for people. */
export function printResult(json: boolean | undefined, value: unknown, ...lines: string[]): void {
  if (json) console.log(jsonText(value, 2))
  else for (const line of lines) console.log(withoutControls(line, 1))
}

/** Prints a remark about a result to standard error. Not with console.error, which Bun colours red on a terminal. */
export function printNote(text: string): void {
  try {
    writeSync(2, `${withoutControls(text, 2)}\n`)
  } catch {
    // Standard error is closed.
  }
}

/** `1 change`, `2 changes` */
export const pluralize = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Asks a question on the terminal. Returns false if no terminal is there to answer. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false
  process.stderr.write(`${question} [y/N] `)
  for await (const line of console) return /^y(es)?$/i.test(line.trim())
  return false
}

// ---- tables and records

export interface Column<T> {
  title: string
  of: (item: T) => string | number | null | undefined
  /**
   * Shrinks first when the terminal is narrow. If that is not enough, other columns are dropped, the last one first.
   */
  wide?: true
}

/** Width in terminal cells: wide characters take two. */
const width = (text: string): number => Bun.stringWidth(text)
const terminalWidth = (): number => (isTerminal(1) ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY)

const truncateCell = (text: string, most: number): string => Bun.sliceAnsi(text, 0, most, '…')

const GAP = 2
/** Minimum width of the wide column, and maximum width of the others, when the terminal is narrow. */
const MIN_WIDE = 12
const MAX_OTHER = 28

export function tableLines<T>(items: readonly T[], columns: readonly Column<T>[]): string[] {
  const cells = items.map((item) => columns.map(({ of }) => safeLine(String(of(item) ?? '-')) || '-'))
  const widths = columns.map(({ title }, i) =>
    cells.reduce((most, row) => Math.max(most, width(row[i] as string)), width(title)),
  )
  const widthAt = (i: number): number => widths[i] as number
  const room = terminalWidth()
  const grow = columns.findIndex((column) => column.wide)
  let seen = columns.map((_, i) => i)
  const needed = (at = widthAt) => seen.reduce((sum, i) => sum + at(i) + GAP, -GAP)
  const narrowest = (i: number) => (i === grow ? Math.min(MIN_WIDE, widthAt(i)) : widthAt(i))
  if (needed(narrowest) > room)
    for (const i of seen) if (i !== 0 && i !== grow) widths[i] = Math.min(MAX_OTHER, widthAt(i))
  for (let goes: number | undefined; needed(narrowest) > room; seen = seen.filter((i) => i !== goes)) {
    goes = seen.findLast((i) => i !== 0 && i !== grow)
    if (goes === undefined) break
  }
  if (grow >= 0 && needed() > room) widths[grow] = Math.max(1, widthAt(grow) - (needed() - room))
  const line = (row: readonly string[]): string => {
    const parts = seen.map((i, at) => {
      const text = truncateCell(row[i] as string, widthAt(i))
      return at === seen.length - 1 ? text : text + ' '.repeat(widthAt(i) - width(text))
    })
    return truncateCell(parts.join(' '.repeat(GAP)), room)
  }
  return [dim(line(columns.map((c) => c.title))), ...cells.map(line)]
}

/** Formats one item: its facts below each other, then its text without control characters. */
export function recordLines(facts: Record<string, string | number | null | undefined>, body?: string | null): string[] {
  const known = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const wide = Math.max(...known.map(([name]) => name.length))
  const fact = ([name, value]: [string, unknown]) =>
    wrapWords(safeLine(String(value)), terminalWidth() - wide - GAP).map(
      (line, i) => `${i === 0 ? dim(name.padEnd(wide)) : ' '.repeat(wide)}${' '.repeat(GAP)}${line}`,
    )
  return [...known.flatMap(fact), ...(body ? ['', ...paragraphLines(body)] : [])]
}

/** Wraps between words; a word that is longer than the line is left to the terminal. */
const wrapWords = (text: string, columns: number): string[] =>
  Number.isFinite(columns) ? Bun.wrapAnsi(text, columns).split('\n') : [text]

export const paragraphLines = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => line.replace(controlCharacters, (c) => (c === '\t' ? c : '')))
