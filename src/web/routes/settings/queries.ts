import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { ProfilePatch } from '../../../features/accounts/schema.ts'
import type { User } from '../../../features/users/schema.ts'
import { meQuery } from '../../account/session.ts'
import {
  accounts,
  connections,
  grants,
  integrations,
  ok,
  passkeys,
  push,
  sendFile,
  sync,
  tokens,
  uploads,
  writeOptions,
} from '../../api.ts'

/** Everything that the settings show begins with this word, so that one change renews all of it. */
const KEY = 'settings'

export const sessionsQuery = queryOptions({
  queryKey: [KEY, 'sessions'],
  queryFn: async () => (await ok(accounts.settings.sessions.get({ query: { limit: 100 } }))).items,
})
export const keysQuery = queryOptions({
  queryKey: [KEY, 'keys'],
  queryFn: async () => (await ok(tokens.settings['api-keys'].get({ query: { limit: 200 } }))).items,
})
export const grantsQuery = (organizationId?: string) =>
  queryOptions({
    queryKey: [KEY, 'grants', organizationId],
    queryFn: () => ok(grants.settings.grants.get({ query: { limit: 200, ...(organizationId && { organizationId }) } })),
  })
export const passkeysQuery = queryOptions({
  queryKey: [KEY, 'passkeys'],
  queryFn: async () => (await ok(passkeys.settings.passkeys.get({ query: { limit: 100 } }))).items,
})
export const connectedAccountsQuery = queryOptions({
  queryKey: [KEY, 'connected'],
  queryFn: async () => (await ok(connections.settings['connected-accounts'].get({ query: { limit: 50 } }))).items,
})
export const signInProvidersQuery = queryOptions({
  queryKey: [KEY, 'ways'],
  queryFn: () => ok(connections.auth.providers.get()),
})
export const integrationsQuery = queryOptions({
  queryKey: [KEY, 'integrations'],
  queryFn: async () => (await ok(integrations.settings.integrations.user.get())).items,
})
export const pushQuery = queryOptions({
  queryKey: [KEY, 'push'],
  queryFn: () => ok(push.push.get()),
})
export const pushDevicesQuery = queryOptions({
  queryKey: [KEY, 'push', 'devices'],
  queryFn: async () => (await ok(push.push.subscriptions.get())).items,
})
export const devicesQuery = queryOptions({
  queryKey: [KEY, 'devices'],
  queryFn: () => ok(sync.sync.status.get({ query: {} })),
})
export const preferencesQuery = queryOptions({
  queryKey: [KEY, 'preferences'],
  queryFn: () => ok(accounts.settings.preferences.get()),
})

/** A change of something in the settings; all of them are read again afterwards. */
export function useSettingsChange<I, O>(act: (input: I) => Promise<O>, onSuccess?: (result: O, input: I) => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: act,
    ...(onSuccess && { onSuccess }),
    onSettled: () => cache.invalidateQueries({ queryKey: [KEY] }),
  })
}

/** A change of the account itself, which every page knows. */
export function useAccountChange<I>(act: (input: I) => Promise<User>) {
  const cache = useQueryClient()
  return useMutation({ mutationFn: act, onSuccess: (user) => cache.setQueryData(meQuery.queryKey, user) })
}

export const saveProfile = (version: number) => (patch: ProfilePatch) =>
  ok(accounts.settings.profile.patch(patch, writeOptions(version)))
export const savePicture = (file: File | null): Promise<User> =>
  file ? sendFile<User>('/api/settings/avatar', file) : ok(uploads.settings.avatar.delete())
