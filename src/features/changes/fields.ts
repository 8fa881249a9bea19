import { isDeepStrictEqual } from 'node:util'
import { capitalizeFirst } from '../../text/text.ts'
import type { TaskChange } from '../tasks/hooks.ts'
import type { TaskCheckpoint } from '../tasks/leases/checkpoint-schema.ts'
import type { ChangeMatching } from '../tasks/many/many-schema.ts'
import type { Task } from '../tasks/schema.ts'

type BatchChange = ChangeMatching['change']

/** The fields of a task that an undo restores. */
export const fieldNames = [
  'title',
  'description',
  'status',
  'priority',
  'assignee',
  'labels',
  'dueAt',
  'estimate',
  'storyId',
  'parentId',
  'acceptance',
  'completionNotes',
  'blockedBy',
  'position',
] as const
export type FieldName = (typeof fieldNames)[number]

type Values = Omit<Pick<Task, FieldName>, 'assignee' | 'blockedBy'> & {
  /** The id of a person or an agent. */
  assignee: string | null
  /** The ids of the blockers that the person sees. */
  blockedBy: readonly string[]
  /** These three follow from the status and are restored with it. */
  startedAt: string | null
  completedAt: string | null
  lastCheckpoint: TaskCheckpoint | null
}
/** The values of the fields that differ. */
export type Fields = Partial<Values>

/** What an undo did to one task. */
export interface Outcome {
  /** Null if the person no longer sees the task. */
  key: string | null
  restored: FieldName[]
  kept: { fields: FieldName[]; reason: string }[]
}

export const valuesOf = (task: Task, blockers?: readonly string[]): Fields => ({
  title: task.title,
  description: task.description,
  status: task.status,
  priority: task.priority,
  assignee: task.assignee?.id ?? null,
  labels: task.labels,
  dueAt: task.dueAt,
  estimate: task.estimate,
  storyId: task.storyId,
  parentId: task.parentId,
  acceptance: task.acceptance,
  completionNotes: task.completionNotes,
  position: task.position,
  startedAt: task.startedAt,
  completedAt: task.completedAt,
  ...(blockers && { blockedBy: blockers.toSorted() }),
})

/** Returns the fields that differ, before and after a change; undefined if there are none. */
export function differencesOf({
  before,
  after,
  blockers,
  lastCheckpoint,
}: TaskChange): { before: Fields; after: Fields } | undefined {
  const [was, is] = [valuesOf(before, blockers?.before), valuesOf(after, blockers?.after)]
  const names = (Object.keys(is) as (keyof Fields)[]).filter((name) => !isDeepStrictEqual(was[name], is[name]))
  if (names.length === 0) return undefined
  const only = (from: Fields): Fields => Object.fromEntries(names.map((name) => [name, from[name]]))
  const isLost = after.status === 'done' && before.status !== 'done' && lastCheckpoint !== null
  return { before: { ...only(was), ...(isLost && { lastCheckpoint }) }, after: only(is) }
}

export const namesIn = (fields: Fields): FieldName[] => fieldNames.filter((name) => name in fields)

/** The fields of a task whose values a label names. */
type Described = Pick<Task, 'status' | 'priority' | 'assignee' | 'dueAt' | 'estimate'>

/** Returns what a task got, for the list of changes: `state Done, priority High`. */
export function describeChange(fields: Fields, after: Described): string {
  // Completing a task also ticks criteria and adds notes.
  const minor: readonly FieldName[] = 'status' in fields ? ['acceptance', 'completionNotes', 'position'] : []
  return namesIn(fields)
    .filter((name) => !minor.includes(name))
    .map((name) => descriptions[name](after))
    .join(', ')
}

/** Returns the fields that a batch sets. Their values do not matter to `describeChange`. */
export function requestedFields({ addLabels, removeLabels, keepTicks: _, ...change }: BatchChange): Fields {
  return { ...change, ...((addLabels || removeLabels) && { labels: [] }) } as Fields
}

/** Returns what tasks will get, before the first one is changed. */
export function describeRequest({ assignee, ...change }: BatchChange): string {
  const { status = 'todo', priority = 'medium', dueAt = null, estimate = null } = change
  const after = { status, priority, dueAt, estimate, assignee: null }
  return [describeChange(requestedFields(change), after), assignee === undefined ? '' : 'assignee']
    .filter(Boolean)
    .join(', ')
}

const toWords = (value: string): string => capitalizeFirst(value.replaceAll('_', ' '))

const descriptions: Record<FieldName, (after: Described) => string> = {
  title: () => 'title',
  description: () => 'description',
  status: ({ status }) => `state ${toWords(status)}`,
  priority: ({ priority }) => `priority ${toWords(priority)}`,
  assignee: ({ assignee }) => (assignee ? `assignee ${assignee.name}` : 'no assignee'),
  labels: () => 'labels',
  dueAt: ({ dueAt }) => (dueAt ? `due ${dueAt.slice(0, 10)}` : 'no due date'),
  estimate: ({ estimate }) => (estimate === null ? 'no estimate' : `estimate ${estimate}`),
  storyId: () => 'story',
  parentId: () => 'parent',
  acceptance: () => 'acceptance criteria',
  completionNotes: () => 'completion notes',
  blockedBy: () => 'blockers',
  position: () => 'order',
}
