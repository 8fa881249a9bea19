import { queryOptions } from '@tanstack/react-query'
import { notes, ok } from '../../api.ts'

export const noteQuery = (id: string) =>
  queryOptions({ queryKey: ['note', id], queryFn: () => ok(notes.notes({ id }).get()) })

export const linksQuery = (id: string) =>
  queryOptions({ queryKey: ['note', id, 'links'], queryFn: () => ok(notes.notes({ id }).links.get()) })
