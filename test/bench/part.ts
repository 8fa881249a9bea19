/**
 * What a part of the bench is. A part is a file in `parts/` whose name is the part's name (`--only NAME`) and which
 * exports `part`. It yields rows; `run.ts` prints them, keeps them in the table of README.md and compares them with
 * their bars.
 */
import type { World } from './world.ts'

export interface Row {
  /** What was measured, on what: `list 50 notes, embedded`. Unique among all parts. */
  what: string
  /** Our figure with its unit: `371/s`. */
  ours: string
  /** What it is compared with: `bare 640/s`. */
  against?: string
  /** Ours in proportion to the other side, within this run. */
  ratio?: number
  /** Where there is no other side: the figure that the bar is about. */
  value?: number
  bar?: Bar
}

/** The limit for `ratio`, or for `value` with its unit. */
export type Bar = ({ least: number } | { most: number }) & { unit?: string }

export type DatabaseName = 'embedded' | 'Postgres'

export interface Bench {
  /** How long a side is measured in one round. */
  seconds: number
  rounds: number
  /** Both, or only the embedded one where TEST_DATABASE_URL is not set. */
  databases: DatabaseName[]
  /** A data folder or database with some records and credentials, for processes of its own. No server runs on it. */
  world(database: DatabaseName): Promise<World>
}

export type Part = (bench: Bench) => AsyncIterable<Row>

/** Before anything is measured: code that runs often has to be compiled, and connections have to plan statements. */
export const WARM_UP_SECONDS = 4

/** Loads a side for that many seconds and returns its figure, such as requests a second. */
export type Side = (seconds: number) => Promise<number>

/**
 * Warms every side up for 4 s, then measures them in turn, so that a busy moment of the machine hits all. The order
 * changes with each round.
 */
export async function compare<Name extends string>(
  { seconds, rounds }: { seconds: number; rounds: number },
  sides: Record<Name, Side>,
): Promise<Record<Name, number[]>> {
  const all = Object.entries<Side>(sides)
  for (const [, side] of all) await side(WARM_UP_SECONDS)
  const found = Object.fromEntries(all.map(([name]) => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = 0; round < rounds; round++)
    for (const [name, side] of round % 2 ? all.toReversed() : all) found[name as Name].push(await side(seconds))
  return found
}

export const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number

/** The median of the ratios of each round. */
export const ratioOf = (ours: number[], other: number[]): number =>
  median(ours.map((value, i) => value / (other[i] as number)))

/** By what factor a row is on the right side of its bar: 1 is exactly at it, below 1 it is missed. */
export function margin({ ratio, value, bar }: Row): number | undefined {
  const figure = ratio ?? value
  if (bar === undefined || figure === undefined) return undefined
  // A difference may be below zero, which is within any limit from above.
  return 'least' in bar ? figure / bar.least : bar.most / Math.max(figure, Number.EPSILON)
}

export function barText(row: Row): string {
  const reached = margin(row)
  if (!row.bar || reached === undefined) return '–'
  const limit = 'least' in row.bar ? `≥ ${row.bar.least}` : `≤ ${row.bar.most}`
  return `${limit}${row.bar.unit ? ` ${row.bar.unit}` : ''} ${reached >= 1 ? 'met' : '**missed**'}`
}
