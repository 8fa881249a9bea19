import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { isProblem } from './problem.ts'
import { meQuery } from './session.ts'

/** A refusal is final; only a server that is out of reach or failing is asked again. */
const retry = (failures: number, error: Error): boolean =>
  failures < 2 && isProblem(error) && (error.status === 0 || error.status >= 500)

/**
 * Nobody is signed in, and the session could not be renewed: whoever signs in comes back here. The page where they do
 * says why they have to if they were signed in until now.
 */
const onError = (error: Error): void => {
  if (!isProblem(error) || error.status !== 401) return
  const reason = queries.getQueryData(meQuery.queryKey) ? '#error=session_ended' : ''
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}${reason}`)
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
