/** The queries of the page on screen, apart from those of the frame around it. */
import { queryClient } from '../query-client.ts'

/** Queries of the frame, which are active whatever the page is. */
const ofFrame = new Set<unknown>(['me', 'teams', 'current team', 'frame', 'projects', 'notifications', 'at work'])

export const pageQueries = () =>
  queryClient
    .getQueryCache()
    .findAll({ type: 'active', predicate: ({ queryKey: [name] }) => !ofFrame.has(name) })
    .map(({ state }) => state)

/** Calls the function when a query has failed or has been loaded, until the returned function is called. */
export const onQuerySettled = (run: () => void): (() => void) =>
  queryClient.getQueryCache().subscribe((event) => {
    if (event.type === 'updated' && (event.action.type === 'error' || event.action.type === 'success')) run()
    if (event.type === 'observerAdded' || event.type === 'observerRemoved') run()
  })
