/**
 * The position of a reader of events. Rows get their number (`seq`) before they commit, so a lower number may become
 * visible after a higher one. A reader therefore keeps the highest number it has seen and the holes below it.
 */
export interface Position {
  readonly high: number
  /** Ascending and disjoint, all below `high`. */
  readonly holes: readonly Hole[]
}

/** A range of numbers, both ends included, whose rows the reader has not seen. */
interface Hole {
  readonly from: number
  readonly to: number
  /** The transactions that may still commit rows of this range; undefined until they were looked up. */
  readonly writers?: readonly string[]
}

/**
 * Returns the position after a read. `seqs` are the numbers of its rows, ascending; `complete` says that no further
 * rows were visible. A hole that had no writers before the read, and no row in it, is dropped: its rows never come.
 */
export function advancePosition({ high, holes }: Position, seqs: readonly number[], complete: boolean): Position {
  const lookedUpTo = complete ? Number.POSITIVE_INFINITY : (seqs.at(-1) ?? 0)
  const left: Hole[] = []
  const keep = (hole: Hole) => {
    const never = hole.writers?.length === 0 && hole.to <= lookedUpTo
    if (hole.from <= hole.to && !never) left.push(hole)
  }
  let next = 0
  for (const hole of holes) {
    let { from } = hole
    for (let seq = seqs[next]; seq !== undefined && seq <= hole.to; seq = seqs[++next]) {
      keep({ ...hole, from, to: seq - 1 })
      from = seq + 1
    }
    keep({ ...hole, from })
  }
  let reached = high
  for (const seq of seqs.slice(next)) {
    if (seq > reached + 1) left.push({ from: reached + 1, to: seq - 1 })
    reached = seq
  }
  return { high: reached, holes: left }
}

/**
 * Returns the position with the transactions that may still fill its holes. `running` are the transactions that write
 * events now. It must be read after the holes were seen: later transactions get higher numbers.
 */
export const withWriters = ({ high, holes }: Position, running: readonly string[]): Position => ({
  high,
  holes: holes.map((hole) => ({
    ...hole,
    writers: hole.writers ? hole.writers.filter((writer) => running.includes(writer)) : running,
  })),
})

/** Returns true if a running transaction may still commit a row that is lower than the highest one seen. */
export const hasWriters = ({ holes }: Position): boolean => holes.some(({ writers }) => writers?.length !== 0)

/** Returns true if the reader has passed the number: it has seen its row, or knows that it never comes. */
export const isBehind = ({ high, holes }: Position, seq: number): boolean =>
  seq <= high && !holes.some(({ from, to }) => from <= seq && seq <= to)

/**
 * Returns the position of a client that moves from one position to a later one, after it received the row `seq`. Rows
 * are sent by number, so those of holes in `from` come first. Holes of `to` stay holes.
 */
export function positionAfter(from: Position, to: Position, seq: number): Position {
  const clipped = (holes: readonly Hole[], first: number, last: number): Hole[] =>
    holes.flatMap((hole) => {
      const part = { from: Math.max(hole.from, first), to: Math.min(hole.to, last) }
      return part.from <= part.to ? [part] : []
    })
  const passed = clipped(to.holes, 0, seq)
  return seq < from.high
    ? { high: from.high, holes: [...passed, ...clipped(from.holes, seq + 1, from.high)] }
    : { high: seq, holes: passed }
}

export const isSamePosition = (a: Position, b: Position): boolean =>
  a.high === b.high &&
  a.holes.length === b.holes.length &&
  a.holes.every(({ from, to }, i) => from === b.holes[i]?.from && to === b.holes[i]?.to)

/** Cursors hold at most this many holes, because clients send them in addresses and headers. */
const MOST_HOLES = 64

/**
 * Returns a position as text, with which clients resume. With more than 64 holes it stops before the next one; a client
 * that resumes there receives some events again, and recognises them by their ids.
 */
export function encodeCursor(epoch: string, { high, holes }: Position): string {
  const stop = holes[MOST_HOLES]
  const ranges = holes.slice(0, MOST_HOLES).map(({ from, to }) => `${from.toString(36)}-${to.toString(36)}`)
  return `h1.${epoch}.${(stop ? stop.from - 1 : high).toString(36)}.${ranges.join('_')}`
}

/** Returns the content of a cursor; undefined if `encodeCursor` did not write it. */
export function decodeCursor(cursor: string): { epoch: string; position: Position } | undefined {
  const [, epoch, high, ranges] = /^h1\.([0-9a-f-]{36})\.([0-9a-z]{1,11})\.([0-9a-z_-]{0,1600})$/.exec(cursor) ?? []
  if (epoch === undefined || high === undefined || ranges === undefined) return
  const holes =
    ranges === '' ? [] : ranges.split('_').map((range) => range.split('-').map((n) => Number.parseInt(n, 36)))
  const position = {
    high: Number.parseInt(high, 36),
    holes: holes.map(([from = 0, to = 0]) => ({ from, to })),
  }
  return encodeCursor(epoch, position) === cursor && isOrdered(position) ? { epoch, position } : undefined
}

function isOrdered({ high, holes }: Position): boolean {
  let below = 0
  for (const { from, to } of holes) {
    if (from <= below || to < from) return false
    below = to
  }
  return Number.isSafeInteger(high) && (holes.length === 0 || below < high)
}
