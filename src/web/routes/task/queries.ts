import { type QueryClient, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { TaskComplete, TaskDetail, TaskPatch } from '../../../features/tasks/schema.ts'
import { changeLabels } from '../../../records/task-states.ts'
import { activities, ok, okUndoable, tasks, writeOptions } from '../../api.ts'
import { useSetStatusBar } from '../../components/status-bar.tsx'
import { recordWrittenVersion, writeNext } from '../../live/written-versions.ts'
import { isProblem } from '../../problem.ts'
import { spokenKeys } from '../../shortcuts.ts'
import { offerUndo } from '../../undo.ts'
import { mustWait, sendOrWait } from '../../waiting/send-or-wait.ts'
import type { Attempt } from '../../waiting/waiting-edits.tsx'
import { conflictingFields, EditConflict } from './edit-conflict.ts'
import { words } from './words.ts'

export const taskQuery = (key: string) =>
  queryOptions({ queryKey: ['task', key], queryFn: () => ok(tasks.tasks({ id: key }).get()) })

/** What happened to a task, newest first. It is asked for again with every event, like the feed. */
export const taskHistoryQuery = (id: string) =>
  queryOptions({
    queryKey: ['newest', 'task', id],
    queryFn: async () => (await ok(activities.activities.get({ query: { subjectId: id, limit: 50 } }))).items,
  })

/** Fields that look the same in a change and in the record, so that they can be shown before the server responds. */
const shownAtOnce = ['title', 'description', 'status', 'priority', 'labels', 'dueAt', 'estimate', 'acceptance'] as const

/** How the messages about a change call it. */
const descriptions = new WeakMap<TaskPatch, string>()

/** Describes a change for its messages, without the task: "priority High". Returns the change. */
export function describePatch(patch: TaskPatch, said: string): TaskPatch {
  descriptions.set(patch, said)
  return patch
}

/** The task as it was when a change was made, so that a refusal can tell which fields others changed since. */
const bases = new WeakMap<TaskPatch, TaskDetail>()

/**
 * Changes a task at this version. If others changed it meanwhile, but not the same fields, the change is made to what
 * they left; else it fails with `EditConflict`.
 */
async function changeTask(id: string, patch: TaskPatch, version: number, attempt: Attempt) {
  const one = tasks.tasks({ id })
  const send = (at: number) => {
    attempt.sentVersion = at
    return okUndoable(one.patch(patch, writeOptions(at, attempt.key)))
  }
  try {
    return await send(version)
  } catch (error) {
    const before = bases.get(patch)
    if (!isProblem(error) || error.status !== 412 || !before) throw error
    const theirs = await ok(one.get())
    const fields = conflictingFields(patch, before, theirs)
    if (fields.length > 0) throw new EditConflict(patch, fields, theirs)
    return send(theirs.version)
  }
}

export function useChangeTask(task: TaskDetail) {
  const cache = useQueryClient()
  const { queryKey } = taskQuery(task.key)
  const set = useSetStatusBar()
  return useMutation({
    scope: { id: task.id },
    mutationFn: (patch: TaskPatch) =>
      sendOrWait(
        (attempt) =>
          writeNext(
            task.id,
            () => cache.getQueryData(queryKey)?.version ?? task.version,
            (version) => changeTask(task.id, patch, version, attempt),
          ),
        (code, attempt) =>
          code.editTasks({ tasks: [bases.get(patch) ?? task], patch, said: descriptions.get(patch) }, attempt),
      ),
    onMutate: async (patch) => {
      await cache.cancelQueries({ queryKey })
      const before = cache.getQueryData(queryKey)
      if (before) bases.set(patch, before)
      if (mustWait()) return { before }
      const shown = Object.fromEntries(
        shownAtOnce.filter((field) => field in patch).map((field) => [field, patch[field]]),
      )
      if (before)
        cache.setQueryData(queryKey, { ...before, ...shown, labels: changeLabels(before.labels, patch) } as TaskDetail)
      return { before }
    },
    onSuccess: (sent, patch) => {
      if (!sent) return
      const { data, changeId } = sent
      const { version } = data
      cache.setQueryData(queryKey, (now) => now && { ...now, version })
      if (!changeId) return
      const title = words.changed(task.key, descriptions.get(patch))
      offerUndo(title, changeId, { id: task.id, version })
      set({ right: words.undoable(title, spokenKeys('$mod+z')) })
    },
    onError: (error, _patch, context) => {
      const shown = error instanceof EditConflict ? error.theirs : context?.before
      if (shown) cache.setQueryData(queryKey, shown)
    },
    onSettled: (sent, error) => (sent || error) && refresh(cache, task),
  })
}

const refresh = (cache: QueryClient, task: TaskDetail) =>
  Promise.all([
    cache.invalidateQueries({ queryKey: ['task', task.key] }),
    cache.invalidateQueries({ queryKey: ['tasks', task.projectId] }),
    cache.invalidateQueries({ queryKey: ['at work'] }),
  ])

/** `take` assigns the task to oneself, which moves the lease. */
export type TaskAct = 'claim' | 'release' | 'take' | { complete: TaskComplete }

export function useTaskAct(task: TaskDetail) {
  const cache = useQueryClient()
  const one = tasks.tasks({ id: task.id })
  const acts: Record<Exclude<TaskAct, object>, () => Promise<unknown>> = {
    claim: () => ok(one.claim.post({}, writeOptions())),
    release: () => ok(one.release.post({}, writeOptions())),
    take: () => ok(one.patch({ assignee: 'me' }, writeOptions())),
  }
  return useMutation({
    mutationFn: async (act: TaskAct): Promise<void> => {
      await (typeof act === 'object' ? completeTask(cache, task, act.complete) : acts[act]())
    },
    onSettled: () => refreshWithNow(cache, task),
  })
}

export const refreshWithNow = (cache: QueryClient, task: TaskDetail) =>
  Promise.all([refresh(cache, task), cache.invalidateQueries({ queryKey: ['now'] })])

/** Completes a task, and offers to undo that. */
export async function completeTask(cache: QueryClient, task: TaskDetail, how: TaskComplete): Promise<void> {
  const { data, changeId } = await writeNext(
    task.id,
    () => cache.getQueryData(taskQuery(task.key).queryKey)?.version ?? task.version,
    (version) => okUndoable(tasks.tasks({ id: task.id }).complete.post(how, writeOptions(version))),
  )
  offerUndo(words.completed(task.key), changeId, { id: task.id, version: data.version })
}

/** Marks evidence as checked by the reader. */
export function useVerifyEvidence(task: TaskDetail) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (evidenceId: string) =>
      ok(tasks.tasks({ id: task.id }).evidence({ evidenceId }).verify.post({}, writeOptions())),
    onSettled: () => refresh(cache, task),
  })
}

