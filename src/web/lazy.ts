/**
 * Parts of a page that are loaded when they are needed. While the server is out of reach they wait for it: a dialog or
 * a message that is missing must not break the page around it, just when something is to be told.
 */
import { lazyRouteComponent } from '@tanstack/react-router'
import { type ComponentType, type LazyExoticComponent, lazy as lazyOnce } from 'react'

const AGAIN = 2000

/** React's `lazy`, but patient. Only a server that is there without the script is a failure. */
// biome-ignore lint/suspicious/noExplicitAny: React's own type says so.
export const lazy = <C extends ComponentType<any>>(load: () => Promise<{ default: C }>): LazyExoticComponent<C> =>
  lazyOnce(() => onceThere(load))

/**
 * The router's own, but patient. It would load the document again if a script is missing, which after an upgrade is
 * right, but without a connection ends on an error page of the browser.
 */
export const lazyPage: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => onceThere(load), name)

async function onceThere<T>(load: () => Promise<T>): Promise<T> {
  for (let wasThere = false; ; ) {
    try {
      return await load()
    } catch (error) {
      // It may have come back between the two questions, so it is asked for the script once more.
      if (wasThere) throw error
      wasThere = await isServerThere()
      if (!wasThere) await new Promise((resume) => setTimeout(resume, AGAIN))
    }
  }
}

const isServerThere = (): Promise<boolean> =>
  fetch('/health/live').then(
    ({ ok }) => ok,
    () => false,
  )
