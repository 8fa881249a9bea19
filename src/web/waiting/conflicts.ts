import type { UserOrAgent } from '../../records/user-or-agent.ts'

export type Values = Readonly<Record<string, unknown>>

interface Edit {
  /** The values of its fields before the edit and after it. */
  before: Values
  after: Values
  isConflict?: boolean
}

/** Compares people and agents by their ids: the server returns more about them than the pickers know. */
const textOf = (value: unknown, field: string): string | undefined =>
  JSON.stringify(field === 'assignee' ? ((value as UserOrAgent | null | undefined)?.id ?? null) : value)

/**
 * Marks which edits of a record are in conflict, oldest first: someone else changed one of their fields. The first edit
 * of a field knows what the server had.
 */
export function findConflicts(edits: readonly Edit[], theirs: Values): void {
  const known = Object.assign({}, ...edits.toReversed().map(({ before }) => before)) as Values
  for (const edit of edits)
    edit.isConflict = Object.entries(edit.after).some(
      ([field, value]) => ![known[field], value].some((one) => textOf(one, field) === textOf(theirs[field], field)),
    )
}
