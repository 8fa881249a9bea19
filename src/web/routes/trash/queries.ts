import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Trashed } from '../../../features/trash/schema.ts'
import { ok, restoreAt, trash, writeOptions } from '../../api.ts'
import { pagedQuery } from '../../lib/data.ts'

export const trashQuery = (team: string, kind: Trashed['kind'] | undefined) =>
  pagedQuery(['trash', team, kind], (page) =>
    ok(trash.trash.get({ query: { limit: 50, ...(kind && { kind }), ...page } })),
  )

/** Restores a record, with all that was deleted along with it. */
export function useRestoreRecord() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ path, version }: Trashed) => restoreAt(path, writeOptions(version)),
    // Any page may show what was restored.
    onSettled: () => cache.invalidateQueries(),
  })
}
