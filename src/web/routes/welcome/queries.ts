import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { ok, onboarding, organizations, projects, writeOptions } from '../../api.ts'

export const onboardingQuery = queryOptions({
  queryKey: ['onboarding'],
  queryFn: () => ok(onboarding.onboarding.get()),
})

/** The first team ends the onboarding, which happens once; further teams are created like any other. */
export function useCreateTeam(isFirst: boolean) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async ({ name, key }: { name: string; key: string }) =>
      isFirst
        ? (await ok(onboarding.onboarding.post({ organization: { name } }, writeOptions(undefined, key)))).organization
        : ok(organizations.teams.post({ name }, writeOptions(undefined, key))),
    onSuccess: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: ['teams'], refetchType: 'all' }),
        cache.invalidateQueries({ queryKey: ['onboarding'] }),
      ]),
  })
}

export function useCreateProject() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ name, key }: { name: string; key: string }) =>
      ok(projects.projects.post({ name }, writeOptions(undefined, key))),
    onSuccess: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: ['projects'] }),
        cache.invalidateQueries({ queryKey: ['onboarding'] }),
      ]),
  })
}
