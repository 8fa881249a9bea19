import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { meQuery } from './account/session.ts'
import { isAway } from './live/state.ts'
import { isProblem } from './problem.ts'
import { signInElsewhere } from './waiting/session-end.ts'

/** Only an unreachable or failing server is asked again, unless the page already knows that it is offline. */
const retry = (failures: number, error: Error): boolean =>
  failures < 2 && !isAway() && isProblem(error) && (error.status === 0 || error.status >= 500)

/**
 * The session has ended and could not be renewed. The sign-in page returns the user here, and says why if they were
 * signed in until now. If edits wait in this tab, it stays open.
 */
export const onSessionEnd = (error: unknown): void => {
  if (!isProblem(error) || error.status !== 401) return
  const signIn = `/login?next=${encodeURIComponent(location.pathname + location.search)}`
  if (signInElsewhere(signIn)) return
  const reason = queryClient.getQueryData(meQuery.queryKey) ? '#error=session_ended' : ''
  location.assign(signIn + reason)
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: onSessionEnd }),
  mutationCache: new MutationCache({ onError: onSessionEnd }),
  defaultOptions: {
    // A browser without a network still reaches a server on the same computer, so every request is tried.
    queries: {
      staleTime: 15_000,
      retry,
      refetchOnWindowFocus: true,
      refetchOnReconnect: true,
      networkMode: 'always',
    },
    // Edits of tasks wait without a network (waiting/). Any other change is refused, and the form keeps its text.
    mutations: { retry: false, networkMode: 'always' },
  },
})
