/**
 * Components that are loaded when they are needed. While the server is unreachable they wait for it: a dialog or a
 * message that cannot be loaded must not break the page around it.
 */
import { type ComponentType, type LazyExoticComponent, lazy as lazyOnce } from 'react'

const AGAIN = 2000

/** React's `lazy`, but it waits for the server. It fails only if a reachable server does not have the script. */
// biome-ignore lint/suspicious/noExplicitAny: React's own type says so.
export const lazy = <C extends ComponentType<any>>(load: () => Promise<{ default: C }>): LazyExoticComponent<C> =>
  lazyOnce(() => loadWhenReachable(load))

const waiting = new Set<() => void>()
/** Requests the scripts again that could not be loaded. */
export const retryScripts = (): void => {
  for (const resume of [...waiting]) resume()
}

export async function loadWhenReachable<T>(load: () => Promise<T>): Promise<T> {
  for (let wasThere = false; ; ) {
    try {
      return await load()
    } catch (error) {
      // The server may have come back between the two requests, so the script is requested once more.
      if (wasThere) throw error
      wasThere = await isServerReachable()
      if (!wasThere) await pause()
    }
  }
}

const pause = (): Promise<void> =>
  new Promise((resolve) => {
    const resume = () => {
      clearTimeout(timer)
      waiting.delete(resume)
      resolve()
    }
    const timer = setTimeout(resume, AGAIN)
    waiting.add(resume)
  })

const isServerReachable = (): Promise<boolean> =>
  fetch('/health/live').then(
    ({ ok }) => ok,
    () => false,
  )
