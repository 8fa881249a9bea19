/**
 * Keeps what is on screen up to date. Each event names a kind of record; the queries that show this kind are asked
 * again. The table below is the only place that knows which queries show what.
 */
import { useSyncExternalStore } from 'react'
import { queries } from './queries.ts'

export type LiveState = 'hub' | 'polling' | 'away'

/** The first words of the keys of queries that show records of a kind. */
const shownBy: Record<string, readonly string[]> = {
  task: ['tasks', 'task'],
  project: ['projects'],
  notification: ['notifications'],
  member: ['members'],
  agent: ['agents'],
}

/** Asks again for what an event of this type has changed. */
export function heard(type: string): void {
  const [kind = ''] = type.split('.')
  for (const key of shownBy[kind] ?? []) void queries.invalidateQueries({ queryKey: [key] })
}

let state: LiveState = 'polling'
const listeners = new Set<() => void>()
export function setLiveState(next: LiveState): void {
  if (next === state) return
  state = next
  for (const tell of listeners) tell()
}
const subscribe = (tell: () => void) => {
  listeners.add(tell)
  return () => listeners.delete(tell)
}
export const useLiveState = (): LiveState => useSyncExternalStore(subscribe, () => state)
