import { applyPatch, type ChangeObject, diffLines, structuredPatch } from 'diff'

/** Texts that differ more than this are shown one after the other: comparing them would take too long. */
const MOST_EDITS = 1000
const compare = (theirs: string, mine: string): ChangeObject<string>[] =>
  diffLines(theirs, mine, { maxEditLength: MOST_EDITS }) ?? [
    { value: theirs, removed: true, added: false, count: 1 },
    { value: mine, removed: false, added: true, count: 1 },
  ]

/** Puts my changes into their text. Undefined if both changed the same lines, or lines close to each other. */
export function mergeLines(base: string, mine: string, theirs: string): string | undefined {
  const patch = structuredPatch('', '', base, mine, '', '', { context: 2, maxEditLength: MOST_EDITS })
  const merged = patch ? applyPatch(theirs, patch) : false
  return merged === false ? undefined : merged
}

/** Puts my changes into their text. Where that does not fit, both texts are shown below each other, line by line. */
export function mergeTexts(base: string, mine: string, theirs: string): string {
  const patch = structuredPatch('', '', base, mine, '', '', { context: 2, maxEditLength: MOST_EDITS })
  const fits = patch ? applyPatch(theirs, patch, { fuzzFactor: 1 }) : false
  return fits === false
    ? compare(theirs, mine)
        .map(({ value }) => (value.endsWith('\n') ? value : `${value}\n`))
        .join('')
    : fits
}

interface ConflictLine {
  id: string
  mark: '+' | '−' | ' '
  text: string
}

/** Returns the lines of both texts, each with a mark that says whose it is. */
export const conflictLines = (theirs: string, mine: string): ConflictLine[] =>
  compare(theirs, mine)
    .flatMap(({ value, added, removed }) => {
      const mark = added ? ('+' as const) : removed ? ('−' as const) : (' ' as const)
      const lines = value.replace(/\n$/, '').split('\n')
      return lines.map((text) => ({ mark, text }))
    })
    .map((line, place) => ({ ...line, id: String(place) }))
