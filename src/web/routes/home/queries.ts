import { queryOptions } from '@tanstack/react-query'
import { homes, ok, onboarding } from '../../api.ts'

/** The reader's day began at their midnight, not at the server's. */
const midnight = (): string => new Date(new Date().setHours(0, 0, 0, 0)).toISOString()

export const homeQuery = (team: string) =>
  queryOptions({
    queryKey: ['home', team],
    queryFn: () => ok(homes.home.get({ query: { since: midnight() } })),
  })

export const stepsQuery = queryOptions({
  queryKey: ['onboarding'],
  queryFn: async () => (await ok(onboarding.onboarding.get())).steps,
})
