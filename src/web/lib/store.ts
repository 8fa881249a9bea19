/** A value outside of React that components subscribe to. */
import { useSyncExternalStore } from 'react'

interface Store<T> {
  get(): T
  set(value: T): void
  use(): T
}

export function createStore<T>(value: T): Store<T> {
  const listeners = new Set<() => void>()
  const subscribe = (tell: () => void) => {
    listeners.add(tell)
    return () => listeners.delete(tell)
  }
  const get = () => value
  return {
    get,
    set: (next) => {
      if (Object.is(next, value)) return
      value = next
      for (const tell of [...listeners]) tell()
    },
    use: () => useSyncExternalStore(subscribe, get),
  }
}
