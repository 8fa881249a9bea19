/**
 * Undo. The server undoes changes of tasks, so ⌘Z also works after a reload; for other records, each change registers a
 * function that writes the former value back. ⌘Z undoes the newest change, and so does the button of its toast.
 */
import type { Undone } from '../features/changes/schema.ts'
import { changes, ok, writeOptions } from './api.ts'
import { beginProgress, followChange } from './change-progress.ts'
import type { ToastText } from './components/toast-list.tsx'
import { toast } from './components/toasts.tsx'
import { isProblem, isTemporary } from './problem.ts'
import { queryClient } from './query-client.ts'
import { words } from './words.ts'

interface UndoEntry {
  title: string
  at: number
  /** Returns what could not be undone, with the reasons. */
  undo(): Promise<unknown>
}

/** The id by which the server undoes a change; undefined if it did not say, because its answer was lost. */
type ChangeId = string | undefined

/** How many changes can be undone. */
const MOST = 20
/** The server has the same limit for changes before a reload. */
const RECENT_MS = 10 * 60_000
const done: UndoEntry[] = []

/** Shows a toast that undoes the last change: `offerUndo('LAN-42 completed', changeId)`. */
export function offerUndo(title: string, undo: UndoEntry['undo'] | ChangeId, about?: ToastText['about']): void {
  const one = rememberUndo(title, undo)
  toast({ title, about, action: { label: words.keys.undo, run: () => void undoChange(one) } })
}

/** Lets ⌘Z undo the last change, without a toast: for changes that the page itself shows well. */
export function rememberUndo(title: string, undo: UndoEntry['undo'] | ChangeId): UndoEntry {
  const one = { title, at: Date.now(), undo: typeof undo === 'function' ? undo : () => undoOnServer(undo) }
  done.push(one)
  done.splice(0, done.length - MOST)
  return one
}

/** Undoes the newest change. Waits for one that is on its way to the server. */
export async function undoLast(): Promise<void> {
  await waitForMutations()
  const last = done.findLast(({ at }) => Date.now() - at < RECENT_MS)
  if (last) return undoChange(last)
  const before = await newestOnServer().catch(() => undefined)
  if (before) await undoChange(rememberUndo(before.label, before.id))
}

const newestOnServer = async () => (await ok(changes.changes.get({ query: { recent: true, limit: 1 } }))).items[0]

export class NothingToUndo extends Error {
  override message = words.nothingToUndo
}

export async function undoOnServer(id: ChangeId): Promise<string | undefined> {
  const wanted = id ?? (await newestOnServer())?.id
  if (!wanted) throw new NothingToUndo()
  const { kept } = await undoWhole(wanted)
  await refreshTasks()
  return kept.length > 0 ? kept.slice(0, 3).map(describeKept).join(' ') : undefined
}

/** A job undoes a change of many tasks: its outcome is known once the job has ended. */
async function undoWhole(id: string): Promise<Undone> {
  const undo = () => ok(changes.changes({ id }).undo.post({}, writeOptions()))
  const begun = await undo()
  if (begun.state !== 'undoing') return begun
  const { tasks: total, label } = begun
  const progress = beginProgress({ total, title: (done) => words.undoing(label, done, total) })
  try {
    await followChange(id, ({ restored }) => progress.advance(restored))
    return await undo()
  } finally {
    progress.end()
  }
}

/** The queries that show tasks. */
const shown = ['task', 'tasks', 'at work', 'now', 'newest']
export const refreshTasks = () => Promise.all(shown.map((key) => queryClient.invalidateQueries({ queryKey: [key] })))

const describeKept = ({ key, reason }: Undone['kept'][number]): string => (key ? `${key}: ${reason}` : reason)

const waitForMutations = (): Promise<void> =>
  new Promise((resolve) => {
    const check = () => {
      if (queryClient.isMutating() > 0) return
      stop()
      resolve()
    }
    const stop = queryClient.getMutationCache().subscribe(check)
    check()
  })

/** A change that can never be undone must not keep ⌘Z from those before it. */
const isRefused = (error: unknown): boolean =>
  error instanceof NothingToUndo || (isProblem(error) && !isTemporary(error))

async function undoChange(one: UndoEntry): Promise<void> {
  const place = done.indexOf(one)
  if (place < 0) return
  done.splice(place, 1)
  try {
    const kept = await one.undo()
    toast({ title: words.undone(one.title), text: typeof kept === 'string' ? kept : undefined })
  } catch (error) {
    if (!isRefused(error)) done.splice(done.findLastIndex(({ at }) => at <= one.at) + 1, 0, one)
    toast({ title: words.notUndone(one.title), text: error instanceof Error ? error.message : undefined, bad: true })
  }
}
