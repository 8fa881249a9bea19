/**
 * Undoing field changes: whoever changes something says how to write the former value back. The newest is undone by ⌘Z,
 * or by the button of its message.
 */
import { toast } from './components/toasts.tsx'
import { queries } from './queries.ts'
import { words } from './words.ts'

interface Done {
  title: string
  undo(): Promise<unknown>
}

/** How many changes can be undone. */
const MOST = 20
const done: Done[] = []

/** Offers to undo what was just done: `offerUndo('LAN-42 is done', () => patch({ status: before }))`. */
export function offerUndo(title: string, undo: () => Promise<unknown>): void {
  const one = rememberUndo(title, undo)
  toast({ title, action: { label: words.keys.undo, run: () => void run(one) } })
}

/** Lets ⌘Z undo what was just done, without a message: for changes that the page itself shows well. */
export function rememberUndo(title: string, undo: () => Promise<unknown>): Done {
  const one = { title, undo }
  done.push(one)
  done.splice(0, done.length - MOST)
  return one
}

/** Undoes the newest change that was not undone yet. One that is on its way to the server is the newest. */
export async function undoLast(): Promise<void> {
  await settled()
  const last = done.at(-1)
  if (last) await run(last)
}

/** Resolves when no change is on its way. */
const settled = (): Promise<void> =>
  new Promise((resolve) => {
    const check = () => {
      if (queries.isMutating() > 0) return
      stop()
      resolve()
    }
    const stop = queries.getMutationCache().subscribe(check)
    check()
  })

async function run(one: Done): Promise<void> {
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
