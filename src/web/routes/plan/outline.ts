/** Reads a plan from indented lines: epics at the margin, their stories indented, tasks indented further. */
import type { PlanCreate } from '../../../features/planning/schema.ts'

interface Line {
  depth: number
  title: string
}

/** A headline has as many levels as it has #; any other line is as deep as its indentation. */
function linesOf(text: string): Line[] {
  const lines = text.split('\n').flatMap((line) => {
    const title = line
      .replace(/^[\s#>]*(?:[-*+•]|\d+[.)])?\s*(?:\[[ xX]\]\s*)?/, '')
      .trim()
      .slice(0, 200)
    const heads = /^\s*(#+)\s/.exec(line)?.[1]?.length
    const indent = (/^\s*/.exec(line)?.[0] ?? '').replaceAll('\t', '  ').length
    return title === '' ? [] : [{ heads, indent, title }]
  })
  const hasHeads = lines.some(({ heads }) => heads !== undefined)
  let level = 0
  const steps: number[] = []
  return lines.map(({ heads, indent, title }) => {
    if (heads !== undefined) {
      level = Math.min(heads, 2)
      steps.length = 0
      return { depth: level - 1, title }
    }
    while (steps.length > 0 && indent < (steps.at(-1) as number)) steps.pop()
    if (steps.length === 0 || indent > (steps.at(-1) as number)) steps.push(indent)
    return { depth: (hasHeads ? level : 0) + steps.length - 1, title }
  })
}

/** Returns what the outline would create. What is deeper than a task is a task of the same story. */
export function parseOutline(text: string): PlanCreate {
  const epics: { title: string; stories: { title: string; tasks: { title: string }[] }[] }[] = []
  for (const { depth, title } of linesOf(text)) {
    const epic = epics.at(-1)
    const story = epic?.stories.at(-1)
    if (depth <= 0 || !epic) epics.push({ title, stories: [] })
    else if (depth === 1 || !story) epic.stories.push({ title, tasks: [] })
    else story.tasks.push({ title })
  }
  return { epics }
}

export function planSize({ epics }: PlanCreate): { epics: number; stories: number; tasks: number } {
  const stories = epics.flatMap((epic) => epic.stories ?? [])
  return { epics: epics.length, stories: stories.length, tasks: stories.flatMap((story) => story.tasks ?? []).length }
}
