import { contextOf } from '../../../action.ts'
import { system } from '../../../auth/actor.ts'
import type { App } from '../../../services.ts'
import { burstOf } from './burst.ts'
import { catchUp, followedEvents } from './indexing.ts'
import { FRESH_PACE, PACE } from './pacing.ts'
import { renewTexts } from './renewal.ts'

/** Waits this long after the last change, so that a burst of changes is indexed together. */
const CALM_MS = 300
const LONGEST_MS = 1000
/** How long a burst can delay indexing. */
const BURST_MS = 10_000
const AFTER_FAILURE_MS = 5000
const AGAIN_MS = 1000
/** Finds changes by other instances that this one was not notified of. */
const SWEEP_MS = 60_000

/** Runs beside the indexing of changes, which does not wait for it. A failed attempt is repeated at the next sweep. */
function renewalOf(app: App, signal: AbortSignal) {
  let isDone = false
  let running: Promise<void> | undefined
  const run = async (): Promise<void> => {
    try {
      await renewTexts(contextOf(app, system), { signal, pace: PACE })
      isDone = true
    } catch (error) {
      if (!signal.aborted) app.log.warn('search texts could not be updated, will retry', { error })
    }
    running = undefined
  }
  return {
    try: () => {
      if (!isDone) running ??= run()
    },
    ended: () => running,
  }
}

/** Indexes changes soon after they happen: on events of the bus, on a slow timer, and once at startup. */
export function followChanges(app: App): () => Promise<void> {
  const types = new Set(followedEvents(app))
  const burst = burstOf(app)
  const stop = new AbortController()
  let timer: Timer | undefined
  let since = 0
  let running: Promise<void> | undefined
  const renewal = renewalOf(app, stop.signal)

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
    renewal.try()
    running = burst
      .whenOver({ longest: BURST_MS, signal: stop.signal })
      .then(() => catchUp(contextOf(app, system), { signal: stop.signal, pace: FRESH_PACE, burst }))
      .then(
        (at) => at === 'waiting' && wake(AGAIN_MS),
        (error: unknown) => {
          if (!stop.signal.aborted) app.log.warn('search indexing failed, will retry', { error })
          wake(AFTER_FAILURE_MS)
        },
      )
      .then(() => {
        running = undefined
      })
  }

  const unsubscribe = app.bus.subscribe(({ type }) => {
    if (!types.has(type)) return
    burst.noteChange()
    wake(CALM_MS)
  })
  const sweep = setInterval(() => wake(0), SWEEP_MS)
  sweep.unref()
  wake(CALM_MS)
  return async () => {
    stop.abort()
    unsubscribe()
    clearTimeout(timer)
    clearInterval(sweep)
    await Promise.all([running, renewal.ended()])
  }
}
