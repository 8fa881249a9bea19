import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { Tunnel, TunnelPatch } from '../../../features/tunnels/schema.ts'
import { ok, tunnels, writeOptions } from '../../api.ts'

export const tunnelsQuery = (team: string) =>
  queryOptions({ queryKey: ['tunnels', team], queryFn: () => ok(tunnels.get({ query: { limit: 40 } })) })

/** `onRemoved` leaves the page of the tunnel, before anything of it is asked for again. */
export function useTunnelChange({ id, version }: Pick<Tunnel, 'id' | 'version'>, onRemoved?: () => Promise<void>) {
  const cache = useQueryClient()
  const onSettled = () => Promise.all(['tunnels', 'tunnel'].map((key) => cache.invalidateQueries({ queryKey: [key] })))
  return {
    update: useMutation({
      mutationFn: (patch: TunnelPatch) => ok(tunnels({ id }).put(patch, writeOptions(version))),
      onSettled,
    }),
    remove: useMutation({
      mutationFn: () => ok(tunnels({ id }).delete(undefined, writeOptions(version))),
      onSuccess: async () => {
        await onRemoved?.()
        cache.removeQueries({ queryKey: ['tunnel'] })
      },
      onSettled: () => cache.invalidateQueries({ queryKey: ['tunnels'] }),
    }),
  }
}

/** Asks for the address that lets this browser open a service. It works once, so it is not kept. */
export const entryQuery = (to: string) =>
  queryOptions({
    queryKey: ['tunnel entry', to],
    queryFn: () => ok(tunnels.enter.post({ to })),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
