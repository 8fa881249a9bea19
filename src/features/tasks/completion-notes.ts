import { invalid } from '../../errors.ts'
import type { TaskComplete } from './schema.ts'

const LONGEST_NOTES = 32_000

/**
 * Returns the completion notes with what is new in these, or undefined if nothing is. A task may be completed again,
 * and what was said before stays.
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
