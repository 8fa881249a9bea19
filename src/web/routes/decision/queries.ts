import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { DecisionCreate, DecisionDetail, DecisionPatch } from '../../../features/decisions/schema.ts'
import { decisions, ok, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const decisionQuery = (id: string) =>
  queryOptions({ queryKey: ['decision', id], queryFn: () => ok(decisions.decisions({ id }).get()) })

const refresh = (cache: ReturnType<typeof useQueryClient>) =>
  Promise.all([
    cache.invalidateQueries({ queryKey: ['decision'] }),
    cache.invalidateQueries({ queryKey: ['decisions'] }),
  ])

/** Shows the change at once, and takes it back if the server refuses. */
export function useChangeDecision(decision: DecisionDetail) {
  const cache = useQueryClient()
  const { queryKey } = decisionQuery(decision.id)
  return useMutation({
    scope: { id: decision.id },
    mutationFn: (patch: DecisionPatch) => {
      const version = cache.getQueryData(queryKey)?.version ?? decision.version
      return ok(decisions.decisions({ id: decision.id }).patch(patch, writeOptions(version)))
    },
    onMutate: async ({ alternatives: _, ...patch }) => {
      await cache.cancelQueries({ queryKey })
      const before = cache.getQueryData(queryKey)
      if (before) cache.setQueryData(queryKey, { ...before, ...patch })
      return { before }
    },
    // The next change may come before the page is loaded again, and names this version.
    onSuccess: ({ version }) => cache.setQueryData(queryKey, (now) => now && { ...now, version }),
    onError: (_error, _patch, context) => {
      if (context?.before) cache.setQueryData(queryKey, context.before)
    },
    onSettled: () => refresh(cache),
  })
}

export const useCommentDecision = (id: string) =>
  useWrite(
    ({ body, key }: { body: string; key: string }) =>
      ok(decisions.decisions({ id }).comments.post({ body }, writeOptions(undefined, key))),
    ['decision'],
    ['decisions'],
  )

export const useLogDecision = () =>
  useWrite(
    ({ key, ...decision }: DecisionCreate & { key: string }) =>
      ok(decisions.decisions.post(decision, writeOptions(undefined, key))),
    ['decision'],
    ['decisions'],
  )
