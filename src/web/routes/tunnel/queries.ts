import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { ActionInput, TunnelAction, TunnelRequest } from '../../../features/tunnels/actions/action-schema.ts'
import { ok, tunnels } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'
import { watchTopic } from '../../live/connection.ts'

export const tunnelQuery = (id: string) =>
  queryOptions({ queryKey: ['tunnel', id], queryFn: () => ok(tunnels({ id }).get()) })

export const tunnelStatusQuery = (id: string) =>
  queryOptions({ queryKey: ['tunnel', id, 'status'], queryFn: () => ok(tunnels({ id }).status.get()) })

export const actionsQuery = (id: string) =>
  queryOptions({ queryKey: ['tunnel', id, 'actions'], queryFn: () => ok(tunnels({ id }).actions.get()) })

export const actionHistoryQuery = (id: string) =>
  queryOptions({
    queryKey: ['tunnel', id, 'history'],
    queryFn: () => ok(tunnels({ id }).actions.history.get({ query: { limit: 20 } })),
  })

const actionQuery = (id: string, actionId: string) =>
  queryOptions({
    queryKey: ['tunnel', id, 'action', actionId],
    queryFn: () => ok(tunnels({ id }).actions({ actionId }).get()),
  })

const requestsQuery = (id: string) =>
  queryOptions({
    queryKey: ['tunnel', id, 'requests'],
    queryFn: () => ok(tunnels({ id }).requests.get()),
    retry: false,
  })

export const useRunAction = (id: string) =>
  useWrite((input: ActionInput) => ok(tunnels({ id }).actions.post(input, { query: {} })), ['tunnel', id, 'history'])

const endedStates = new Set<TunnelAction['state']>(['succeeded', 'failed', 'refused', 'cancelled', 'timed_out'])
export const isActionEnded = (state: TunnelAction['state']): boolean => endedStates.has(state)

/** An action with the lines of its output as they come. */
export function useActionRun(id: string, actionId: string): { action: TunnelAction | undefined; output: string } {
  const cache = useQueryClient()
  const { data: action } = useQuery({
    ...actionQuery(id, actionId),
    // For what a lost connection did not tell.
    refetchInterval: ({ state: { data } }) => (data && isActionEnded(data.state) ? false : 3000),
  })
  const [lines, setLines] = useState<readonly string[]>([])
  useEffect(() => {
    setLines([])
    return watchTopic(`record:${actionId}`, ({ op, line }) => {
      if (op === 'output') setLines((before) => [...before, String(line)].slice(-1000))
      if (op === 'action') void cache.invalidateQueries({ queryKey: ['tunnel', id] })
    })
  }, [cache, id, actionId])
  const stored = action?.output ?? ''
  const isLive = action && !isActionEnded(action.state) && lines.length > stored.split('\n').length
  return { action, output: isLive ? lines.join('\n') : stored || lines.join('\n') }
}

/** The last requests, and those that come. Undefined for those who may not see them. */
export function useTunnelRequests(id: string): readonly TunnelRequest[] | undefined {
  const { data } = useQuery(requestsQuery(id))
  const [fresh, setFresh] = useState<readonly TunnelRequest[]>([])
  const cache = useQueryClient()
  useEffect(
    () =>
      watchTopic(`record:${id}`, ({ op, items }) => {
        if (op === 'requests')
          setFresh((before) => [...(items as TunnelRequest[]).toReversed(), ...before].slice(0, 40))
        if (op === 'action') void cache.invalidateQueries({ queryKey: ['tunnel', id, 'history'] })
      }),
    [cache, id],
  )
  if (!data) return undefined
  const seen = new Set(fresh.map(requestKey))
  return [...fresh, ...data.items.filter((item) => !seen.has(requestKey(item)))].slice(0, 40)
}

export const requestKey = ({ at, service, method, path, ms }: TunnelRequest): string =>
  `${at} ${service} ${method} ${path} ${ms}`
