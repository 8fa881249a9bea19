/** States and priorities of epics, stories and tasks, for every feature that counts or lists work. */
export const statuses = ['backlog', 'todo', 'in_progress', 'blocked', 'in_review', 'done', 'cancelled'] as const
export type Status = (typeof statuses)[number]
/** Work in these states blocks nothing any more. */
export const closedStatuses = ['done', 'cancelled'] as const satisfies readonly Status[]
export const isClosed = (status: string): boolean => status === 'done' || status === 'cancelled'
/** Moves that need every blocker to be closed. */
export const gatedStatuses = new Set<Status>(['in_progress', 'in_review', 'done'])
export const priorities = ['critical', 'high', 'medium', 'low'] as const
export type Priority = (typeof priorities)[number]

export interface LabelChange {
  labels?: string[]
  addLabels?: string[]
  removeLabels?: string[]
}

/** Returns the labels of a task after a change that replaces, adds or removes some. */
export const changeLabels = (
  before: readonly string[],
  { labels = [...before], addLabels = [], removeLabels = [] }: LabelChange,
): string[] => [...new Set([...labels, ...addLabels]).difference(new Set(removeLabels))]