/** Relates the task to another one, or ends that. */
export function useRelateTask(task: TaskDetail) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ other, related }: { other: string; related: boolean }) =>
      ok(
        tasks.tasks({ id: task.id }).relations.post({ task: other, kind: related ? 'relates' : null }, writeOptions()),
      ),
    onSettled: () => refresh(cache, task),
  })
}

/** Deletes the task, and offers to restore it. */
export function useRemoveTask(task: TaskDetail, onGone: () => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async (): Promise<void> => {
      await ok(tasks.tasks({ id: task.id }).delete({}, writeOptions()))
    },
    onSuccess: () => {
      onGone()
      cache.removeQueries({ queryKey: ['task', task.key] })
      offerUndo(words.removed(task.key), async () => {
        const { id, version } = await ok(tasks.tasks({ id: task.id }).restore.post({}, writeOptions()))
        recordWrittenVersion(id, version)
        await refresh(cache, task)
      })
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['tasks', task.projectId] }),
  })
}

export function useCommentTask(task: TaskDetail) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ body, key }: { body: string; key: string }) =>
      sendOrWait(
        () => ok(tasks.tasks({ id: task.id }).comments.post({ body }, writeOptions(undefined, key))),
        (code, attempt) => code.addComment(task, body, attempt),
        key,
      ),
    onSettled: (sent, error) => (sent || error) && refresh(cache, task),
  })
}

type CommentChange = { id: string; body: string } | { id: string; remove: true }

/** Changes or deletes a comment. */
export function useCommentChange(task: TaskDetail) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async (act: CommentChange): Promise<void> => {
      const one = tasks.tasks({ id: task.id }).comments({ commentId: act.id })
      if ('remove' in act) await ok(one.delete({}, writeOptions()))
      else await ok(one.patch({ body: act.body }, writeOptions()))
    },
    onSettled: () => refresh(cache, task),
  })
}
