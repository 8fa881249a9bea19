import { infiniteQueryOptions } from '@tanstack/react-query'
import type { NoteCreate } from '../../../features/notes/schema.ts'
import { notes, ok, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'
import type { NoteSearch } from './search.ts'

/** How many notes are loaded at once. */
const PAGE = 50

/** Which page: of the pinned notes or of the others; of both together where words are searched for. */
interface Place {
  pinned?: boolean
  cursor?: string
}

export const notesQuery = (team: string, { q, tag, scope, project }: NoteSearch) => {
  const read = async (place: Place) => {
    const page = await ok(
      notes.notes.get({
        query: {
          ...(q && { search: q }),
          ...(tag && { tag }),
          ...(scope && { scope }),
          ...(project && { projectId: project }),
          ...place,
          limit: PAGE,
          sort: 'updatedAt',
        },
      }),
    )
    return { ...page, next: page.nextCursor ? { ...place, cursor: page.nextCursor } : undefined }
  }
  return infiniteQueryOptions({
    queryKey: ['notes', team, { q, tag, scope, project }],
    queryFn: async ({ pageParam }) => {
      const page = await read(pageParam)
      if (!pageParam.pinned || page.next) return page
      // The pinned ones are at the top, and the others follow at once.
      const others = await read({ pinned: false })
      return { ...others, items: [...page.items, ...others.items] }
    },
    initialPageParam: (q ? {} : { pinned: true }) as Place,
    getNextPageParam: (page) => page.next,
  })
}

export const useCreateNote = () =>
  useWrite(
    ({ key, ...note }: NoteCreate & { key: string }) => ok(notes.notes.post(note, writeOptions(undefined, key))),
    ['notes'],
  )
