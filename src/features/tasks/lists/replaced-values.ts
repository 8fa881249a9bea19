import type { TaskItem } from '../schema.ts'

/** The short fields of a task as texts. Long texts stay out of events, which every reader of a project receives. */
const shortFields = {
  title: ({ title }) => title,
  priority: ({ priority }) => priority,
  assignee: ({ assignee }) => assignee?.name ?? null,
  labels: ({ labels }) => labels.join(', ') || null,
  dueAt: ({ dueAt }) => dueAt,
  estimate: ({ estimate }) => (estimate === null ? null : String(estimate)),
} as const satisfies Record<string, (task: TaskItem) => string | null>

/** Returns the values that a change replaced, each before and after it: for a replay of the work. */
export function replacedValues(
  before: TaskItem,
  after: TaskItem,
): { values?: Record<string, readonly [string | null, string | null]> } {
  const pairs = Object.entries(shortFields).map(([name, read]) => [name, [read(before), read(after)]] as const)
  const changed = pairs.filter(([, [was, is]]) => was !== is)
  return changed.length > 0 ? { values: Object.fromEntries(changed) } : {}
}
