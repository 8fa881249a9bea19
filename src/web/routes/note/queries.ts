import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { NotePatch, NoteRead } from '../../../features/notes/schema.ts'
import { notes, ok, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const noteQuery = (id: string) =>
  queryOptions({ queryKey: ['note', id], queryFn: () => ok(notes.notes({ id }).get()) })

export const noteLinksQuery = (id: string) =>
  queryOptions({ queryKey: ['note', id, 'links'], queryFn: () => ok(notes.notes({ id }).links.get()) })

/** Changes fields other than the text, which are shown at once and go back if the server refuses. */
export function useChangeNote(note: NoteRead) {
  const cache = useQueryClient()
  const { queryKey } = noteQuery(note.id)
  return useMutation({
    scope: { id: `text of ${note.id}` },
    mutationFn: (patch: NotePatch) => {
      const version = cache.getQueryData(queryKey)?.version ?? note.version
      return ok(notes.notes({ id: note.id }).put(patch, writeOptions(version)))
    },
    onMutate: async (patch) => {
      await cache.cancelQueries({ queryKey })
      const before = cache.getQueryData(queryKey)
      const { links: _, ...shown } = patch
      if (before) cache.setQueryData(queryKey, { ...before, ...shown })
      return { before }
    },
    onSuccess: (after) => cache.setQueryData(queryKey, (now) => now && { ...now, ...after }),
    onError: (_error, _patch, context) => {
      if (context?.before) cache.setQueryData(queryKey, context.before)
    },
    onSettled: () => refresh(cache),
  })
}

const refresh = (cache: ReturnType<typeof useQueryClient>) =>
  Promise.all([cache.invalidateQueries({ queryKey: ['note'] }), cache.invalidateQueries({ queryKey: ['notes'] })])

export function useRemoveNote(note: NoteRead) {
  const cache = useQueryClient()
  return useMutation({
    // After a change that is on its way, and with the version that it returns: one's own change is no conflict.
    scope: { id: `text of ${note.id}` },
    mutationFn: () => {
      const version = cache.getQueryData(noteQuery(note.id).queryKey)?.version ?? note.version
      return ok(notes.notes({ id: note.id }).delete({}, writeOptions(version)))
    },
    onSuccess: () => cache.removeQueries({ queryKey: ['note', note.id] }),
    onSettled: () => cache.invalidateQueries({ queryKey: ['notes'] }),
  })
}

export const useRestoreNote = (id: string) =>
  useWrite(() => ok(notes.notes({ id }).restore.post({}, writeOptions())), ['note'], ['notes'])
