import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { SpecCreate, SpecPatch } from '../../../features/specs/schema.ts'
import { ok, specs, writeOptions } from '../../api.ts'
import { pagedQuery, useWrite } from '../../lib/data.ts'

export const specQuery = (id: string) =>
  queryOptions({ queryKey: ['spec', id], queryFn: () => ok(specs.specs({ id }).get({ query: {} })) })

/** A version never changes. */
export const versionQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: ['spec version', id, version],
    queryFn: () => ok(specs.specs({ id }).get({ query: { version } })),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const versionsQuery = (id: string) =>
  pagedQuery(['spec', id, 'versions'], (page) =>
    ok(specs.specs({ id }).versions.get({ query: { limit: 20, ...page } })),
  )

const refresh = (cache: ReturnType<typeof useQueryClient>) =>
  Promise.all([cache.invalidateQueries({ queryKey: ['spec'] }), cache.invalidateQueries({ queryKey: ['specs'] })])

/** Writes the next version, on the version that the change is based on. */
export function useReviseSpec(id: string) {
  const cache = useQueryClient()
  return useMutation({
    scope: { id: `spec ${id}` },
    mutationFn: ({ base, ...patch }: Omit<SpecPatch, 'baseVersion'> & { base: number }) =>
      ok(specs.specs({ id }).patch(patch, writeOptions(base))),
    onSettled: () => refresh(cache),
  })
}

export const useCreateSpec = () =>
  useWrite(
    ({ key, ...spec }: SpecCreate & { key: string }) => ok(specs.specs.post(spec, writeOptions(undefined, key))),
    ['spec'],
    ['specs'],
  )
