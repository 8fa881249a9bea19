/**
 * Undo of field changes. Each change registers a function that writes the former value back. ⌘Z undoes the newest
 * change, and so does the button of its toast.
 */
import { toast } from './components/toasts.tsx'
import { queryClient } from './query-client.ts'
import { words } from './words.ts'

interface UndoEntry {
  title: string
  undo(): Promise<unknown>
}

/** How many changes can be undone. */
const MOST = 20
const done: UndoEntry[] = []

/** Shows a toast that undoes the last change: `offerUndo('LAN-42 is done', () => patch({ status: before }))`. */
export function offerUndo(title: string, undo: () => Promise<unknown>): void {
  const one = rememberUndo(title, undo)
  toast({ title, action: { label: words.keys.undo, run: () => void undoChange(one) } })
}

/** Lets ⌘Z undo the last change, without a toast: for changes that the page itself shows well. */
export function rememberUndo(title: string, undo: () => Promise<unknown>): UndoEntry {
  const one = { title, undo }
  done.push(one)
  done.splice(0, done.length - MOST)
  return one
}

/** Undoes the newest change. Waits for one that is on its way to the server. */
export async function undoLast(): Promise<void> {
  await waitForMutations()
  const last = done.at(-1)
  if (last) await undoChange(last)
}

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

async function undoChange(one: UndoEntry): Promise<void> {
  const place = done.indexOf(one)
  if (place < 0) return
  done.splice(place, 1)
  try {
    await one.undo()
    toast({ title: words.undone(one.title) })
  } catch (error) {
    toast({ title: words.notUndone(one.title), text: error instanceof Error ? error.message : undefined, bad: true })
  }
}
