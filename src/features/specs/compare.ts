import type { Change } from './schema.ts'

/** The time to compare two long, very different texts grows with the square of the difference, hence these limits. */
const AT_ONCE = 60
const MOST_EDITS = 1000
const MOST_LINES = 20_000
const MOST_MS = 2000
const CONTEXT = 3

interface Hunk {
  oldStart: number
  oldLines: number
  newStart: number
  newLines: number
  lines: string[]
}

/**
 * Returns a unified diff. If the texts differ too much, all from the first to the last change is one replacement.
 */
export async function changeOf(before: string, after: string, names: { from: string; to: string }): Promise<Change> {
  const hunks = before === after ? [] : ((await finely(before, after)) ?? roughly(before, after))
  const lines = hunks.flatMap((hunk) => hunk.lines)
  const text = hunks.map((h) =>
    [`@@ -${h.oldStart},${h.oldLines} +${h.newStart},${h.newLines} @@`, ...h.lines].join('\n'),
  )
  return {
    added: lines.filter((line) => line.startsWith('+')).length,
    removed: lines.filter((line) => line.startsWith('-')).length,
    diff: [`--- ${names.from}`, `+++ ${names.to}`, ...text].join('\n'),
  }
}

/** Compares small changes at once; larger ones in steps that let other work run, up to a time limit. */
async function finely(before: string, after: string): Promise<Hunk[] | undefined> {
  if (linesIn(before) > MOST_LINES || linesIn(after) > MOST_LINES) return undefined
  const { structuredPatch } = await import('diff')
  const quick = structuredPatch('', '', before, after, '', '', { context: CONTEXT, maxEditLength: AT_ONCE })
  if (quick) return quick.hunks
  return new Promise((resolve) =>
    structuredPatch('', '', before, after, '', '', {
      context: CONTEXT,
      maxEditLength: MOST_EDITS,
      timeout: MOST_MS,
      callback: (patch) => resolve(patch?.hunks),
    }),
  )
}

const linesIn = (text: string): number => {
  let lines = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

function roughly(before: string, after: string): Hunk[] {
  const [a, b] = [before, after].map((text) => text.replace(/\n$/, '').split('\n')) as [string[], string[]]
  const most = Math.min(a.length, b.length)
  let head = 0
  while (head < most && a[head] === b[head]) head++
  let tail = 0
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const from = Math.max(0, head - CONTEXT)
  const kept = Math.min(tail, CONTEXT)
  const [removed, added] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)]
  const around = head - from + kept
  return [
    {
      oldStart: from + 1,
      oldLines: around + removed.length,
      newStart: from + 1,
      newLines: around + added.length,
      lines: [
        ...a.slice(from, head).map((line) => ` ${line}`),
        ...removed.map((line) => `-${line}`),
        ...added.map((line) => `+${line}`),
        ...a.slice(a.length - tail, a.length - tail + kept).map((line) => ` ${line}`),
      ],
    },
  ]
}
