import type {
  MemoriesStored,
  Memory,
  MemoryHits,
  MemoryItem,
  MemoryStored,
} from '../../../src/features/memory/schema.ts'
import { memoryScopes, recallNames } from '../../../src/records/names.ts'
import { findId, findProjectId, pathTo } from '../../api/reference.ts'
import { dim, paragraphLines, recordLines, safeLine } from '../../terminal/output.ts'
import { timeAgo } from '../../terminal/times.ts'
import {
  type Call,
  choice,
  clearable,
  count,
  eitherOf,
  flag,
  many,
  outputOf,
  reference,
  text,
  time,
  type Verb,
} from '../noun.ts'
import { fetchPages, listOutput, paging, sorting } from '../resource.ts'

const scopeOptions = [
  choice('--scope <scope>', memoryScopes),
  text('--scope-id <which>', 'agent, project or session of the scope: id, slug or key'),
]
const hitLine = ({ kind, id, key, score, at: storedAt }: MemoryHits['items'][number]) =>
  `${kind} ${key ?? id.slice(0, 13)}, ${score.toFixed(2)}, ${timeAgo(storedAt)}`
const scopedFields = async ({ client, fields, project }: Call) => {
  const named = fields.scope === undefined ? await project() : undefined
  return named ? { ...fields, scope: 'project', scopeId: await findProjectId(client, named) } : fields
}
/** Returns a note that names the searched project, if the linked folder chose it and not the command. */
function searchNote({ fields, impliedProject }: Call, found: number): string | undefined {
  const project = fields.scope === undefined ? impliedProject()?.slug : undefined
  if (!project) return found === 0 ? 'Nothing found.' : undefined
  const searched = `${found === 0 ? 'Nothing found: searched' : 'Searched'} only in ${project}`
  return `${searched}, the project that this folder is linked to. To search everywhere, add --all-projects.`
}
const storedLines = ({ id, similar }: MemoryStored): string[] => [
  `Stored as ${id}.`,
  ...similar.map((s) => `Similar to ${s.id.slice(0, 13)}: ${safeLine(s.title ?? s.excerpt)}`),
]
const memoryOutput = (m: Memory) =>
  outputOf(
    m,
    ...recordLines(
      {
        Title: m.title,
        Scope: m.scope,
        Tags: m.tags.join(', '),
        Importance: m.importance,
        Stored: timeAgo(m.createdAt),
        Id: m.id,
      },
      m.content,
    ),
  )
const details = [
  clearable(text('-t, --title <title>', 'title')),
  many('--tag <tag>', 'tag', 'tags'),
  count('--importance <number>', 'from 0 to 1'),
  clearable(time('--expires <time>', 'when it expires', 'expiresAt')),
]

export const verbs: Verb[] = [
  {
    name: 'search',
    args: '<words...>',
    about: 'Search by meaning and by words',
    inProject: true,
    fields: [
      ...scopeOptions,
      many('--tag <tag>', 'only memories with this tag', 'tags'),
      { ...many('--kind <kind>', eitherOf(recallNames), 'kinds'), choices: recallNames },
      flag('--old', 'include memories that expired or were replaced'),
      count('-n, --limit <number>', 'maximum number of results (default: 10)'),
    ],
    examples: [
      'tutti memory search why do we lock the folder',
      'tutti memory search backups --kind memory --kind note',
    ],
    run: async (call) => {
      const hits = await call.client.post<MemoryHits>('/api/memories/search', {
        ...(await scopedFields(call)),
        query: call.args.join(' '),
      })
      return {
        value: hits,
        lines: hits.items.flatMap((hit) => [
          `${safeLine(hit.title ?? hit.kind)}  ${dim(hitLine(hit))}`,
          ...paragraphLines(hit.content).map((line) => `  ${line}`),
          '',
        ]),
        note: searchNote(call, hits.items.length),
      }
    },
  },
  {
    name: 'add',
    args: '<content...>',
    about: 'Store a memory, or several; "-" reads one from standard input',
    aliases: ['store', 'create'],
    inProject: true,
    fields: [
      ...details,
      ...scopeOptions,
      text('--source <text>', 'source of the memory'),
      reference('--supersedes <memory>', 'earlier memory that the new one replaces', '/api/memories', 'supersedes'),
    ],
    examples: ['tutti memory add "Two writers damaged the folder" -t Lock --tag db', 'tutti memory add - < lessons.md'],
    run: async (call) => {
      const shared = await scopedFields(call)
      const memories = call.args.map((content) => ({ content, ...shared }))
      if (memories.length > 1) {
        const stored = await call.client.post<MemoriesStored>('/api/memories/batch', { memories })
        return outputOf(stored, ...stored.items.flatMap(storedLines))
      }
      const stored = await call.client.post<MemoryStored>('/api/memories', memories[0])
      return outputOf(stored, ...storedLines(stored))
    },
  },
  {
    name: 'list',
    about: 'List memories, last updated first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      ...scopeOptions,
      text('--tag <tag>', 'only memories with this tag'),
      time('--since <time>', 'only at or after this time'),
      time('--until <time>', 'only before this time'),
      flag('--old', 'include memories that expired or were replaced'),
      ...sorting('updatedAt', 'createdAt', 'importance'),
      ...paging,
    ],
    examples: ['tutti memory list', 'tutti memory list --scope agent --scope-id coder-x7k2p9'],
    run: async ({ client, fields, inProject }) => {
      const { scope, scopeId } = fields as { scope?: string; scopeId?: string }
      // The filter accepts only ids.
      const which = scopeId && { scopeId: await findId(client, `/api/${scope ?? 'project'}s`, scopeId) }
      return listOutput(
        await fetchPages<MemoryItem>(client, '/api/memories', {
          ...fields,
          ...which,
          ...(scope === undefined && (await inProject())),
        }),
        [
          { title: 'Id', of: (m) => m.id.slice(0, 13) },
          { title: 'Scope', of: (m) => m.scope },
          { title: 'What', of: (m) => m.title ?? m.excerpt, wide: true },
          { title: 'Stored', of: (m) => timeAgo(m.createdAt) },
        ],
        'No memories.',
      )
    },
  },
  {
    name: 'show',
    args: '<memory>',
    about: 'Show a memory',
    examples: ['tutti memory show 019a8a7e-5c1f'],
    run: async ({ client, args }) => memoryOutput(await client.get<Memory>(pathTo('/api/memories/:id', ...args))),
  },
  {
    name: 'update',
    args: '<memory>',
    about: 'Update a memory',
    fields: [text('-c, --content <text>', 'new text; "-" reads standard input'), ...details],
    examples: ['tutti memory update 019a8a7e-5c1f --importance 0.9'],
    run: async ({ client, args, fields }) =>
      memoryOutput(await client.request<Memory>('PATCH', pathTo('/api/memories/:id', ...args), fields)),
  },
  {
    name: 'delete',
    args: '<memory>',
    about: 'Delete a memory permanently',
    examples: ['tutti memory delete 019a8a7e-5c1f'],
    run: async ({ client, args }) =>
      outputOf(await client.request('DELETE', pathTo('/api/memories/:id', ...args)), `Deleted memory ${args[0]}.`),
  },
]
