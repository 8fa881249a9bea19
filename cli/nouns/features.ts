import type { Feature, FeatureDetail, FeatureItem } from '../../src/features/workflow/schema.ts'
import { at, json, listed, many, type Page, paging, query, record, type Shown, shown, text, type Verb } from '../noun.ts'

const evidence = [
  text('--summary <text>', 'what changed, or what came out; - reads it from standard input'),
  many('--file <path>', 'a file that shows it', 'files'),
  many('--commit <hash>', 'a commit', 'commits'),
  many('--pull-request <address>', 'a pull request', 'pullRequests'),
  many('--test-run <text>', 'a test run and its result', 'testRuns'),
  many('--link <address>', 'anything else', 'links'),
]
const fields = [
  text('-d, --description <text>', 'what it is; - reads it from standard input'),
  text('--kind <kind>', 'feature, bug, hotfix, chore or test'),
  text('--priority <priority>', 'critical, high, medium or low'),
  text('-a, --assignee <who>', 'me, an e-mail address, or an agent'),
]
function one(feature: Feature | FeatureDetail): Shown {
  return shown(
    feature,
    ...record(
      {
        Feature: feature.title,
        Status: feature.status,
        Kind: feature.kind,
        Priority: feature.priority,
        Assignee: feature.assignee?.name,
        Gates: feature.gates.map((g) => `${g.gate} ${g.state}`).join(', '),
        Id: feature.id,
      },
      feature.description,
    ),
    ...(feature.next ? ['', `Next: ${feature.next.to}`, ...feature.next.missing.map((m) => `  still missing: ${m.needs}`)] : []),
  )
}

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List features with their gates',
    aliases: ['ls'],
    inProject: true,
    fields: [
      text('--status <status>', 'only those'),
      text('--kind <kind>', 'only those'),
      text('--search <words>', 'only those'),
      ...paging,
    ],
    run: async ({ client, fields, needProject }) =>
      listed(
        await client.get<Page<FeatureItem>>(query(at('/api/projects/:slug/features', await needProject()), fields)),
        [
          { title: 'Id', of: (f) => f.id.slice(0, 13) },
          { title: 'Status', of: (f) => f.status },
          { title: 'Kind', of: (f) => f.kind },
          { title: 'Title', of: (f) => f.title, wide: true },
          { title: 'Gates', of: (f) => `${f.gates.filter((g) => g.state !== 'open').length}/${f.gates.length}` },
        ],
        'No features.',
      ),
  },
  {
    name: 'show',
    args: '<feature>',
    about: 'Show a feature, its gates and what the next one needs',
    run: async ({ client, args }) => one(await client.get<FeatureDetail>(at('/api/features/:id', ...args))),
  },
  {
    name: 'create',
    args: '<title>',
    about: 'Begin a feature',
    inProject: true,
    fields,
    run: async ({ client, args: [title], fields, needProject }) =>
      one(await client.post<Feature>(at('/api/projects/:slug/features', await needProject()), { title, ...fields })),
  },
  {
    name: 'update',
    args: '<feature>',
    about: 'Change a feature',
    fields: [text('-t, --title <title>', 'a new title'), ...fields],
    run: async ({ client, args, fields }) => one(await client.request<Feature>('PATCH', at('/api/features/:id', ...args), fields)),
  },
  {
    name: 'advance',
    args: '<feature>',
    about: 'Move a feature through its next gate, with the evidence that it asks for',
    fields: [...evidence, json('--evidence <json>', 'all of it at once')],
    examples: ['features advance 019a8a7e --summary "Lock the folder" --file src/db/lock.ts --commit 1a2b3c4'],
    run: async ({ client, args, fields: { evidence, ...parts } }) => {
      const brought = { ...(evidence as object | undefined), ...parts }
      const body = Object.keys(brought).length > 0 ? { evidence: brought } : {}
      return one(await client.post<Feature>(at('/api/features/:id/advance', ...args), body))
    },
  },
  {
    name: 'review',
    args: '<feature> <verdict>',
    about: 'Review a feature: approved or changes_requested',
    fields: [text('-m, --comments <text>', 'what you have to say; - reads it from standard input')],
    run: async ({ client, args: [feature, verdict], fields }) =>
      one(await client.post<Feature>(at('/api/features/:id/reviews', feature), { verdict, ...fields })),
  },
]
