import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { isProblem } from './problem.ts'

/** A refusal is final; only a server that is out of reach or failing is asked again. */
const retry = (failures: number, error: Error): boolean =>
  failures < 2 && isProblem(error) && (error.status === 0 || error.status >= 500)

/** The session ended while the page was open, and could not be renewed: whoever signs in again comes back here. */
const onError = (error: Error): void => {
  if (isProblem(error) && error.status === 401)
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`)
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: { staleTime: 15_000, retry, refetchOnWindowFocus: true },
    // Without a network a change is refused at once, and the form keeps its text.
    mutations: { retry: false, networkMode: 'always' },
  },
})
