import type { Comparison, Spec, SpecItem, SpecVersion } from '../../../src/features/specs/schema.ts'
import type { Client } from '../../api/client.ts'
import { pathTo, withQuery } from '../../api/reference.ts'
import { paragraphLines, recordLines } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { timeAgo } from '../../terminal/times.ts'
import { type CommandOutput, choice, count, outputOf, text, type Verb } from '../noun.ts'
import { fetchPages, listOutput, paging, sorting, standardVerbs } from '../resource.ts'

const specOutput = (s: Spec): CommandOutput =>
  outputOf(
    s,
    ...recordLines(
      { Spec: s.title, Status: s.status, Version: s.version, Updated: timeAgo(s.updatedAt), Slug: s.slug, Id: s.id },
      s.content,
    ),
  )
const message = text('-m, --message <text>', 'what changed in this version')

/**
 * Saves a new version. A new text must name the version it is based on, or it could undo what others wrote meanwhile.
 * Any other change applies to the newest version.
 */
async function saveVersion(
  client: Client,
  ref: string | undefined,
  change: Record<string, unknown>,
): Promise<CommandOutput> {
  let { baseVersion } = change
  if (baseVersion === undefined) {
    const { version } = await client.get<Spec>(pathTo('/api/specs/:id', ref))
    if (change.content !== undefined)
      throw new Refusal(
        `Which version is the new text based on? Add --base-version ${version} if it is the current one.`,
      )
    baseVersion = version
  }
  return specOutput(await client.request<Spec>('PATCH', pathTo('/api/specs/:id', ref), { ...change, baseVersion }))
}

export const verbs: Verb[] = [
  ...standardVerbs<SpecItem, Spec>({
    noun: 'specs',
    path: '/api/specs',
    what: 'spec',
    name: 'title',
    sample: 'folder-lock',
    inProject: true,
    columns: [
      { title: 'Slug', of: (s) => s.slug },
      { title: 'Status', of: (s) => s.status },
      { title: 'Title', of: (s) => s.title, wide: true },
      { title: 'Version', of: (s) => s.version },
      { title: 'Updated', of: (s) => timeAgo(s.updatedAt) },
    ],
    show: (s) => specOutput(s).lines,
    fields: [text('-c, --content <text>', 'Markdown; "-" reads standard input'), message],
    filters: [
      choice('--status <status>', ['draft', 'review', 'approved', 'archived']),
      text('--search <words>', 'only specs with all of these words'),
      ...sorting('updatedAt', 'createdAt'),
    ],
    examples: {
      list: ['tutti specs list --status approved'],
      create: ['tutti specs create "Folder lock" -c - < lock.md'],
      update: [],
    },
  }).filter(({ name }) => name !== 'update' && name !== 'show'),
  {
    name: 'show',
    args: '<spec>',
    about: 'Show a spec, in its current or an earlier version',
    fields: [count('--at <version>', 'show this version', 'version')],
    examples: ['tutti specs show folder-lock', 'tutti specs show folder-lock --at 1'],
    run: async ({ client, args, fields }) =>
      specOutput(await client.get<Spec>(withQuery(pathTo('/api/specs/:id', ...args), fields))),
  },
  {
    name: 'update',
    args: '<spec>',
    about: 'Save a new version of a spec',
    fields: [
      text('-t, --title <title>', 'new title'),
      text('-c, --content <text>', 'Markdown; "-" reads standard input'),
      count('--base-version <number>', 'version that the new text is based on'),
      choice('--status <status>', ['draft', 'review', 'approved', 'archived']),
      message,
    ],
    examples: [
      'tutti specs update folder-lock --base-version 1 -m "NFS" -c - < lock.md',
      'tutti specs update folder-lock --status review',
    ],
    run: async ({ client, args, fields }) => saveVersion(client, args[0], fields),
  },
  {
    name: 'approve',
    args: '<spec>',
    about: 'Approve the current version of a spec',
    fields: [message],
    examples: ['tutti specs approve folder-lock -m "Agreed on Monday"'],
    run: async ({ client, args, fields }) => saveVersion(client, args[0], { ...fields, status: 'approved' }),
  },
  {
    name: 'versions',
    args: '<spec>',
    about: 'List the versions of a spec',
    fields: paging,
    examples: ['tutti specs versions folder-lock'],
    run: async ({ client, args, fields }) =>
      listOutput(
        await fetchPages<SpecVersion>(client, pathTo('/api/specs/:id/versions', ...args), fields),
        [
          { title: 'Version', of: (v) => v.version },
          { title: 'Status', of: (v) => v.status },
          { title: 'By', of: (v) => v.author.name },
          { title: 'When', of: (v) => timeAgo(v.createdAt) },
          { title: 'Message', of: (v) => v.message, wide: true },
        ],
        'No versions.',
      ),
  },
  {
    name: 'compare',
    args: '<spec> <from> [to]',
    about: 'Show changes between two versions (default: up to the latest)',
    examples: ['tutti specs compare folder-lock 1', 'tutti specs compare folder-lock 1 2'],
    run: async ({ client, args: [spec, from, to] }) => {
      const change = await client.get<Comparison>(withQuery(pathTo('/api/specs/:id/compare', spec), { from, to }))
      return outputOf(change, ...paragraphLines(change.diff))
    },
  },
]
