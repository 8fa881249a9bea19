import type { StructuredPatchHunk } from 'diff'
import type { Change } from './schema.ts'

/**
 * Comparing two long, very different texts takes time that grows with the square of the difference, hence these limits.
 * They are sizes, so that the result never depends on the load of the machine.
 */
const AT_ONCE = 60
const MOST_EDITS = 500
const MOST_LINES = 20_000
const CONTEXT = 3

interface Hunk {
  oldStart: number
  oldLines: number
  newStart: number
  newLines: number
  added: number
  removed: number
  text: string
}

/** Returns a unified diff. If the texts differ too much, one replacement spans the first to the last change. */
export async function compareTexts(
  before: string,
  after: string,
  names: { from: string; to: string },
): Promise<Change> {
  const hunks = before === after ? [] : ((await diffFinely(before, after)) ?? [diffRoughly(before, after)])
  const text = hunks.map((h) => `@@ -${h.oldStart},${h.oldLines} +${h.newStart},${h.newLines} @@\n${h.text}`)
  return {
    added: hunks.reduce((sum, hunk) => sum + hunk.added, 0),
    removed: hunks.reduce((sum, hunk) => sum + hunk.removed, 0),
    diff: [`--- ${names.from}`, `+++ ${names.to}`, ...text].join('\n'),
  }
}

/** Compares small changes at once; larger ones in steps that let other work run. */
async function diffFinely(before: string, after: string): Promise<Hunk[] | undefined> {
  if (linesIn(before) > MOST_LINES || linesIn(after) > MOST_LINES) return undefined
  const { structuredPatch } = await import('diff')
  const quick = structuredPatch('', '', before, after, '', '', { context: CONTEXT, maxEditLength: AT_ONCE })
  if (quick) return quick.hunks.map(withText)
  return new Promise((resolve) =>
    structuredPatch('', '', before, after, '', '', {
      context: CONTEXT,
      maxEditLength: MOST_EDITS,
      callback: (patch) => resolve(patch?.hunks.map(withText)),
    }),
  )
}

const withText = ({ lines, ...place }: StructuredPatchHunk): Hunk => ({
  ...place,
  added: lines.filter((line) => line.startsWith('+')).length,
  removed: lines.filter((line) => line.startsWith('-')).length,
  text: lines.join('\n'),
})

const linesIn = (text: string): number => {
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

/** Returns the lines, each of which ends with a line feed, with a mark before each. */
const prefixLines = (lines: string, mark: string): string[] =>
  lines === '' ? [] : [mark + lines.slice(0, -1).replaceAll('\n', `\n${mark}`)]

/** Works on whole texts, because splitting a hundred thousand lines takes too long. */
function diffRoughly(before: string, after: string): Hunk {
  const [a, b] = [before, after].map((text) => `${text.replace(/\n$/, '')}\n`) as [string, string]
  const head = commonHead(a, b)
  const tail = commonTail(a, b, head)
  const start = lineStarts(a, head, -CONTEXT)
  const [context, rest] = [a.slice(start, head), a.slice(a.length - tail)]
  const kept = rest.slice(0, lineStarts(rest, 0, CONTEXT))
  const [removed, added] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)]
  const around = linesIn(context) + linesIn(kept)
  const from = linesIn(a.slice(0, start)) + 1
  return {
    oldStart: from,
    oldLines: around + linesIn(removed),
    newStart: from,
    newLines: around + linesIn(added),
    added: linesIn(added),
    removed: linesIn(removed),
    text: [
      ...prefixLines(context, ' '),
      ...prefixLines(removed, '-'),
      ...prefixLines(added, '+'),
      ...prefixLines(kept, ' '),
    ].join('\n'),
  }
}

/** Returns how many characters of whole lines both texts begin with. */
function commonHead(a: string, b: string): number {
  let end = 0
  while (end < a.length && a.charCodeAt(end) === b.charCodeAt(end)) end++
  return end === 0 ? 0 : a.lastIndexOf('\n', end - 1) + 1
}

/** Returns how many characters of whole lines both texts end with, after their common head. */
function commonTail(a: string, b: string, head: number): number {
  const most = Math.min(a.length, b.length) - head
  let tail = 0
  while (tail < most && a.charCodeAt(a.length - 1 - tail) === b.charCodeAt(b.length - 1 - tail)) tail++
  const isStart = (text: string) => text.length - tail === head || text[text.length - tail - 1] === '\n'
  return isStart(a) && isStart(b) ? tail : a.length - (a.indexOf('\n', a.length - tail) + 1)
}

/** Returns where the line begins that is this many lines after the one at `from`, or before it if negative. */
function lineStarts(text: string, from: number, lines: number): number {
  let at = from
  for (let n = lines; n < 0 && at > 0; n++) at = at < 2 ? 0 : text.lastIndexOf('\n', at - 2) + 1
  for (let n = lines; n > 0 && at < text.length; n--) at = text.indexOf('\n', at) + 1
  return at
}
