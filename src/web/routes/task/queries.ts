import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { TaskDetail, TaskPatch } from '../../../features/tasks/schema.ts'
import { change, ok, tasks } from '../../api.ts'
import { offerUndo } from '../../undo.ts'
import { words } from './words.ts'

export const taskQuery = (key: string) =>
  queryOptions({ queryKey: ['task', key], queryFn: () => ok(tasks.tasks({ id: key }).get()) })

/** Fields that look the same in a change and in the record, so that they can be shown before the server answers. */
const shownAtOnce = ['title', 'description', 'status', 'priority', 'labels', 'dueAt', 'estimate', 'acceptance'] as const

/** Returns the change that writes the former values back; undefined where a field looks otherwise in a change. */
function formerOf(before: TaskDetail, patch: TaskPatch): TaskPatch | undefined {
  const fields = Object.keys(patch) as (keyof TaskPatch)[]
  const isPlain = (field: string): field is (typeof shownAtOnce)[number] => shownAtOnce.some((one) => one === field)
  return fields.every(isPlain)
    ? (Object.fromEntries(fields.map((field) => [field, before[field as keyof TaskDetail] ?? null])) as TaskPatch)
    : undefined
}

export function useChange(task: TaskDetail) {
  const cache = useQueryClient()
  const { queryKey } = taskQuery(task.key)
  return useMutation({
    // One after the other, each with the version that the one before returned: two quick changes are no conflict.
    scope: { id: task.id },
    mutationFn: (patch: TaskPatch) => {
      const version = cache.getQueryData(queryKey)?.version ?? task.version
      return ok(tasks.tasks({ id: task.id }).patch(patch, change(version)))
    },
    onMutate: async (patch) => {
      await cache.cancelQueries({ queryKey })
      const before = cache.getQueryData(queryKey)
      const shown = Object.fromEntries(
        shownAtOnce.filter((field) => field in patch).map((field) => [field, patch[field]]),
      )
      if (before) cache.setQueryData(queryKey, { ...before, ...shown } as TaskDetail)
      return { before }
    },
    onSuccess: ({ version }, patch, context) => {
      cache.setQueryData(queryKey, (now) => now && { ...now, version })
      const former = context?.before && formerOf(context.before, patch)
      if (former)
        offerUndo(words.changed(task.key), async () => {
          const now = cache.getQueryData(queryKey)?.version ?? version
          await ok(tasks.tasks({ id: task.id }).patch(former, change(now)))
          await refresh(cache, task)
        })
    },
    onError: (_error, _patch, context) => {
      if (context?.before) cache.setQueryData(queryKey, context.before)
    },
    onSettled: () => refresh(cache, task),
  })
}

const refresh = (cache: ReturnType<typeof useQueryClient>, task: TaskDetail) =>
  Promise.all([
    cache.invalidateQueries({ queryKey: ['task', task.key] }),
    cache.invalidateQueries({ queryKey: ['tasks', task.projectId] }),
  ])

type Act = 'claim' | 'release' | 'complete'

export function useAct(task: TaskDetail) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async (act: Act): Promise<void> => {
      const one = tasks.tasks({ id: task.id })
      await ok<unknown>(
        act === 'claim'
          ? one.claim.post({}, change())
          : act === 'release'
            ? one.release.post({}, change())
            : one.complete.post({}, change(cache.getQueryData(taskQuery(task.key).queryKey)?.version ?? task.version)),
      )
    },
    onSettled: () => refresh(cache, task),
  })
}

export function useComment(task: TaskDetail) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ body, key }: { body: string; key: string }) =>
      ok(tasks.tasks({ id: task.id }).comments.post({ body }, change(undefined, key))),
    onSettled: () => refresh(cache, task),
  })
}

type CommentChange = { id: string; body: string } | { id: string; remove: true }

/** Changes or deletes a comment. */
export function useCommentChange(task: TaskDetail) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async (act: CommentChange): Promise<void> => {
      const one = tasks.tasks({ id: task.id }).comments({ commentId: act.id })
      if ('remove' in act) await ok(one.delete({}, change()))
      else await ok(one.patch({ body: act.body }, change()))
    },
    onSettled: () => refresh(cache, task),
  })
}
