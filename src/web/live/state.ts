/** The state of the live connection, which the frame and waiting changes follow. */
import { createStore } from '../lib/store.ts'

export type LiveState = 'joining' | 'hub' | 'stream' | 'polling' | 'away'

const state = createStore<LiveState>('joining')
const lostAt = createStore<number | undefined>(undefined)
const liveListeners = new Set<() => void>()

export const useLiveState = state.use
/** When the connection was lost; undefined while there is one. */
export const useLostAt = lostAt.use
/** Events arrive, whichever way. */
export const isLive = (): boolean => state.get() !== 'joining' && !isAway()
export const isAway = (): boolean => state.get() === 'away'
export const useIsAway = (): boolean => state.use() === 'away'

export function setLiveState(next: LiveState): void {
  const wasAway = isAway()
  lostAt.set(next === 'away' ? (lostAt.get() ?? Date.now()) : undefined)
  state.set(next)
  if (wasAway && next !== 'away') for (const run of [...liveListeners]) run()
}

/** Calls the function each time the connection is back, until the returned function is called. */
export function onLiveAgain(run: () => void): () => void {
  liveListeners.add(run)
  return () => void liveListeners.delete(run)
}

let cursor: string | undefined
/** The place in the events up to which the page knows everything; undefined before its first data. */
export const lastCursor = (): string | undefined => cursor
/** The first comes with the data of the frame: events between that answer and the connection are not lost. */
export const setLastCursor = (next: string): void => {
  cursor = next
}

let reconnect = (): void => undefined
let check = (): void => undefined
/** The connection says how to try at once, and how to find out whether it is still there. */
export const setReconnect = (run: () => void, runCheck: () => void): void => {
  reconnect = run
  check = runCheck
}
/** Finds out whether the server can still be reached: a request got no response. */
export const checkConnection = (): void => check()
/** Tries to reconnect at once, instead of waiting for the next attempt. */
export const reconnectNow = (): void => reconnect()
