import type { Decision, DecisionDetail, DecisionItem } from '../../../src/features/decisions/schema.ts'
import { pathTo } from '../../api/reference.ts'
import { paragraphLines, recordLines, safeLine } from '../../terminal/output.ts'
import { timeAgo } from '../../terminal/times.ts'
import {
  type Call,
  type CommandOutput,
  choice,
  clearable,
  many,
  outputOf,
  reference,
  text,
  type Verb,
} from '../noun.ts'
import { sorting, standardVerbs } from '../resource.ts'

const section = (label: string, text: string | null): string[] =>
  text ? ['', ...paragraphLines(`${label}: ${text}`)] : []
const decisionLines = (d: Decision | DecisionDetail): string[] => [
  ...recordLines(
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
    ...paragraphLines(`${safeLine(c.author.name)}, ${timeAgo(c.createdAt)}: ${c.body}`),
  ]),
]
const decisionOutput = (d: Decision | DecisionDetail): CommandOutput => ({ value: d, lines: decisionLines(d) })
const patchDecision = async ({ client, args: [decision] }: Call, change: object): Promise<CommandOutput> =>
  decisionOutput(await client.request<Decision>('PATCH', pathTo('/api/decisions/:id', decision), change))

const fields = [
  text('--decision <text>', 'what was decided; "-" reads standard input'),
  clearable(text('--rationale <text>', 'why; "-" reads standard input')),
  clearable(text('--context <text>', 'background; "-" reads standard input')),
  many('--alternative <text>', 'alternative that was not chosen', 'alternatives'),
  many('--tag <tag>', 'tag', 'tags'),
]

export const verbs: Verb[] = [
  ...standardVerbs<DecisionItem, Decision | DecisionDetail>({
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
      { title: 'Updated', of: (d) => timeAgo(d.updatedAt) },
    ],
    show: decisionLines,
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
    run: (call) => patchDecision(call, { status: 'accepted' }),
  },
  {
    name: 'reject',
    args: '<decision>',
    about: 'Reject a proposed decision',
    examples: ['tutti decisions reject 019a8a7e-5c1f'],
    run: (call) => patchDecision(call, { status: 'rejected' }),
  },
  {
    name: 'supersede',
    args: '<decision> <title>',
    about: 'Replace a decision with a new one',
    fields,
    examples: ['tutti decisions supersede 019a8a7e-5c1f "Two" --decision "Two folders"'],
    run: async ({ client, args: [earlier, title], fields }) => {
      const before = await client.get<Decision>(pathTo('/api/decisions/:id', earlier))
      const where = before.projectId ? { projectId: before.projectId } : {}
      return decisionOutput(
        await client.post<Decision>('/api/decisions', { title, ...fields, ...where, supersedes: before.id }),
      )
    },
  },
  {
    name: 'comment',
    args: '<decision> <text>',
    about: 'Comment on a decision; "-" reads the text from standard input',
    online: true,
    examples: ['tutti decisions comment 019a8a7e-5c1f "What about macOS?"'],
    run: async ({ client, args: [decision, body] }) =>
      outputOf(await client.post(pathTo('/api/decisions/:id/comments', decision), { body }), 'Comment added.'),
  },
  {
    name: 'outcome',
    args: '<decision> <text>',
    about: 'Record the outcome; "-" reads the text from standard input',
    examples: ['tutti decisions outcome 019a8a7e-5c1f "No damage since"'],
    run: async ({ client, args: [decision, outcome] }) =>
      outputOf(await client.request('PATCH', pathTo('/api/decisions/:id', decision), { outcome }), 'Outcome recorded.'),
  },
]
