import type { Comparison, Spec, SpecItem, SpecVersion } from '../../src/features/specs/schema.ts'
import type { Client } from '../api/client.ts'
import { at, query } from '../api/reference.ts'
import { paragraphs, record } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { ago } from '../terminal/times.ts'
import { choice, count, type Shown, shown, text, type Verb } from './noun.ts'
import { listed, pages, paging, plainVerbs, sorting } from './resource.ts'

const one = (s: Spec): Shown =>
  shown(
    s,
    ...record(
      { Spec: s.title, Status: s.status, Version: s.version, Updated: ago(s.updatedAt), Slug: s.slug, Id: s.id },
      s.content,
    ),
  )
const message = text('-m, --message <text>', 'what changed in this version')

/**
 * Saves a new version. A new text must name the version it is based on, or it could undo what others wrote meanwhile.
 * Any other change applies to the newest version.
 */
async function revised(client: Client, ref: string | undefined, change: Record<string, unknown>): Promise<Shown> {
  let { baseVersion } = change
  if (baseVersion === undefined) {
    const { version } = await client.get<Spec>(at('/api/specs/:id', ref))
    if (change.content !== undefined)
      throw new Refusal(
        `Which version is the new text based on? Add --base-version ${version} if it is the current one.`,
      )
    baseVersion = version
  }
  return one(await client.request<Spec>('PATCH', at('/api/specs/:id', ref), { ...change, baseVersion }))
}

export const verbs: Verb[] = [
  ...plainVerbs<SpecItem, Spec>({
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
      { title: 'Updated', of: (s) => ago(s.updatedAt) },
    ],
    show: (s) => one(s).lines,
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
    run: async ({ client, args, fields }) => one(await client.get<Spec>(query(at('/api/specs/:id', ...args), fields))),
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
    run: async ({ client, args, fields }) => revised(client, args[0], fields),
  },
  {
    name: 'approve',
    args: '<spec>',
    about: 'Approve the current version of a spec',
    fields: [message],
    examples: ['tutti specs approve folder-lock -m "Agreed on Monday"'],
    run: async ({ client, args, fields }) => revised(client, args[0], { ...fields, status: 'approved' }),
  },
  {
    name: 'versions',
    args: '<spec>',
    about: 'List the versions of a spec',
    fields: paging,
    examples: ['tutti specs versions folder-lock'],
    run: async ({ client, args, fields }) =>
      listed(
        await pages<SpecVersion>(client, at('/api/specs/:id/versions', ...args), fields),
        [
          { title: 'Version', of: (v) => v.version },
          { title: 'Status', of: (v) => v.status },
          { title: 'By', of: (v) => v.author.name },
          { title: 'When', of: (v) => ago(v.createdAt) },
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
      const change = await client.get<Comparison>(query(at('/api/specs/:id/compare', spec), { from, to }))
      return shown(change, ...paragraphs(change.diff))
    },
  },
]
