import type { Decision, DecisionDetail, DecisionItem } from '../../src/features/decisions/schema.ts'
import { at } from '../api/reference.ts'
import { paragraphs, plain, record } from '../terminal/output.ts'
import { ago } from '../terminal/times.ts'
import { type Call, choice, clearable, many, reference, type Shown, shown, text, type Verb } from './noun.ts'
import { plainVerbs, sorting } from './resource.ts'

const section = (label: string, text: string | null): string[] => (text ? ['', ...paragraphs(`${label}: ${text}`)] : [])
const lines = (d: Decision | DecisionDetail): string[] => [
  ...record(
    {
      Decision: d.title,
      Status: d.status,
      Tags: d.tags.join(', '),
      By: d.author.name,
      'Replaced by': d.supersededById,
      Replaces: d.supersedes,
      Id: d.id,
    },
    d.decision,
  ),
  ...section('Rationale', d.rationale),
  ...section('Context', d.context),
  ...d.alternatives.flatMap((a) => section('Rejected alternative', a.cons ? `${a.option} (${a.cons})` : a.option)),
  ...section('Outcome', d.outcome),
  ...('discussion' in d ? d.discussion : []).flatMap((c) => [
    '',
    ...paragraphs(`${plain(c.author.name)}, ${ago(c.createdAt)}: ${c.body}`),
  ]),
]
const one = (d: Decision | DecisionDetail): Shown => ({ value: d, lines: lines(d) })
const patched = async ({ client, args: [decision] }: Call, change: object): Promise<Shown> =>
  one(await client.request<Decision>('PATCH', at('/api/decisions/:id', decision), change))

const fields = [
  text('--decision <text>', 'what was decided; "-" reads standard input'),
  clearable(text('--rationale <text>', 'why; "-" reads standard input')),
  clearable(text('--context <text>', 'background; "-" reads standard input')),
  many('--alternative <text>', 'alternative that was not chosen', 'alternatives'),
  many('--tag <tag>', 'tag', 'tags'),
]

export const verbs: Verb[] = [
  ...plainVerbs<DecisionItem, Decision | DecisionDetail>({
    noun: 'decisions',
    path: '/api/decisions',
    what: 'decision',
    name: 'title',
    sample: '019a8a7e-5c1f',
    inProject: true,
    columns: [
      { title: 'Id', of: (d) => d.id.slice(0, 13) },
      { title: 'Status', of: (d) => d.status },
      { title: 'Title', of: (d) => d.title, wide: true },
      { title: 'Updated', of: (d) => ago(d.updatedAt) },
    ],
    show: lines,
    fields,
    creates: [
      choice('--status <status>', ['proposed', 'accepted'], 'accepted'),
      reference(
        '--supersedes <decision>',
        'earlier decision that the new one replaces',
        '/api/decisions',
        'supersedes',
      ),
    ],
    changes: [choice('--status <status>', ['proposed', 'accepted', 'rejected']), text('--outcome <text>', 'outcome')],
    filters: [
      choice('--status <status>', ['proposed', 'accepted', 'rejected', 'superseded']),
      text('--search <words>', 'only decisions with all of these words'),
      text('--tag <tag>', 'only decisions with this tag'),
      ...sorting('updatedAt', 'createdAt'),
    ],
    examples: {
      list: ['tutti decisions list --status proposed'],
      create: [
        'tutti decisions create "One process" --decision "The folder is locked"',
        'tutti decisions create "Use NFS?" --status proposed --decision - < why.md',
      ],
      update: ['tutti decisions update 019a8a7e-5c1f --rationale "NFS has no locks"'],
    },
  }),
  {
    name: 'accept',
    args: '<decision>',
    about: 'Accept a proposed decision',
    examples: ['tutti decisions accept 019a8a7e-5c1f'],
    run: (call) => patched(call, { status: 'accepted' }),
  },
  {
    name: 'reject',
    args: '<decision>',
    about: 'Reject a proposed decision',
    examples: ['tutti decisions reject 019a8a7e-5c1f'],
    run: (call) => patched(call, { status: 'rejected' }),
  },
  {
    name: 'supersede',
    args: '<decision> <title>',
    about: 'Replace a decision with a new one',
    fields,
    examples: ['tutti decisions supersede 019a8a7e-5c1f "Two" --decision "Two folders"'],
    run: async ({ client, args: [earlier, title], fields }) => {
      const before = await client.get<Decision>(at('/api/decisions/:id', earlier))
      const where = before.projectId ? { projectId: before.projectId } : {}
      return one(await client.post<Decision>('/api/decisions', { title, ...fields, ...where, supersedes: before.id }))
    },
  },
  {
    name: 'comment',
    args: '<decision> <text>',
    about: 'Comment on a decision; "-" reads the text from standard input',
    online: true,
    examples: ['tutti decisions comment 019a8a7e-5c1f "What about macOS?"'],
    run: async ({ client, args: [decision, body] }) =>
      shown(await client.post(at('/api/decisions/:id/comments', decision), { body }), 'Comment added.'),
  },
  {
    name: 'outcome',
    args: '<decision> <text>',
    about: 'Record the outcome; "-" reads the text from standard input',
    examples: ['tutti decisions outcome 019a8a7e-5c1f "No damage since"'],
    run: async ({ client, args: [decision, outcome] }) =>
      shown(await client.request('PATCH', at('/api/decisions/:id', decision), { outcome }), 'Outcome recorded.'),
  },
]
