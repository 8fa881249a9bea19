/** The claimed tasks with their leases: one list for the sidebar, the cards and the rows. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useLocation, useRouteContext } from '@tanstack/react-router'
import type { TaskPage } from '../features/tasks/lists/list-schema.ts'
import type { TaskItem } from '../features/tasks/schema.ts'
import { ok, tasks } from './api.ts'
import { homeQuery } from './routes/home/queries.ts'

/** A call of the holder extends the lease without an event, so the list is also polled. */
const ASK_EVERY = 60_000

const claimedTasksQuery = (team: string) =>
  queryOptions({
    queryKey: ['at work', team],
    queryFn: async () => ((await ok(tasks.tasks.get({ query: { leased: true, limit: 60 } }))) as TaskPage).items,
    refetchInterval: ASK_EVERY,
  })

/** Returns the claimed tasks; undefined until they are loaded. */
export function useClaimedTasks(): readonly TaskItem[] | undefined {
  const { team } = useRouteContext({ from: '/inside' })
  // The home page has loaded them already.
  const isHome = useLocation({ select: ({ pathname }) => pathname === '/' })
  const home = useQuery({ ...homeQuery(team.id), enabled: isHome }).data
  const listed = useQuery({ ...claimedTasksQuery(team.id), enabled: !isHome }).data
  return isHome ? home?.atWork : listed
}

/** Returns the lease of a task, with the last change of its holder; undefined until it is loaded. */
export const useTaskLease = (taskId: string): TaskItem['lease'] | undefined =>
  useClaimedTasks()?.find(({ id }) => id === taskId)?.lease
