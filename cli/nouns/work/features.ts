import { AppError } from '../../../src/errors.ts'
import type { Missing, Workflow } from '../../../src/features/projects/workflow/workflow-schema.ts'
import type { Feature, FeatureDetail, FeatureItem, SubmittedEvidence } from '../../../src/features/workflow/schema.ts'
import { priorities } from '../../../src/records/task-states.ts'
import { pathTo } from '../../api/reference.ts'
import { paragraphLines, recordLines, safeLine, tableLines } from '../../terminal/output.ts'
import { timeAgo } from '../../terminal/times.ts'
import {
  type Call,
  type CommandOutput,
  choice,
  clearable,
  count,
  json,
  many,
  optionOf,
  outputOf,
  text,
  type Verb,
} from '../noun.ts'
import {
  deletedOutput,
  emptyMessage,
  fetchPages,
  listOutput,
  openOnly,
  restoreVerb,
  sorting,
  workPaging,
} from '../resource.ts'

const evidence = [
  text('--summary <text>', 'what changed, or the result; "-" reads standard input'),
  many('--file <path>', 'file', 'files'),
  many('--commit <hash>', 'commit', 'commits'),
  many('--pull-request <address>', 'pull request', 'pullRequests'),
  text('--test-command <command>', 'command that ran the tests, with --passed and --failed', { as: 'tests' }),
  many('--test-run <address>', 'CI run', 'testRuns'),
  many('--link <address>', 'any other link', 'links'),
]
const testCounts = [count('--passed <n>', 'tests that passed'), count('--failed <n>', 'tests that failed (default: 0)')]
const fields = [
  clearable(text('-d, --description <text>', 'description; "-" reads standard input')),
  choice('--kind <kind>', ['feature', 'bug', 'hotfix', 'chore', 'test']),
  choice('--priority <priority>', priorities),
  clearable(text('-a, --assignee <who>', 'me, an e-mail address or an agent')),
  many('--task <task>', 'task that belongs to the feature', 'taskIds'),
  clearable(text('--spec <spec>', 'spec that the feature implements: slug or id', { as: 'specId' })),
  many('--blocked-by <feature>', 'feature that must be done first', 'blockedBy'),
]
const gateName = (name: string): string => name.replaceAll('_', ' ')
/** Replaces the API's names of evidence by options: `evidence.files` becomes `--file`. */
const asOptions = (text: string): string =>
  text.replace(/evidence\.(\w+)/g, (found, part: string) => {
    const option = evidence.find(({ flag, as }) => (as ?? optionOf(flag).slice(2)) === part)
    return option ? optionOf(option.flag) : found
  })
/** What a gate still needs, with the options of this program instead of the fields of the API. */
function gateError({ code, details }: AppError): AppError {
  const needs = (details.missing ?? []).map(({ item, needs }) => `${safeLine(needs)} (${asOptions(item)})`)
  const next = details.next?.filter(({ tool }) => tool !== 'advance_feature')
  return new AppError(code, `The feature still needs: ${needs.join('; ')}.`, { ...details, next })
}
const missingLine = ({ item, needs }: Pick<Missing, 'item' | 'needs'>): string =>
  `  still missing: ${safeLine(needs)} (${asOptions(item)})`

function featureOutput(feature: Feature | FeatureDetail): CommandOutput {
  const detail = 'reviews' in feature ? feature : undefined
  return outputOf(
    feature,
    ...recordLines(
      {
        Feature: feature.title,
        Status: feature.status,
        Kind: feature.kind,
        Priority: feature.priority,
        Assignee: feature.assignee?.name,
        Gates: feature.gates.map((g) => `${gateName(g.gate)} ${g.state}`).join(', '),
        Spec: detail?.spec?.title,
        Updated: timeAgo(feature.updatedAt),
        Id: feature.id,
      },
      feature.description,
    ),
    ...(detail?.evidence ?? []).flatMap((submitted) => ['', ...paragraphLines(evidenceLine(submitted))]),
    ...(detail?.reviews ?? []).flatMap((r) => [
      '',
      ...paragraphLines(
        `${safeLine(r.actor.name)}, ${timeAgo(r.createdAt)}: ${gateName(r.verdict)}${r.comments ? `. ${r.comments}` : ''}`,
      ),
    ]),
    ...(feature.next ? ['', `Next: ${feature.next.to}`, ...feature.next.missing.map(missingLine)] : []),
  )
}

function evidenceLine({ gate: at, level, evidence, missing: gone, actor, createdAt }: SubmittedEvidence): string {
  const reasons = { not_found: 'was not found at the code host', failed: 'failed at the code host' }
  const problems = (gone ?? []).map(({ item, reason }) => `${item} ${reasons[reason]}`)
  const said = `${safeLine(actor.name)}, ${timeAgo(createdAt)}: ${gateName(at)} (${level}). ${evidence.summary}`
  return [said, ...problems].join('\n')
}

