import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { FieldKind } from '../../records/sync.ts'
import { type Edit, editsBetween } from '../../text/line-edits.ts'

/** Merges the changes of a field by a device and by others. Compares values only: no clocks, no order of arrival. */

export type MergeResult = { readonly value: unknown; readonly how: 'unchanged' | 'taken' | 'merged' } | 'conflict'

/**
 * Returns the value to store. `base` is the value that the user of the device saw, `stored` the current one, `mine` the
 * one of the device.
 */
export function mergeField(kind: FieldKind, base: unknown, stored: unknown, mine: unknown): MergeResult {
  if (isSame(kind, stored, mine)) return { value: stored, how: 'unchanged' }
  if (equalsBase(stored, base)) return { value: mine, how: 'taken' }
  // The device did not change the value that its user saw.
  if (equalsBase(mine, base)) return { value: stored, how: 'unchanged' }
  if (kind === 'set') return mergeSets(base, stored, mine)
  if (kind === 'text') return mergeTexts(base, stored, mine)
  return 'conflict'
}

const isSame = (kind: FieldKind, a: unknown, b: unknown): boolean =>
  kind === 'set' && isTexts(a) && isTexts(b)
    ? isDeepStrictEqual([...new Set(a)].sort(), [...new Set(b)].sort())
    : isDeepStrictEqual(a, b)

/** The base of a long text may be its hash. */
export function equalsBase(value: unknown, base: unknown): boolean {
  if (isHash(base)) return typeof value === 'string' && hashOfText(value).$sha256 === base.$sha256
  return isDeepStrictEqual(value ?? null, base ?? null)
}

export const hashOfText = (text: string): { $sha256: string } => ({
  $sha256: createHash('sha256').update(text).digest('hex'),
})

const isHash = (base: unknown): base is { $sha256: string } =>
  typeof base === 'object' && base !== null && Object.keys(base).length === 1 && '$sha256' in base

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

function mergeSets(base: unknown, stored: unknown, mine: unknown): MergeResult {
  const before = base ?? []
  if (!isTexts(before) || !isTexts(stored) || !isTexts(mine)) return 'conflict'
  return { value: combineSets(before, stored, mine), how: 'merged' }
}

/** Returns (stored ∪ added) − removed, in the stored order. Added and removed: how `mine` differs from `base`. */
export function combineSets<T>(base: readonly T[], stored: readonly T[], mine: readonly T[]): T[] {
  const [had, wanted] = [new Set(base), new Set(mine)]
  const removed = new Set(base.filter((one) => !wanted.has(one)))
  const added = mine.filter((one) => !had.has(one))
  return [...new Set([...stored, ...added])].filter((one) => !removed.has(one))
}

/** Texts that are longer or differ more are conflicts: the time to compare grows with the square of the difference. */
const MOST_LINES = 20_000
const MOST_EDITS = 500

function mergeTexts(base: unknown, stored: unknown, mine: unknown): MergeResult {
  const [from, theirs, ours] = [base, stored, mine].map((text) => (text === null || text === undefined ? '' : text))
  if (typeof from !== 'string' || typeof theirs !== 'string' || typeof ours !== 'string') return 'conflict'
  const value = mergeLines(from, theirs, ours)
  return value === undefined ? 'conflict' : { value, how: 'merged' }
}

/** Returns both changes of a text in one, or undefined where they touch the same lines. */
export function mergeLines(base: string, stored: string, mine: string): string | undefined {
  const lines = [base, stored, mine].map((text) => text.split('\n'))
  const [before, theirs, ours] = lines as [string[], string[], string[]]
  if (lines.some(({ length }) => length > MOST_LINES)) return undefined
  const a = editsBetween(before, theirs, MOST_EDITS)
  const b = a && editsBetween(before, ours, MOST_EDITS)
  if (!b) return undefined
  const edits = combineEdits(a, b)
  if (!edits) return undefined
  const result: string[] = []
  let at = 0
  for (const { from, to, lines: put } of edits) {
    result.push(...before.slice(at, from), ...put)
    at = to
  }
  result.push(...before.slice(at))
  return result.join('\n')
}

/**
 * Returns the edits of both in order, equal ones once; undefined if two ranges overlap or touch. Where they touch,
 * their order is unknown.
 */
function combineEdits(a: readonly Edit[], b: readonly Edit[]): Edit[] | undefined {
  const all = [...a, ...b].sort((x, y) => x.from - y.from || x.to - y.to)
  const kept: Edit[] = []
  for (const edit of all) {
    const last = kept.at(-1)
    if (last && isDeepStrictEqual(last, edit)) continue
    if (
      last &&
      edit.from <= last.to &&
      !(a.includes(last) && a.includes(edit)) &&
      !(b.includes(last) && b.includes(edit))
    )
      return undefined
    kept.push(edit)
  }
  return kept
}
