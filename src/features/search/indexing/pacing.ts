import type { Burst } from './burst.ts'

/** Uses at most a tenth of the database's time, because requests come first. */
export const PACE = 9
/**
 * Uses at most a quarter of it for recent changes, because their authors may search for them next; a tenth in a burst.
 */
export const FRESH_PACE = 3

/** `pace`: the pause after each step, as a multiple of the step's duration. */
export interface Pacing {
  signal?: AbortSignal
  pace?: number
  burst?: Burst
}

export async function runPaced<T>({ signal, pace = 0, burst }: Pacing, work: () => Promise<T>): Promise<T> {
  const started = performance.now()
  const done = await work()
  const { promise, resolve } = Promise.withResolvers<void>()
  const pause = (performance.now() - started) * (burst?.isOn ? PACE : pace)
  const timer = setTimeout(resolve, Math.min(2000, pause))
  signal?.addEventListener('abort', () => resolve(), { once: true })
  await promise
  clearTimeout(timer)
  return done
}
