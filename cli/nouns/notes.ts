import type { Note, NoteDetail, NoteItem } from '../../src/features/notes/schema.ts'
import { ago, record } from '../terminal/output.ts'
import { flag, many, text, time } from './noun.ts'
import { plainVerbs, sorting } from './resource.ts'

export const verbs = plainVerbs<NoteItem, Note | NoteDetail>({
  noun: 'notes',
  path: '/api/notes',
  what: 'note',
  name: 'title',
  sample: '019a8a7e-5c1f',
  update: 'PUT',
  remove: [],
  inProject: true,
  columns: [
    { title: 'Id', of: (n) => n.id.slice(0, 13) },
    { title: 'Title', of: (n) => n.title, wide: true },
    { title: 'Tags', of: (n) => n.tags.join(', ') },
    { title: 'Seen by', of: (n) => n.scope },
    { title: 'Changed', of: (n) => ago(n.updatedAt) },
  ],
  show: (note) =>
    record(
      {
        Note: note.title,
        Tags: note.tags.join(', '),
        'Seen by': note.scope,
        'Named in': 'backlinks' in note ? note.backlinks.map((n) => n.title).join(', ') : null,
        Changed: ago(note.updatedAt),
        Slug: note.slug,
        Id: note.id,
      },
      note.content,
    ),
  fields: [
    text('-c, --content <text>', 'Markdown; - reads it from standard input'),
    many('--tag <tag>', 'a tag', 'tags'),
    text('--scope <who>', 'personal, team or public'),
    flag('--pinned', 'keep it on top'),
  ],
  filters: [
    text('--tag <tag>', 'only those with it'),
    text('--search <words>', 'only those with all of these words'),
    text('--scope <who>', 'personal, team or public'),
    time('--since <time>', 'changed at or after'),
    time('--until <time>', 'changed before'),
    ...sorting('updatedAt', 'createdAt', 'title'),
  ],
  examples: {
    list: ['tutti notes list --tag ops --search backup'],
    create: ['tutti notes create "Runbook" --scope team -c - < runbook.md'],
    update: ['tutti notes update runbook-x7k2p9 --title "Runbook for Monday"'],
  },
})