/** Returns the path of the project's features, or of the team's without a project. */
async function featuresPath({ client, project }: Call): Promise<string> {
  const named = await project()
  if (named) return pathTo('/api/projects/:slug/features', named)
  return pathTo('/api/teams/:id/features', (await client.get<{ id: string }>('/api/team')).id)
}

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List open features with their gates, last updated first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      text('--status <status>', 'only this status, such as in_progress'),
      choice('--kind <kind>', ['feature', 'bug', 'hotfix', 'chore', 'test']),
      text('-a, --assignee <who>', 'only features assigned to: me, an e-mail address, an agent, or none'),
      text('--search <words>', 'only features with all of these words'),
      ...sorting('updatedAt', 'createdAt', 'title'),
      ...workPaging,
    ],
    examples: ['tutti features list', 'tutti features list --status in_review --all-projects'],
    run: async (call) =>
      listOutput(
        await fetchPages<FeatureItem>(call.client, await featuresPath(call), openOnly(call.fields)),
        [
          { title: 'Id', of: (f) => f.id.slice(0, 13) },
          { title: 'Status', of: (f) => f.status },
          { title: 'Title', of: (f) => f.title, wide: true },
          { title: 'Gates', of: (f) => `${f.gates.filter((g) => g.state !== 'open').length}/${f.gates.length}` },
          { title: 'Kind', of: (f) => f.kind },
        ],
        emptyMessage('features', call.fields),
      ),
  },
  {
    name: 'show',
    args: '<feature>',
    about: 'Show a feature, its gates, reviews and what the next gate needs',
    examples: ['tutti features show 019a8a7e-5c1f'],
    run: async ({ client, args }) =>
      featureOutput(await client.get<FeatureDetail>(pathTo('/api/features/:id', ...args))),
  },
  {
    name: 'workflow',
    about: "Show the states and gates that a project's features go through",
    inProject: true,
    online: true,
    examples: ['tutti features workflow -p TUT'],
    run: async ({ client, needProject }) => {
      const found = await client.get<Workflow>(pathTo('/api/projects/:slug/workflow', await needProject()))
      const needsOf = (name?: string) => found.gates?.find((g) => g.name === name)?.needs.map(({ what }) => what) ?? []
      const lines = tableLines(found.transitions, [
        { title: 'From', of: (t) => t.from },
        { title: 'To', of: (t) => t.to },
        { title: 'By', of: (t) => gateName(t.by ?? 'advance') },
        { title: 'Gate', of: (t) => gateName(t.gate ?? '') },
        { title: 'Needs', of: (t) => safeLine(needsOf(t.gate).join('; ')), wide: true },
      ])
      return outputOf(found, ...lines)
    },
  },
  {
    name: 'create',
    args: '<title>',
    about: 'Create a feature',
    inProject: true,
    fields,
    examples: ['tutti features create "Folder lock" --spec folder-lock --task TUT-42'],
    run: async ({ client, args: [title], fields, needProject }) =>
      featureOutput(
        await client.post<Feature>(pathTo('/api/projects/:slug/features', await needProject()), { title, ...fields }),
      ),
  },
  {
    name: 'update',
    args: '<feature>',
    about: 'Update a feature',
    fields: [text('-t, --title <title>', 'new title'), ...fields],
    examples: ['tutti features update 019a8a7e-5c1f --priority high'],
    run: async ({ client, args, fields }) =>
      featureOutput(await client.request<Feature>('PATCH', pathTo('/api/features/:id', ...args), fields)),
  },
  {
    name: 'advance',
    args: '<feature>',
    about: 'Move a feature through its next gate, with the required evidence',
    fields: [...evidence, ...testCounts, json('--evidence <json>', 'all evidence as one JSON object')],
    examples: [
      'tutti features advance 019a8a7e-5c1f --summary "It locks" --commit 1a2b3c4',
      'tutti features advance 019a8a7e-5c1f --test-command "bun test" --passed 214',
    ],
    run: async ({ client, args, fields: { evidence, tests: command, passed, failed = 0, ...parts } }) => {
      const tests = command === undefined && passed === undefined ? {} : { tests: { command, passed, failed } }
      const brought = { ...(evidence as object | undefined), ...parts, ...tests }
      const body = Object.keys(brought).length > 0 ? { evidence: brought } : {}
      const advanced = client
        .post<Feature>(pathTo('/api/features/:id/advance', ...args), body)
        .catch((error: unknown) => {
          if (!(error instanceof AppError) || error.code !== 'conflict.gate') throw error
          throw gateError(error)
        })
      return featureOutput(await advanced)
    },
  },
  {
    name: 'review',
    args: '<feature> <verdict>',
    about: "Review someone else's feature: approved or changes_requested",
    fields: [text('-m, --comments <text>', 'comments; "-" reads standard input')],
    examples: ['tutti features review 019a8a7e-5c1f approved -m "Well tested"'],
    run: async ({ client, args: [feature, verdict], fields }) =>
      featureOutput(await client.post<Feature>(pathTo('/api/features/:id/reviews', feature), { verdict, ...fields })),
  },
  {
    name: 'delete',
    args: '<feature>',
    about: 'Delete a feature',
    examples: ['tutti features delete 019a8a7e-5c1f'],
    run: async ({ client, args }) => {
      const { id, projectId } = await client.get<Feature>(pathTo('/api/features/:id', ...args))
      return deletedOutput(
        await client.request<{ id: string }>('DELETE', pathTo('/api/projects/:slug/features/:id', projectId, id)),
        'features',
        args[0],
      )
    },
  },
  restoreVerb<Feature>('features', '/api/features', 'feature', '019a8a7e-5c1f', featureOutput),
]
