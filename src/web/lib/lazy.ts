/**
 * Components that are loaded when they are needed. While the server is unreachable they wait for it: a dialog or a
 * message that cannot be loaded must not break the page around it.
 */
import { lazyRouteComponent } from '@tanstack/react-router'
import { type ComponentType, type LazyExoticComponent, lazy as lazyOnce } from 'react'

const AGAIN = 2000

/** React's `lazy`, but it waits for the server. It fails only if a reachable server does not have the script. */
// biome-ignore lint/suspicious/noExplicitAny: React's own type says so.
export const lazy = <C extends ComponentType<any>>(load: () => Promise<{ default: C }>): LazyExoticComponent<C> =>
  lazyOnce(() => loadWhenReachable(load))

/**
 * The router's `lazyRouteComponent`, but it waits for the server. By itself it reloads the document if a script is
 * missing: right after an upgrade, but without a connection that ends on an error page of the browser.
 */
export const lazyPage: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(() => loadWhenReachable(load), name)

async function loadWhenReachable<T>(load: () => Promise<T>): Promise<T> {
  for (let wasThere = false; ; ) {
    try {
      return await load()
    } catch (error) {
      // The server may have come back between the two requests, so the script is requested once more.
      if (wasThere) throw error
      wasThere = await isServerReachable()
      if (!wasThere) await new Promise((resume) => setTimeout(resume, AGAIN))
    }
  }
}

const isServerReachable = (): Promise<boolean> =>
  fetch('/health/live').then(
    ({ ok }) => ok,
    () => false,
  )
