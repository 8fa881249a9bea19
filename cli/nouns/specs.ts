import type { Comparison, Spec, SpecItem, SpecVersions } from '../../src/features/specs/schema.ts'
import { at, count, plainVerbs, query, record, shown, text, type Verb } from '../noun.ts'
import { ago, paragraphs, table } from '../output.ts'

export const verbs: Verb[] = [
  ...plainVerbs<SpecItem, Spec>({
    path: '/api/specs',
    what: 'spec',
    name: 'title',
    inProject: true,
    columns: [
      { title: 'Slug', of: (s) => s.slug },
      { title: 'Status', of: (s) => s.status },
      { title: 'Title', of: (s) => s.title, wide: true },
      { title: 'Version', of: (s) => s.version },
      { title: 'Changed', of: (s) => ago(s.updatedAt) },
    ],
    show: (s) => record({ Spec: s.title, Status: s.status, Version: s.version, Slug: s.slug, Id: s.id }, s.content),
    fields: [
      text('-c, --content <text>', 'Markdown; - reads it from standard input'),
      text('--status <status>', 'draft, review, approved or archived'),
      text('-m, --message <text>', 'what this version is about'),
      count('--base-version <number>', 'the version that a change is based on'),
    ],
    filters: [text('--status <status>', 'only those'), text('--search <words>', 'only those')],
    examples: ['specs create "Folder lock" -c - < lock.md', 'specs update folder-lock --base-version 1 -c - -m "NFS" < lock.md'],
  }),
  {
    name: 'versions',
    args: '<spec>',
    about: 'List the versions of a spec',
    run: async ({ client, args }) => {
      const versions = await client.get<SpecVersions>(at('/api/specs/:id/versions', ...args))
      return shown(
        versions,
        ...table(versions.items, [
          { title: 'Version', of: (v) => v.version },
          { title: 'Status', of: (v) => v.status },
          { title: 'By', of: (v) => v.author.name },
          { title: 'When', of: (v) => ago(v.createdAt) },
          { title: 'About', of: (v) => v.message, wide: true },
        ]),
      )
    },
  },
  {
    name: 'compare',
    args: '<spec> <from> [to]',
    about: 'Show what changed between two versions',
    run: async ({ client, args: [spec, from, to] }) => {
      const change = await client.get<Comparison>(query(at('/api/specs/:id/compare', spec), { from, to }))
      return shown(change, ...paragraphs(change.diff))
    },
  },
]
