/** One change of several tasks: shown at once, sent in batches, and undone as a whole. */
import { type QueryClient, type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query'
import type { ChangeProgress } from '../../../features/changes/schema.ts'
import type { GroupedTasks, TaskGroups, TaskPage } from '../../../features/tasks/lists/list-schema.ts'
import type { ChangedMany, ChangeMany } from '../../../features/tasks/many/many-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { changes, newIdempotencyKey, ok, okUndoable, tasks, writeOptions } from '../../api.ts'
import { beginProgress, followChange, stopChange } from '../../change-progress.ts'
import { toast } from '../../components/toasts.tsx'
import { lastWrittenVersion, recordWrittenVersion, writeInTurn } from '../../live/written-versions.ts'
import { isProblem } from '../../problem.ts'
import { offerUndo } from '../../undo.ts'
import { mustWait, sendOrWait, waitAfter } from '../../waiting/send-or-wait.ts'
import { words as common } from '../../words.ts'
import { changeInGroups } from './list/group-queries.ts'
import { moveCard } from './moves.ts'
import type { TaskSelection } from './selection.ts'
import { words } from './words.ts'

export type BatchChange = ChangeMany['change']
type Asked = ChangeMany['tasks'][number]

interface Batch {
  items: readonly TaskItem[]
  change: BatchChange
  /** Describes the change without its tasks: "priority High". */
  said: string
  /** Changes all tasks that match, not only the items, which are loaded. */
  all?: TaskSelection['all']
}

export interface BatchOutcome {
  /** The ids of the changed tasks that the page knows. */
  changed: ReadonlySet<string>
  /** How many tasks were changed. */
  done: number
  /** How many the server refused to change, or did not come to. */
  refused: number
  /** How many may have been changed: the server did not say. */
  unknown: number
  /** The ids of those that wait for the connection. */
  waiting: ReadonlySet<string>
  reasons: string[]
  /** What the toast says: `500 tasks changed`. */
  title: string
  /** The id by which the server undoes what was changed. */
  changeId?: string
}

/** The server takes 200 in one call; fewer keep a call short, and say sooner what was changed. */
const MOST_AT_ONCE = 100

const isLost = (error: unknown): boolean => isProblem(error) && (error.status === 0 || error.status >= 500)

/** Makes one call, and once more for the tasks of which others changed something else meanwhile. */
async function send(asked: Asked[], batch: Batch, changeKey: string) {
  const { data, changeId } = await post(asked, batch.change, changeKey)
  const { items } = data as ChangedMany
  const met = items.filter(({ problem }) => problem?.code === 'version_mismatch')
  const again = (await Promise.all(met.map(({ id }) => askAgain(id, batch)))).filter((one) => one !== undefined)
  if (again.length === 0) return { items, changeId }
  const second = await post(again, batch.change, changeKey)
  const later = new Map((second.data as ChangedMany).items.map((item) => [item.id, item]))
  return { items: items.map((item) => later.get(item.id) ?? item), changeId: changeId ?? second.changeId }
}

/** These fields of a change leave alone what others added. */
const adding: ReadonlySet<string> = new Set(['addLabels', 'removeLabels', 'addBlockedBy', 'removeBlockedBy', 'comment'])

/** Returns the task at its newest version; undefined if others changed one of the wanted fields. */
async function askAgain(id: string, { items, change }: Batch): Promise<Asked | undefined> {
  const shown = items.find((item) => item.id === id)
  const now = await ok(tasks.tasks({ id }).get()).catch(() => undefined)
  if (!shown || !now) return undefined
  const textOf = (task: object, field: string): string | undefined => {
    const value: unknown = Reflect.get(task, field)
    return JSON.stringify(field === 'assignee' ? (value as TaskItem['assignee'])?.id : value)
  }
  const fields = Object.keys(change).filter((field) => !adding.has(field))
  return fields.every((field) => textOf(shown, field) === textOf(now, field)) ? { id, ifMatch: now.version } : undefined
}

/** If no response came, the call is repeated once: its key lets the server continue where it was. */
async function post(some: Asked[], wanted: BatchChange, changeKey: string) {
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

type Announce = (text: string) => void

/** Changes all of them, and ends at the first call that fails as a whole, or when the person stops it. */
async function changeListed(batch: Batch, announce: Announce): Promise<BatchOutcome> {
  // What is shown may still be older than what this page has written, which is no conflict.
  const asked = batch.items.map(({ id, version }) => ({ id, ifMatch: Math.max(version, lastWrittenVersion(id)) }))
  const changed = new Set<string>()
  const waiting = new Set<string>()
  const outcome = { refused: 0, unknown: 0, reasons: [] as string[] }
  let changeId: string | undefined
  let isStopped = false
  const total = asked.length
  const stop = () => {
    isStopped = true
  }
  const progress = beginProgress({ total, title: (done) => words.changing(total, done), announce, onStop: stop })
  // The server undoes all calls with this key as one change.
  const changeKey = newIdempotencyKey()
  for (let from = 0; from < total && !isStopped; from += MOST_AT_ONCE) {
    const some = asked.slice(from, from + MOST_AT_ONCE)
    try {
      const { items, changeId: id } = await send(some, batch, changeKey)
      changeId ??= id
      for (const { id, task, problem } of items) {
        if (task) recordWrittenVersion(id, task.version)
        if (task) changed.add(id)
        if (problem) outcome.reasons.push(problem.detail)
      }
      outcome.refused += items.filter(({ problem }) => problem).length
      progress.advance(from + some.length)
    } catch (error) {
      const rest = batch.items.slice(from)
      if (letWait(error, batch, rest)) {
        for (const { id } of rest) waiting.add(id)
        break
      }
      outcome.unknown = isLost(error) ? some.length : 0
      outcome.refused += total - from - outcome.unknown
      outcome.reasons.push((error as Error).message)
      break
    }
  }
  progress.end()
  const done = changed.size
  const title = describeBatch(batch, changed, done, isStopped)
  return { changed, waiting, done, title, ...outcome, ...(changeId !== undefined && { changeId }) }
}

/** Lets the rest of a batch wait for the connection. Returns false if such a change must not wait, or too many do. */
function letWait(error: unknown, batch: Batch, rest: readonly TaskItem[]): boolean {
  try {
    return waitAfter(error, (code, attempt) => code.editTasks(editOf(batch, rest), attempt))
  } catch {
    return false
  }
}

const editOf = ({ change, said }: Batch, items: readonly TaskItem[]) => ({ tasks: items, patch: change, said })

/** Lets a job of the server change all tasks that match. */
async function changeMatching(
  { where, count: total }: NonNullable<TaskSelection['all']>,
  batch: Batch,
  announce: Announce,
): Promise<BatchOutcome> {
  const { comment: _, ...change } = batch.change
  const begun = await ok(changes.tasks.batch.post({ where, expect: total, change }, writeOptions()))
  const { id } = begun as ChangeProgress
  const onStop = () => void stopChange(id).catch(() => undefined)
  const progress = beginProgress({ total, title: (done) => words.changing(total, done), announce, onStop })
  try {
    const end = await followChange(id, ({ done, refused }) => progress.advance(done + refused))
    const { done, refused, problems, stoppedBecause, state } = end
    const title = describeBatch(batch, new Set(), done, state === 'stopped')
    const reasons = [...(stoppedBecause ? [stoppedBecause] : []), ...problems.map(({ detail }) => detail)]
    return { changed: new Set(), waiting: new Set(), done, refused, unknown: 0, reasons, title, changeId: id }
  } finally {
    progress.end()
  }
}

interface Report {
  announce: Announce
  told(outcome: BatchOutcome): void
}

/** Makes one change to several tasks: shown at once where the page knows how it will look. */
export function useBatchChange(projectId: string, { announce, told }: Report) {
  const cache = useQueryClient()
  const queryKey = ['tasks', projectId]
  return useMutation({
    // One after the other.
    scope: { id: `batch ${projectId}` },
    mutationFn: (batch: Batch): Promise<BatchOutcome | undefined> => {
      const { all, items } = batch
      if (all && !mustWait()) return changeMatching(all, batch, announce)
      const ids = items.map(({ id }) => id)
      return sendOrWait(
        () => writeInTurn(ids, () => changeListed(batch, announce)),
        (code, attempt) => {
          if (all) throw new Error(common.needsConnection)
          code.editTasks(editOf(batch, items), attempt)
        },
      )
    },
    onMutate: async ({ items, change: wanted }) => {
      if (mustWait()) return { before: [] }
      await cache.cancelQueries({ queryKey })
      const before = cache.getQueriesData({ queryKey })
      showAtOnce(cache, projectId, new Set(items.map(({ id }) => id)), wanted)
      return { before }
    },
    onSuccess: (outcome, { items, change: wanted, all, said }, { before }) => {
      if (!outcome) return announce(`${words.changedTo(words.n(items.length), said)}: ${common.notSent}`)
      const shown = outcome.changed.union(outcome.waiting)
      if (!all && shown.size < items.length) {
        putBack(cache, before)
        showAtOnce(cache, projectId, shown, wanted)
      }
      if (outcome.done > 0) offerUndo(outcome.title, outcome.changeId)
      told(outcome)
    },
    onError: (error, _batch, context) => {
      if (context) putBack(cache, context.before)
      toast({ title: words.nothingChanged, text: error.message, bad: true })
    },
    onSettled: (outcome, error) =>
      (outcome || error) &&
      Promise.all([queryKey, ['task'], ['at work']].map((key) => cache.invalidateQueries({ queryKey: key }))),
  })
}

/** Returns what was changed: "3 tasks: priority High", or how many if not all were. */
const describeBatch = ({ items, said, all }: Batch, changed: ReadonlySet<string>, done: number, isStopped: boolean) => {
  if (isStopped) return words.changedOf(done, all?.count ?? items.length)
  const only = done === 1 ? items.find(({ id }) => changed.has(id)) : undefined
  return words.changedTo(only?.key ?? words.n(done), said)
}

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
