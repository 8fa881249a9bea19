import type { DecisionDetail, DecisionItem } from '../../src/features/decisions/schema.ts'
import { at, many, plainVerbs, record, shown, text, type Verb } from '../noun.ts'
import { ago } from '../output.ts'

export const verbs: Verb[] = [
  ...plainVerbs<DecisionItem, DecisionDetail>({
    path: '/api/decisions',
    what: 'decision',
    name: 'title',
    inProject: true,
    columns: [
      { title: 'Id', of: (d) => d.id.slice(0, 13) },
      { title: 'Status', of: (d) => d.status },
      { title: 'Title', of: (d) => d.title, wide: true },
      { title: 'Changed', of: (d) => ago(d.updatedAt) },
    ],
    show: (d) => [
      ...record({ Decision: d.title, Status: d.status, Tags: d.tags.join(', '), Id: d.id }, d.decision),
      ...(d.rationale ? ['', `Because: ${d.rationale}`] : []),
      ...(d.outcome ? ['', `Outcome: ${d.outcome}`] : []),
    ],
    fields: [
      text('--decision <text>', 'what was decided; - reads it from standard input'),
      text('--rationale <text>', 'why'),
      text('--context <text>', 'what led to it'),
      text('--status <status>', 'proposed, accepted or rejected'),
      many('--tag <tag>', 'a tag', 'tags'),
      text('--supersedes <id>', 'an earlier one that it replaces'),
    ],
    filters: [text('--status <status>', 'only those'), text('--search <words>', 'only those'), text('--tag <tag>', 'only those')],
    examples: ['decisions create "One process" --decision "The data folder is locked" --rationale "Two writers damaged it"'],
  }),
  {
    name: 'comment',
    args: '<decision> <text>',
    about: 'Add to the discussion; - reads the text from standard input',
    run: async ({ client, args: [decision, body] }) =>
      shown(await client.post(at('/api/decisions/:id/comments', decision), { body }), 'Said.'),
  },
  {
    name: 'outcome',
    args: '<decision> <text>',
    about: 'Say what came of it',
    run: async ({ client, args: [decision, outcome] }) =>
      shown(await client.request('PATCH', at('/api/decisions/:id', decision), { outcome }), 'Noted.'),
  },
]
