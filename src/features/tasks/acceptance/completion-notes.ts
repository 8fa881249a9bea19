import { invalid } from '../../../errors.ts'
import type { TaskComplete } from '../schema.ts'

const LONGEST_NOTES = 32_000

/**
 * Adds new notes and evidence to the completion notes; undefined if nothing is new. A task may be completed again, and
 * keeps its earlier notes.
 */
export function withNotes(
  before: string | null,
  { notes, evidence = [] }: Pick<TaskComplete, 'notes' | 'evidence'>,
): string | undefined {
  const there = before ?? ''
  const said = notes?.trim()
  const isNew = said && !`\n\n${there}\n\n`.includes(`\n\n${said}\n\n`)
  const lines = evidence.map((e) => `- ${e}`).filter((line) => !`\n${there}\n`.includes(`\n${line}\n`))
  if (!isNew && lines.length === 0) return undefined
  const after = [there, isNew && said, lines.length > 0 && ['Evidence:', ...lines].join('\n')]
    .filter(Boolean)
    .join('\n\n')
  if (after.length > LONGEST_NOTES)
    throw invalid(
      '/notes',
      `The completion notes would exceed ${LONGEST_NOTES} characters. Send a comment.`,
      'too_long',
    )
  return after
}

/** A paragraph in which `withNotes` lists evidence. */
const EVIDENCE = /^Evidence:(\n- .+)+$/

/**
 * Returns the notes and evidence that were added between two completion notes: the opposite of `withNotes`. A device
 * sends only the notes, and their evidence must be stored as evidence.
 */
export function notesBetween(before: string | null, after: string): Pick<TaskComplete, 'notes' | 'evidence'> {
  const known = before ? `${before}\n\n` : ''
  const said = after.startsWith(known) ? after.slice(known.length) : after
  const [lists, notes] = partition(said.split('\n\n'), (paragraph) => EVIDENCE.test(paragraph))
  const evidence = lists.flatMap((list) => list.split('\n- ').slice(1))
  return {
    ...(notes.length > 0 && { notes: notes.join('\n\n') }),
    ...(evidence.length > 0 && { evidence }),
  }
}

const partition = <T>(list: readonly T[], belongs: (one: T) => boolean): [T[], T[]] => [
  list.filter(belongs),
  list.filter((one) => !belongs(one)),
]
