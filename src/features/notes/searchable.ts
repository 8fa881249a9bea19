import { personal, type Source } from '../search/source.ts'
import { notes } from './table.ts'

export const noteSource: Source = {
  kind: 'note',
  table: notes,
  title: notes.title,
  text: notes.content,
  tags: notes.tags,
  userId: personal(notes),
}
