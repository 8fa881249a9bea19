import type { Issue } from '../../../src/features/issues/schema.ts'
import { findItem } from '../../api/reference.ts'
import { recordLines } from '../../terminal/output.ts'
import { timeAgo } from '../../terminal/times.ts'
import { type CommandOutput, choice, outputOf, text, type Verb } from '../noun.ts'
import { fetchPages, listOutput, paging, sorting } from '../resource.ts'

const PATH = '/api/issues'
const issueOutput = (issue: Issue): CommandOutput =>
  outputOf(
    issue,
    ...recordLines(
      {
        Issue: issue.title,
        Status: issue.status,
        Priority: issue.priority,
        Reported: timeAgo(issue.createdAt),
        Answered: issue.answeredAt && timeAgo(issue.answeredAt),
        Id: issue.id,
      },
      [issue.description, issue.answer && `Answer: ${issue.answer}`].filter(Boolean).join('\n\n'),
    ),
  )

/** Problem reports of users to the administrators, who answer in the dashboard. */
export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List the issues that you reported, newest first',
    aliases: ['ls'],
    fields: [
      choice('--status <status>', ['open', 'in_review', 'closed']),
      ...sorting('createdAt', 'updatedAt'),
      ...paging,
    ],
    examples: ['tutti issues list', 'tutti issues list --status open'],
    run: async ({ client, fields }) =>
      listOutput(
        await fetchPages<Issue>(client, PATH, fields),
        [
          { title: 'Id', of: (issue) => issue.id.slice(0, 13) },
          { title: 'Status', of: (issue) => issue.status },
          { title: 'Priority', of: (issue) => issue.priority },
          { title: 'Title', of: (issue) => issue.title, wide: true },
          { title: 'Answered', of: (issue) => (issue.answeredAt ? timeAgo(issue.answeredAt) : '-') },
        ],
        'No issues.',
      ),
  },
  {
    name: 'show',
    args: '<issue>',
    about: 'Show an issue and its answer',
    examples: ['tutti issues show 019a8a7e-5c1f'],
    run: async ({ client, args }) => issueOutput(await findItem<Issue>(client, PATH, 'issue', args[0] as string)),
  },
  {
    name: 'create',
    args: '<title>',
    about: 'Report a problem with this server to its administrators',
    fields: [
      { ...text('-d, --description <text>', 'what happens; "-" reads standard input'), required: true },
      choice('--priority <priority>', ['critical', 'high', 'medium', 'low'], 'medium'),
    ],
    examples: ['tutti issues create "Search finds nothing" -d "The list stays empty."'],
    run: async ({ client, args, fields }) => issueOutput(await client.post<Issue>(PATH, { title: args[0], ...fields })),
  },
]
