import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { App } from '../../services.ts'
import { catchUp, followed, PACE } from './indexing.ts'

/** A burst of changes is read together, and not while it is still going on. */
const CALM_MS = 300
const LONGEST_MS = 5000
const AGAIN_MS = 1000
/** For what another instance changed while nobody told us. */
const SWEEP_MS = 60_000

/** Reads what happened, soon after it did: woken by the bus, by a slow clock, and once when the server starts. */
export function follow(app: App): () => Promise<void> {
  const types = new Set(followed(app))
  const stop = new AbortController()
  let timer: Timer | undefined
  let since = 0
  let running: Promise<void> | undefined

  const wake = (ms: number) => {
    if (stop.signal.aborted) return
    const now = performance.now()
    if (timer === undefined) since = now
    clearTimeout(timer)
    timer = setTimeout(look, Math.max(0, Math.min(ms, since + LONGEST_MS - now)))
    timer.unref()
  }
  const look = () => {
    timer = undefined
    if (running) return wake(CALM_MS)
    running = catchUp(contextOf(app, system), { signal: stop.signal, pace: PACE })
      .then(
        (at) => at === 'waiting' && wake(AGAIN_MS),
        (error: unknown) => {
          if (!stop.signal.aborted) app.log.warn('search fell behind, will be tried again', { error })
          wake(LONGEST_MS)
        },
      )
      .then(() => {
        running = undefined
      })
  }

  const unsubscribe = app.bus.subscribe(({ type }) => {
    if (types.has(type)) wake(CALM_MS)
  })
  const sweep = setInterval(() => wake(0), SWEEP_MS)
  sweep.unref()
  wake(CALM_MS)
  return async () => {
    stop.abort()
    unsubscribe()
    clearTimeout(timer)
    clearInterval(sweep)
    await running
  }
}
