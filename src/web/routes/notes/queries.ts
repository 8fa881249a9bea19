import { infiniteQueryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { NoteCreate } from '../../../features/notes/schema.ts'
import { change, notes, ok } from '../../api.ts'
import type { NoteSearch } from './search.ts'

/** How many notes are loaded at once. */
const PAGE = 50

export const notesQuery = (team: string, { q, tag, scope, project }: NoteSearch) =>
  infiniteQueryOptions({
    queryKey: ['notes', team, { q, tag, scope, project }],
    queryFn: ({ pageParam }) =>
      ok(
        notes.notes.get({
          query: {
            ...(q && { search: q }),
            ...(tag && { tag }),
            ...(scope && { scope }),
            ...(project && { projectId: project }),
            ...(pageParam && { cursor: pageParam }),
            limit: PAGE,
            sort: 'updatedAt',
          },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })

export function useCreate() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ key, ...note }: NoteCreate & { key: string }) => ok(notes.notes.post(note, change(undefined, key))),
    onSettled: () => cache.invalidateQueries({ queryKey: ['notes'] }),
  })
}
