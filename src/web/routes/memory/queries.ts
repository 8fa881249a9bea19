import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { MemoryCreate, MemoryPatch, MemoryRead } from '../../../features/memory/schema.ts'
import { memories, ok, writeOptions } from '../../api.ts'

export const memoryQuery = (id: string) =>
  queryOptions({ queryKey: ['memory', id], queryFn: () => ok(memories.memories({ id }).get()) })

const refresh = (cache: ReturnType<typeof useQueryClient>) =>
  Promise.all([cache.invalidateQueries({ queryKey: ['memory'] }), cache.invalidateQueries({ queryKey: ['memories'] })])

export function useChangeMemory(memory: MemoryRead) {
  const cache = useQueryClient()
  const { queryKey } = memoryQuery(memory.id)
  return useMutation({
    scope: { id: memory.id },
    mutationFn: (patch: MemoryPatch) => {
      const version = cache.getQueryData(queryKey)?.version ?? memory.version
      return ok(memories.memories({ id: memory.id }).patch(patch, writeOptions(version)))
    },
    onSuccess: (after) => cache.setQueryData(queryKey, (now) => now && { ...now, ...after }),
    onSettled: () => refresh(cache),
  })
}

export function useSupersedeMemory(memory: MemoryRead) {
  const cache = useQueryClient()
  const { scope, scopeId, id: supersedes } = memory
  return useMutation({
    mutationFn: ({
      key,
      ...fields
    }: Pick<MemoryCreate, 'content' | 'title' | 'tags' | 'importance'> & { key: string }) =>
      ok(memories.memories.post({ ...fields, scope, scopeId, supersedes }, writeOptions(undefined, key))),
    onSettled: () => refresh(cache),
  })
}

export function useRemoveMemory(memory: MemoryRead) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: () => ok(memories.memories({ id: memory.id }).delete({}, writeOptions(memory.version))),
    onSuccess: () => cache.removeQueries({ queryKey: ['memory', memory.id] }),
    onSettled: () => cache.invalidateQueries({ queryKey: ['memories'] }),
  })
}
