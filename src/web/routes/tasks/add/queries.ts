import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ChangedMany } from '../../../../features/tasks/many/many-schema.ts'
import type { TaskCreate } from '../../../../features/tasks/schema.ts'
import { changes, newIdempotencyKey, ok, tasks, writeOptions } from '../../../api.ts'
import { recordWrittenVersion } from '../../../live/written-versions.ts'
import { statusNames } from '../../../words.ts'
import type { AddValues } from './values.ts'
import { words } from './words.ts'

/** The server creates so many in one call. */
const MOST_AT_ONCE = 50

/** Titles of tasks to create in one call. The key lets it be repeated without creating them twice. */
export interface Batch {
  titles: readonly string[]
  key: string
}

export const toBatches = (titles: readonly string[]): Batch[] =>
  Array.from({ length: Math.ceil(titles.length / MOST_AT_ONCE) }, (_, n) => ({
    titles: titles.slice(n * MOST_AT_ONCE, (n + 1) * MOST_AT_ONCE),
    key: newIdempotencyKey(),
  }))

/** Creates the tasks in Backlog or Todo, and moves them on from Backlog, where agents do not take them meanwhile. */
async function addTasks(project: string, { status = 'todo', ...values }: AddValues, { titles, key }: Batch) {
  const starts = status === 'backlog' || status === 'todo' ? status : 'backlog'
  const list: TaskCreate[] = titles.map((title) => ({ ...values, title, status: starts }))
  const { items } = await ok(
    tasks.projects({ slug: project }).tasks.batch.post({ tasks: list }, writeOptions(undefined, key)),
  )
  for (const { id, version } of items) recordWrittenVersion(id, version)
  if (status === starts) return items
  const moved = (await ok(
    changes.tasks.batch.post(
      { tasks: items.map(({ id }) => ({ id })), change: { status } },
      writeOptions(undefined, `${key}-${status}`),
    ),
  )) as ChangedMany
  const refused = moved.items.find(({ problem }) => problem)?.problem
  if (refused) throw new Error(words.addedElsewhere(statusNames[starts], statusNames[status], refused.detail))
  return items
}

interface Report {
  onAdded(keys: readonly string[]): void
  onFailed(batch: Batch, error: Error): void
}

/** Adds tasks one batch after the other, so that they stay in the order in which they were typed. */
export function useAddTasks(project: string, values: AddValues, { onAdded, onFailed }: Report) {
  const cache = useQueryClient()
  const { mutate } = useMutation({
    scope: { id: `add ${project}` },
    mutationFn: (batch: Batch) => addTasks(project, values, batch),
    onSuccess: (items) => onAdded(items.map(({ key }) => key)),
    onError: (error, batch) => onFailed(batch, error),
    // The next task does not wait until the page has loaded this one.
    onSettled: () => void cache.invalidateQueries({ queryKey: ['tasks'] }),
  })
  return mutate
}
