import type { Note, NoteDetail, NoteItem } from '../../src/features/notes/schema.ts'
import { many, plainVerbs, record, text } from '../noun.ts'
import { ago } from '../output.ts'

export const verbs = plainVerbs<NoteItem, Note | NoteDetail>({
  path: '/api/notes',
  what: 'note',
  name: 'title',
  update: 'PUT',
  remove: true,
  inProject: true,
  columns: [
    { title: 'Id', of: (n) => n.id.slice(0, 13) },
    { title: 'Title', of: (n) => n.title, wide: true },
    { title: 'Tags', of: (n) => n.tags.join(', ') },
    { title: 'Seen by', of: (n) => n.scope },
    { title: 'Changed', of: (n) => ago(n.updatedAt) },
  ],
  show: (note) =>
    record({ Note: note.title, Tags: note.tags.join(', '), 'Seen by': note.scope, Slug: note.slug, Id: note.id }, note.content),
  fields: [
    text('-c, --content <text>', 'Markdown; - reads it from standard input'),
    many('--tag <tag>', 'a tag', 'tags'),
    text('--scope <who>', 'personal, team or public'),
  ],
  filters: [text('--tag <tag>', 'only those'), text('--search <words>', 'only those'), text('--scope <who>', 'only those')],
  examples: ['notes create "Runbook" --scope team -c - < runbook.md'],
})
