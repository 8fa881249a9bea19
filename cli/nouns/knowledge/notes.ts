import type { Note, NoteDetail, NoteItem } from '../../../src/features/notes/schema.ts'
import { recordLines } from '../../terminal/output.ts'
import { timeAgo } from '../../terminal/times.ts'
import { choice, flag, many, text, time } from '../noun.ts'
import { sorting, standardVerbs } from '../resource.ts'

export const verbs = standardVerbs<NoteItem, Note | NoteDetail>({
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
    { title: 'Visibility', of: (n) => n.scope },
    { title: 'Updated', of: (n) => timeAgo(n.updatedAt) },
  ],
  show: (note) =>
    recordLines(
      {
        Note: note.title,
        Tags: note.tags.join(', '),
        Visibility: note.scope,
        'Linked from': 'backlinks' in note ? note.backlinks.map((n) => n.title).join(', ') : null,
        Updated: timeAgo(note.updatedAt),
        Slug: note.slug,
        Id: note.id,
      },
      note.content,
    ),
  fields: [
    text('-c, --content <text>', 'Markdown; "-" reads standard input'),
    many('--tag <tag>', 'tag', 'tags'),
    choice('--scope <who>', ['personal', 'team', 'public'], 'team'),
    flag('--pinned', 'pin it to the top'),
  ],
  filters: [
    text('--tag <tag>', 'only notes with this tag'),
    text('--search <words>', 'only notes with all of these words'),
    choice('--scope <who>', ['personal', 'team', 'public']),
    time('--since <time>', 'updated at or after this time'),
    time('--until <time>', 'updated before this time'),
    ...sorting('updatedAt', 'createdAt', 'title'),
  ],
  examples: {
    list: ['tutti notes list --tag ops --search backup'],
    create: ['tutti notes create "Runbook" --scope team -c - < runbook.md'],
    update: ['tutti notes update runbook-x7k2p9 --title "Runbook for Monday"'],
  },
})
