import { coloured } from './environment.ts'

/** Text that came from a server must not steer the terminal. */
export const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim()

const style =
  (on: number) =>
  (text: string, stream: { isTTY?: boolean } = process.stdout) =>
    coloured(stream) ? `\x1b[${on}m${text}\x1b[0m` : text
export const bold = style(1)
export const dim = style(2)

/** `--json`: one value whose shape stays; else lines for people. */
export function print(json: boolean | undefined, value: unknown, ...lines: string[]): void {
  for (const line of json ? [JSON.stringify(value, null, 2)] : lines) console.log(line)
}

// ---- tables and records

export interface Column<T> {
  title: string
  of: (item: T) => string | number | null | undefined
  /** The one that gives way when the terminal is narrow. */
  wide?: true
}

/** As terminals count: wide letters take two cells. */
const width = (text: string): number => Bun.stringWidth(text)
const terminalWidth = (): number => (process.stdout.isTTY ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY)

function fit(text: string, most: number): string {
  if (width(text) <= most) return text
  let kept = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (width(kept) + width(segment) > most - 1) break
    kept += segment
  }
  return `${kept}…`
}

export function table<T>(items: readonly T[], columns: readonly Column<T>[]): string[] {
  const cells = items.map((item) => columns.map(({ of }) => plain(String(of(item) ?? '-')) || '-'))
  const widths = columns.map(({ title }, i) => Math.max(width(title), ...cells.map((row) => width(row[i] as string))))
  const grow = columns.findIndex((column) => column.wide)
  const over = widths.reduce((sum, w) => sum + w + 2, -2) - terminalWidth()
  if (grow >= 0 && over > 0) widths[grow] = Math.max(10, (widths[grow] as number) - over)
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => {
        const text = fit(cell, widths[i] as number)
        return i === row.length - 1 ? text : text + ' '.repeat((widths[i] as number) - width(text))
      })
      .join('  ')
  return [dim(line(columns.map((c) => c.title))), ...cells.map(line)]
}

/** One thing: its facts below each other, then its text as it is, without what would steer the terminal. */
export function record(facts: Record<string, string | number | null | undefined>, body?: string | null): string[] {
  const known = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const wide = Math.max(...known.map(([name]) => name.length))
  return [...known.map(([name, value]) => `${dim(name.padEnd(wide))}  ${plain(String(value))}`), ...(body ? ['', ...paragraphs(body)] : [])]
}

export const paragraphs = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => (c === '\t' ? c : '')))

export const day = (at: string): string => at.slice(0, 10)

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
