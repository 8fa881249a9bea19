/** One change of several tasks: shown at once, sent in batches, and undone as a whole. */
import { type QueryClient, type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query'
import type { GroupedTasks, TaskGroups, TaskPage } from '../../../features/tasks/lists/list-schema.ts'
import type { ChangedMany, ChangeMany } from '../../../features/tasks/many/many-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { changes, newIdempotencyKey, okUndoable, writeOptions } from '../../api.ts'
import { lastWrittenVersion, recordWrittenVersion } from '../../live/written-versions.ts'
import { isProblem } from '../../problem.ts'
import { offerUndo } from '../../undo.ts'
import { changeInGroups } from './group-queries.ts'
import { moveCard } from './moves.ts'
import { words } from './words.ts'

export type BatchChange = ChangeMany['change']
type Asked = ChangeMany['tasks'][number]

interface Batch {
  items: readonly TaskItem[]
  change: BatchChange
  /** Describes the change without its tasks: "priority High". */
  said: string
}

export interface BatchOutcome {
  changed: ChangedMany['items']
  /** How many the server refused to change, or did not come to. */
  refused: number
  /** How many may have been changed: the server did not say. */
  unknown: number
  reasons: string[]
  /** The id by which the server undoes what was changed. */
  changeId?: string
}

/** The server takes 200 in one call; fewer keep a call short, and say sooner what was changed. */
const MOST_AT_ONCE = 100

const isLost = (error: unknown): boolean => isProblem(error) && (error.status === 0 || error.status >= 500)

/** Makes one call. If no response came, it is repeated once: its key lets the server continue where it was. */
async function send(some: Asked[], wanted: BatchChange, changeKey: string) {
  const { headers } = writeOptions(undefined, newIdempotencyKey())
  const how = { headers: { ...headers, 'x-change-key': changeKey } }
  const call = () => okUndoable(changes.tasks.batch.post({ tasks: some, change: wanted }, how))
  try {
    return await call()
  } catch (error) {
    if (!isLost(error)) throw error
    return call()
  }
}

/** Changes all of them, and ends at the first call that fails as a whole. */
async function changeAll(asked: readonly Asked[], wanted: BatchChange): Promise<BatchOutcome> {
  const outcome: BatchOutcome = { changed: [], refused: 0, unknown: 0, reasons: [] }
  // The server undoes all calls with this key as one change.
  const changeKey = newIdempotencyKey()
  for (let from = 0; from < asked.length; from += MOST_AT_ONCE) {
    const some = asked.slice(from, from + MOST_AT_ONCE)
    try {
      const { data, changeId } = await send(some, wanted, changeKey)
      const { items } = data
      outcome.changeId ??= changeId
      const problems = items.flatMap(({ problem }) => problem ?? [])
      for (const { id, task } of items) if (task) recordWrittenVersion(id, task.version)
      outcome.changed.push(...items.filter(({ task }) => task))
      outcome.refused += problems.length
      outcome.reasons.push(...problems.map(({ detail }) => detail))
    } catch (error) {
      outcome.unknown = isLost(error) ? some.length : 0
      outcome.refused += asked.length - from - outcome.unknown
      outcome.reasons.push((error as Error).message)
      break
    }
  }
  return outcome
}

/** Makes one change to several tasks: shown at once where the page knows how it will look. */
export function useBatchChange(projectId: string, told: (outcome: BatchOutcome, batch: Batch) => void) {
  const cache = useQueryClient()
  const queryKey = ['tasks', projectId]
  return useMutation({
    // One after the other. What is shown may still be older than what this page has written, which is no conflict.
    scope: { id: `batch ${projectId}` },
    mutationFn: ({ items, change: wanted }: Batch) =>
      changeAll(
        items.map(({ id, version }) => ({ id, ifMatch: Math.max(version, lastWrittenVersion(id)) })),
        wanted,
      ),
    onMutate: async ({ items, change: wanted }) => {
      await cache.cancelQueries({ queryKey })
      const before = cache.getQueriesData({ queryKey })
      showAtOnce(cache, projectId, new Set(items.map(({ id }) => id)), wanted)
      return { before }
    },
    onSuccess: (outcome, batch, { before }) => {
      const { items, change: wanted, said } = batch
      if (outcome.changed.length < items.length) {
        putBack(cache, before)
        showAtOnce(cache, projectId, new Set(outcome.changed.map(({ id }) => id)), wanted)
      }
      if (outcome.changed.length > 0) offerUndo(describeBatch(outcome, said), outcome.changeId)
      told(outcome, batch)
    },
    onSettled: () =>
      Promise.all([queryKey, ['task'], ['at work']].map((key) => cache.invalidateQueries({ queryKey: key }))),
  })
}

/** Returns what was changed: "3 tasks: priority High". */
export const describeBatch = ({ changed }: BatchOutcome, said: string): string =>
  words.changedTo(changed.length === 1 ? (changed[0]?.task?.key ?? '') : words.n(changed.length), said)

const putBack = (cache: QueryClient, before: readonly [QueryKey, unknown][]): void => {
  for (const [key, data] of before) cache.setQueryData(key, data)
}

function showAtOnce(cache: QueryClient, projectId: string, ids: ReadonlySet<string>, wanted: BatchChange): void {
  const { status, priority, dueAt, addLabels = [], removeLabels = [], removeBlockedBy = [] } = wanted
  const after = (task: TaskItem): TaskItem => ({
    ...task,
    ...(status && { status }),
    ...(priority && { priority }),
    ...(dueAt !== undefined && { dueAt }),
    blockedBy: task.blockedBy.filter((key) => !removeBlockedBy.includes(key)),
    labels: [...new Set([...task.labels, ...addLabels])].filter((label) => !removeLabels.includes(label)),
  })
  const change = (task: TaskItem) => (ids.has(task.id) ? after(task) : task)
  cache.setQueriesData<TaskGroups>({ queryKey: ['tasks', projectId, 'board'] }, (board) => {
    if (!board) return board
    const chosen = board.groups.flatMap(({ items }) => items).filter(({ id }) => ids.has(id))
    const still: TaskGroups = { groups: board.groups.map((group) => ({ ...group, items: group.items.map(change) })) }
    if (!status) return still
    return chosen.reduce((next, task) => {
      const last = next.groups.find(({ value }) => value === status)?.items.filter(({ id }) => id !== task.id)
      return moveCard(next, { task: after(task), status, after: last?.at(-1) ?? null })
    }, still)
  })
  cache.setQueriesData<GroupedTasks>(
    { queryKey: ['tasks', projectId, 'groups'] },
    (data) => data && changeInGroups(data, change),
  )
  cache.setQueriesData<{ pages: TaskPage[]; pageParams: unknown[] }>(
    { queryKey: ['tasks', projectId, 'list'] },
    (data) => data && { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(change) })) },
  )
}
