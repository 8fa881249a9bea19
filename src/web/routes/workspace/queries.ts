import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { WorkspaceInviteCreate } from '../../../features/workspaces/invite-schema.ts'
import type { TeamAdd, WorkspaceDetail, WorkspacePatch } from '../../../features/workspaces/schema.ts'
import { ok, projects, workspaces, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const workspaceQuery = (id: string) =>
  queryOptions({ queryKey: ['workspaces', 'one', id], queryFn: () => ok(workspaces.workspaces({ id }).get()) })

export const workspaceProjectsQuery = (id: string) =>
  queryOptions({
    queryKey: ['projects', 'of workspace', id],
    queryFn: () => ok(projects.workspaces({ id }).projects.get({ query: { limit: 40, sort: 'name', order: 'asc' } })),
  })

export const workspaceInvitesQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', 'invites', id],
    queryFn: async () => (await ok(workspaces.workspaces({ id }).invites.get({ query: { limit: 100 } }))).items,
  })

export const useInviteTeam = (id: string) =>
  useWrite(
    (invite: WorkspaceInviteCreate) => ok(workspaces.workspaces({ id }).invites.post(invite, writeOptions())),
    ['workspaces', 'invites', id],
  )

export const useCancelInvite = (id: string) =>
  useWrite(
    (inviteId: string) => ok(workspaces.workspaces({ id }).invites({ inviteId }).delete(undefined, writeOptions())),
    ['workspaces', 'invites', id],
  )

type Change = { update: WorkspacePatch } | { share: TeamAdd } | { takeOut: string } | { remove: true }

/** Changes a workspace, as its reader saw it. */
export function useWorkspaceChange({ id, version }: Pick<WorkspaceDetail, 'id' | 'version'>) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async (what: Change): Promise<void> => {
      const one = workspaces.workspaces({ id })
      if ('update' in what) await ok(one.patch(what.update, writeOptions(version)))
      else if ('share' in what) await ok(one.teams.post(what.share, writeOptions()))
      else if ('takeOut' in what) await ok(one.teams({ teamId: what.takeOut }).delete(undefined, writeOptions()))
      else await ok(one.delete(undefined, writeOptions(version)))
    },
    onSettled: (_, error, what) =>
      // Whoever deleted it is on their way to another page; reading it again would show that it is gone.
      'remove' in what && !error
        ? cache.invalidateQueries({ queryKey: ['workspaces', 'of'] })
        : cache.invalidateQueries({ queryKey: ['workspaces'] }),
  })
}
