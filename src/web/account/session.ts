/** Who is signed in, and the team of this tab with its people, agents and projects. */
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { accounts, agents, homes, notifications, ok, organizations, projects, setRequestTeam, tasks } from '../api.ts'
import { setLastCursor } from '../live/state.ts'
import { Problem } from '../problem.ts'

const QUARTER_HOUR = 15 * 60_000

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: () => ok(accounts.auth.me.get()),
  staleTime: QUARTER_HOUR,
})

export const teamsQuery = queryOptions({
  queryKey: ['teams'],
  queryFn: async () => (await ok(organizations.teams.get({ query: { limit: 200, sort: 'name', order: 'asc' } }))).items,
  staleTime: QUARTER_HOUR,
})

export const currentTeamQuery = queryOptions({
  queryKey: ['current team'],
  queryFn: () => ok(organizations.team.get()),
  staleTime: QUARTER_HOUR,
})

/** Members and agents are loaded once and looked up by id, so records need not contain their names. */
export const membersQuery = (team: string) =>
  queryOptions({
    queryKey: ['members', team],
    queryFn: async () => (await ok(organizations.teams({ id: team }).members.get({ query: { limit: 200 } }))).items,
    staleTime: QUARTER_HOUR,
  })

export const agentsQuery = (team: string) =>
  queryOptions({
    queryKey: ['agents', team],
    queryFn: async () => (await ok(agents.agents.get({ query: { limit: 200 } }))).items,
    staleTime: QUARTER_HOUR,
  })

export const projectsQuery = (team: string) =>
  queryOptions({
    queryKey: ['projects', team],
    queryFn: async () => (await ok(projects.projects.get({ query: { limit: 200, sort: 'name', order: 'asc' } }))).items,
  })

export const inboxCountQuery = queryOptions({
  queryKey: ['notifications', 'count'],
  queryFn: () => ok(notifications.notifications.count.get()),
})

export const favouritesQuery = queryOptions({
  queryKey: ['favourites'],
  queryFn: async () => (await ok(homes.favourites.get())).items,
})

/** Whether a record is a favourite of the reader. */
export const isFavourite = (cache: QueryClient, id: string | null | undefined): boolean =>
  id != null && cache.getQueryData(meQuery.queryKey)?.preferences.favourites?.includes(id) === true

/** The open tasks of the reader in the team. Its key begins like that of lists of tasks, which events make stale. */
export const myTaskCountQuery = (team: string) =>
  queryOptions({
    queryKey: ['tasks', 'mine', team],
    queryFn: async () => {
      const query = { assignee: 'me', open: true, limit: 1, total: true }
      return ((await ok(tasks.tasks.get({ query }))) as { total?: number }).total ?? 0
    },
  })

/** Loads the data of the frame in one request, unless it is loaded already. */
export async function loadFrame(cache: QueryClient, slug: string | undefined): Promise<void> {
  if (cache.getQueryData(meQuery.queryKey)) return
  const frame = await cache.fetchQuery({
    queryKey: ['frame', slug],
    queryFn: async () => {
      const answer = await homes.frame.get({ query: slug === undefined ? {} : { team: slug } })
      const found = await ok(Promise.resolve(answer))
      const cursor = answer.response.headers.get('x-event-cursor')
      if (cursor) setLastCursor(cursor)
      return found
    },
  })
  cache.setQueryData(meQuery.queryKey, frame.me)
  cache.setQueryData(teamsQuery.queryKey, frame.teams)
  if (slug === undefined) cache.setQueryData(currentTeamQuery.queryKey, frame.team)
  cache.setQueryData(projectsQuery(frame.team.id).queryKey, frame.projects)
  cache.setQueryData(inboxCountQuery.queryKey, frame.notifications)
  cache.setQueryData(favouritesQuery.queryKey, frame.favourites)
  cache.setQueryData(myTaskCountQuery(frame.team.id).queryKey, frame.myTasks)
}

export type Me = Awaited<ReturnType<NonNullable<typeof meQuery.queryFn>>>
export interface Team {
  id: string
  slug: string
}

/**
 * Chooses the team that the address names, else the current one, and sends it with every request from then on. Project
 * slugs and task keys are unique only within a team, so the data of another team is dropped.
 */
export async function chooseTeam(
  slug: string | undefined,
  load: { teams: () => Promise<Team[]>; current: () => Promise<Team>; forget: () => void },
): Promise<Team> {
  const named = slug === undefined ? undefined : (await load.teams()).find((team) => team.slug === slug)
  if (slug !== undefined && !named)
    throw new Problem(404, { detail: 'This team does not exist, or you are not a member.', code: 'not_found' })
  const team = named ?? (await load.current())
  if (setRequestTeam(team.id)) load.forget()
  return team
}
