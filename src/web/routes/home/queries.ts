import { queryOptions } from '@tanstack/react-query'
import type { Preferences } from '../../../features/users/schema.ts'
import { homes, ok, onboarding } from '../../api.ts'
import { isLive } from '../../live/state.ts'

/** The reader's day began at their midnight, not at the server's. */
const midnight = (): string => new Date(new Date().setHours(0, 0, 0, 0)).toISOString()

export const homeQuery = (team: string) =>
  queryOptions({
    queryKey: ['home', team],
    queryFn: () => ok(homes.home.get({ query: { since: midnight() } })),
  })

/** Events of tokens and tasks load the steps again; they are polled only until the page is live. */
export const stepsQuery = queryOptions({
  queryKey: ['onboarding'],
  queryFn: () => ok(onboarding.onboarding.get()),
  refetchInterval: () => (isLive() ? false : 3000),
})

/** Whether the home page begins with the first steps. Without a choice: in a team with at most one project. */
export const showsSteps = (
  choice: Preferences['firstSteps'],
  projects: number | undefined,
  allDone: boolean,
): boolean => choice === 'on' || (choice !== 'off' && projects !== undefined && projects <= 1 && !allDone)
