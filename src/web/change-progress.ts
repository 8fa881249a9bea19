/** Shows how far a change of many tasks is: a toast that stays, with a button that stops it. */
import type { ChangeProgress } from '../features/changes/schema.ts'
import { changes, newIdempotencyKey, ok, writeOptions } from './api.ts'
import { closeToast, toast } from './components/toasts.tsx'
import { onRecordEvent } from './live/record-events.ts'
import { isLive } from './live/state.ts'
import { isUnreachable } from './problem.ts'
import { words } from './words.ts'

/** A change that ends sooner shows no progress. */
const DELAY_MS = 100
const POLL_MS = 400
/** While events arrive, one request in so many polls finds the end of a change whose last event was missed. */
const POLLS_SKIPPED = 25
/** Progress is announced to screen readers after each quarter. */
const QUARTERS = 4

interface Progress {
  advance(done: number): void
  end(): void
}

interface Options {
  total: number
  /** What the toast says: `Changing 500 tasks · 120 done`. */
  title(done: number): string
  announce?(text: string): void
  onStop?(): void
}

export function beginProgress({ total, title, announce, onStop }: Options): Progress {
  const id = newIdempotencyKey()
  let [done, quarter, isShown] = [0, 0, false]
  const show = () => {
    isShown = true
    toast({
      id,
      title: title(done),
      progress: done / total,
      stays: true,
      ...(onStop && { action: { label: words.stop, run: onStop } }),
    })
  }
  const timer = setTimeout(show, DELAY_MS)
  return {
    advance: (n) => {
      done = n
      if (isShown) show()
      const next = Math.floor((QUARTERS * n) / total)
      if (next > quarter && n < total) announce?.(title(n))
      quarter = next
    },
    end: () => {
      clearTimeout(timer)
      if (isShown) closeToast(id)
    },
  }
}

type Counts = Pick<ChangeProgress, 'done' | 'refused' | 'restored'>

/** Waits until the job of a change, or of its undo, has ended. Its events say how far it is; without them, it polls. */
export async function followChange(id: string, onProgress: (now: Counts) => void): Promise<ChangeProgress> {
  let wake = (): void => undefined
  const leave = onRecordEvent(id, ({ data }) => {
    const { state, done = 0, refused = 0, restored = 0 } = (data ?? {}) as Partial<Counts> & { state?: string }
    onProgress({ done, refused, restored })
    if (state !== 'running' && state !== 'undoing') wake()
  })
  let polls = 0
  const timer = setInterval(() => void (isLive() && ++polls % POLLS_SKIPPED > 0 ? undefined : wake()), POLL_MS)
  try {
    for (;;) {
      const news = new Promise<void>((resolve) => {
        wake = resolve
      })
      const now = await ok(changes.changes({ id }).get()).catch((error: unknown) => {
        // The job on the server does not stop, so this waits for the connection.
        if (!isUnreachable(error)) throw error
      })
      if (now) onProgress(now)
      if (now && !now.running) return now
      await news
    }
  } finally {
    clearInterval(timer)
    leave()
  }
}

export const stopChange = (id: string): Promise<ChangeProgress> =>
  ok(changes.changes({ id }).stop.post({}, writeOptions()))
