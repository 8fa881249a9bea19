import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { ok, workspaces, writeOptions } from '../../api.ts'

export const workspaceInviteQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', 'invite', id],
    queryFn: () => ok(workspaces['workspace-invites']({ id }).get()),
  })

type InvitationAnswer = { teamId: string } | 'decline'

/** Accepts an invitation for a team, or declines it. */
export function useAnswerInvitation(id: string, onDone: (answer: InvitationAnswer) => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async (answer: InvitationAnswer): Promise<void> => {
      const one = workspaces['workspace-invites']({ id })
      await ok<unknown>(
        answer === 'decline' ? one.decline.post({}, writeOptions()) : one.accept.post(answer, writeOptions()),
      )
    },
    // Not where it is called: the answered invitation may be gone from the inbox by then.
    onSuccess: (_, answer) => onDone(answer),
    onSettled: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: ['workspaces'] }),
        cache.invalidateQueries({ queryKey: ['notifications'] }),
      ]),
  })
}
