import { writeSync } from 'node:fs'
import { coloured, isTerminal } from './environment.ts'

/** What steers a terminal or hides in a text. Not the two joiners, which Persian and Indian scripts and many emoji are written with. */
const steering = /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\u200c\u200d]]/gv

/** Text that came from a server must not steer the terminal. */
export const plain = (text: string): string => text.replace(steering, ' ').replace(/ {2,}/g, ' ').trim()

const style =
  (on: number) =>
  (text: string, stream: 1 | 2 = 1) =>
    coloured(stream) ? `\x1b[${on}m${text}\x1b[0m` : text
export const bold = style(1)
export const dim = style(2)

const styles = new Set(['\x1b[0m', '\x1b[1m', '\x1b[2m'])
const styledOrSteering = /\p{Cc}\[[012]m|[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\u200c\u200d\t\n]]/gv

/** The last guard before a terminal, for whatever was not made plain: only our own styles pass, and those where there are any. */
export const guarded = (text: string, stream: 1 | 2): string =>
  text.replace(styledOrSteering, (found) => (styles.has(found) && coloured(stream) ? found : ''))

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The same value; JSON itself writes out only the first 32 of what steers. */
export const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(steering, (found) =>
    found === '\n' ? found : found.split('').map(escaped).join(''),
  )

/** `--json`: one value whose shape stays; else lines for people. */
export function print(json: boolean | undefined, value: unknown, ...lines: string[]): void {
  if (json) console.log(jsonText(value, 2))
  else for (const line of lines) console.log(guarded(line, 1))
}

/** What is said about a result and is no part of it. Not console.error, which Bun paints red on a terminal. */
export function note(text: string): void {
  try {
    writeSync(2, `${guarded(text, 2)}\n`)
  } catch {
    // Nobody listens.
  }
}

// ---- tables and records

export interface Column<T> {
  title: string
  of: (item: T) => string | number | null | undefined
  /** The one that gives way when the terminal is narrow. When that is not enough, the others go, the last one first. */
  wide?: true
}

/** As terminals count: wide letters take two cells. */
const width = (text: string): number => Bun.stringWidth(text)
const terminalWidth = (): number => (isTerminal(1) ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY)

const fit = (text: string, most: number): string => Bun.sliceAnsi(text, 0, most, '…')

const GAP = 2
/** What the wide column keeps while there are others, and what others keep when there is too little room. */
const LEAST = 12
const MOST = 28

export function table<T>(items: readonly T[], columns: readonly Column<T>[]): string[] {
  const cells = items.map((item) => columns.map(({ of }) => plain(String(of(item) ?? '-')) || '-'))
  const widths = columns.map(({ title }, i) =>
    cells.reduce((most, row) => Math.max(most, width(row[i] as string)), width(title)),
  )
  const widthAt = (i: number): number => widths[i] as number
  const room = terminalWidth()
  const grow = columns.findIndex((column) => column.wide)
  let seen = columns.map((_, i) => i)
  const needed = (at = widthAt) => seen.reduce((sum, i) => sum + at(i) + GAP, -GAP)
  const narrowest = (i: number) => (i === grow ? Math.min(LEAST, widthAt(i)) : widthAt(i))
  if (needed(narrowest) > room) for (const i of seen) if (i !== 0 && i !== grow) widths[i] = Math.min(MOST, widthAt(i))
  for (let goes: number | undefined; needed(narrowest) > room; seen = seen.filter((i) => i !== goes)) {
    goes = seen.findLast((i) => i !== 0 && i !== grow)
    if (goes === undefined) break
  }
  if (grow >= 0 && needed() > room) widths[grow] = Math.max(1, widthAt(grow) - (needed() - room))
  const line = (row: readonly string[]): string => {
    const parts = seen.map((i, at) => {
      const text = fit(row[i] as string, widthAt(i))
      return at === seen.length - 1 ? text : text + ' '.repeat(widthAt(i) - width(text))
    })
    return fit(parts.join(' '.repeat(GAP)), room)
  }
  return [dim(line(columns.map((c) => c.title))), ...cells.map(line)]
}

/** One thing: its facts below each other, then its text as it is, without what would steer the terminal. */
export function record(facts: Record<string, string | number | null | undefined>, body?: string | null): string[] {
  const known = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const wide = Math.max(...known.map(([name]) => name.length))
  const fact = ([name, value]: [string, unknown]) =>
    wrapped(plain(String(value)), terminalWidth() - wide - GAP).map(
      (line, i) => `${i === 0 ? dim(name.padEnd(wide)) : ' '.repeat(wide)}${' '.repeat(GAP)}${line}`,
    )
  return [...known.flatMap(fact), ...(body ? ['', ...paragraphs(body)] : [])]
}

/** Wraps between words; a word that is longer than the line is left to the terminal. */
const wrapped = (text: string, columns: number): string[] =>
  Number.isFinite(columns) ? Bun.wrapAnsi(text, columns).split('\n') : [text]

export const paragraphs = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => line.replace(steering, (c) => (c === '\t' ? c : '')))

export const day = (at: string): string => at.slice(0, 10)

/** A day that was given without an hour is the same everywhere; an hour is that of whoever looks. */
export const dayOrHour = (at: string): string =>
  at.endsWith('T00:00:00.000Z')
    ? day(at)
    : new Date(at).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' })

export function ago(at: string): string {
  const minutes = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 60_000))
  return minutes < 1
    ? 'just now'
    : minutes < 60
      ? `${minutes} min ago`
      : minutes < 2880
        ? `${Math.round(minutes / 60)} h ago`
        : `${Math.round(minutes / 1440)} days ago`
}
