import { queryOptions } from '@tanstack/react-query'
import type { Role } from '../../../auth/policy.ts'
import { invites, ok, organizations, repositories, teams, workspaces, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

/** Members with what the reader may do with each. */
export const teamMembersQuery = (id: string) =>
  queryOptions({
    queryKey: ['members', id, 'of team'],
    queryFn: () => ok(organizations.teams({ id }).members.get({ query: { limit: 200 } })),
  })

export const usageQuery = (id: string) =>
  queryOptions({
    queryKey: ['usage', id],
    queryFn: () => ok(organizations.teams({ id }).usage.get()),
  })

export const presenceQuery = (id: string) =>
  queryOptions({
    queryKey: ['presence', id],
    queryFn: async () => (await ok(teams.teams({ id }).presence.get({ query: { limit: 200 } }))).items,
    refetchInterval: 60_000,
  })

export const invitesQuery = (id: string) =>
  queryOptions({
    queryKey: ['invites', id],
    queryFn: async () => (await ok(invites.teams({ id }).invites.get({ query: { limit: 100 } }))).items,
  })

export const workspacesQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', 'of', id],
    queryFn: () => ok(workspaces.teams({ id }).workspaces.get({ query: { limit: 40, sort: 'name', order: 'asc' } })),
  })

export const repositoriesQuery = (id: string) =>
  queryOptions({
    queryKey: ['repositories', 'of', id],
    queryFn: () => ok(repositories.repos.get({ query: { limit: 40, sort: 'name', order: 'asc' } })),
  })

export const useCreateWorkspace = (id: string) =>
  useWrite(
    (name: string) => ok(workspaces.teams({ id }).workspaces.post({ name }, writeOptions())),
    ['workspaces', 'of', id],
  )

export const useConnectRepository = (id: string) =>
  useWrite((repo: string) => ok(repositories.repos.post({ repo }, writeOptions())), ['repositories', 'of', id])

export const useInvite = (id: string) =>
  useWrite(
    (invite: { email: string; role: Role }) => ok(invites.teams({ id }).invite.post(invite, writeOptions())),
    ['invites', id],
  )

export const useWithdrawInvite = (id: string) =>
  useWrite(
    (inviteId: string) => ok(invites.teams({ id }).invites({ inviteId }).delete(undefined, writeOptions())),
    ['invites', id],
  )

export const useSetMemberRole = (id: string) =>
  useWrite(
    ({ userId, role }: { userId: string; role: Role }) =>
      ok(organizations.teams({ id }).members({ userId }).patch({ role }, writeOptions())),
    ['members', id],
  )

export const useRemoveMember = (id: string) =>
  useWrite(
    (userId: string) => ok(organizations.teams({ id }).members({ userId }).delete(undefined, writeOptions())),
    ['members', id],
  )
