import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { change, ok, workspaces } from '../../api.ts'

export const workspaceInviteQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', 'invite', id],
    queryFn: () => ok(workspaces['workspace-invites']({ id }).get()),
  })

/** Accepts an invitation for a team, or declines it. */
export function useAnswer(id: string) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async (answer: { teamId: string } | 'decline'): Promise<void> => {
      const one = workspaces['workspace-invites']({ id })
      await ok<unknown>(answer === 'decline' ? one.decline.post({}, change()) : one.accept.post(answer, change()))
    },
    onSettled: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: ['workspaces'] }),
        cache.invalidateQueries({ queryKey: ['notifications'] }),
      ]),
  })
}
