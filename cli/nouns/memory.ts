import type { Memory, MemoryHits, MemoryItem, MemoryStored } from '../../src/features/memory/schema.ts'
import { at, idOf, projectId } from '../api/reference.ts'
import { ago, dim, paragraphs, plain, record } from '../terminal/output.ts'
import { type Call, clearable, count, flag, many, reference, shown, text, time, type Verb } from './noun.ts'
import { listed, pages, paging, sorting } from './resource.ts'

const place = [
  text('--scope <scope>', 'agent, project or session'),
  text('--scope-id <which>', 'which one: id, slug or key'),
]
const scoped = async ({ client, fields, project }: Call) => {
  const named = fields.scope === undefined ? await project() : undefined
  return named ? { ...fields, scope: 'project', scopeId: await projectId(client, named) } : fields
}
const one = (m: Memory) =>
  shown(
    m,
    ...record(
      {
        Title: m.title,
        Scope: m.scope,
        Tags: m.tags.join(', '),
        Importance: m.importance,
        Stored: ago(m.createdAt),
        Id: m.id,
      },
      m.content,
    ),
  )
const said = [
  clearable(text('-t, --title <title>', 'a title')),
  many('--tag <tag>', 'a tag', 'tags'),
  count('--importance <number>', '0 to 1'),
  clearable(time('--expires <time>', 'forget it then', 'expiresAt')),
]

export const verbs: Verb[] = [
  {
    name: 'search',
    args: '<words...>',
    about: 'Find by meaning and by words',
    inProject: true,
    fields: [
      ...place,
      many('--tag <tag>', 'only those with it', 'tags'),
      many('--kind <kind>', 'memory, note, decision, spec, task or session', 'kinds'),
      flag('--old', 'also what has expired or was replaced'),
      count('-n, --limit <number>', 'at most so many; 10 unless told'),
    ],
    examples: [
      'tutti memory search why do we lock the folder',
      'tutti memory search backups --kind memory --kind note',
    ],
    run: async (call) => {
      const hits = await call.client.post<MemoryHits>('/api/memories/search', {
        ...(await scoped(call)),
        query: call.args.join(' '),
      })
      return {
        value: hits,
        lines: hits.items.flatMap((hit) => [
          `${plain(hit.title ?? hit.kind)}  ${dim(`${hit.kind} ${hit.id.slice(0, 13)}, ${hit.score.toFixed(2)}, ${ago(hit.at)}`)}`,
          ...paragraphs(hit.content).map((line) => `  ${line}`),
          '',
        ]),
        note: hits.items.length === 0 ? 'Nothing is like that.' : undefined,
      }
    },
  },
  {
    name: 'add',
    args: '<content>',
    about: 'Remember something; - reads it from standard input',
    aliases: ['store', 'create'],
    inProject: true,
    fields: [
      ...said,
      ...place,
      text('--source <text>', 'where it is from'),
      reference('--supersedes <memory>', 'an earlier one that it replaces', '/api/memories', 'supersedes'),
    ],
    examples: ['tutti memory add "Two writers damaged the folder" -t Lock --tag db', 'tutti memory add - < lessons.md'],
    run: async (call) => {
      const stored = await call.client.post<MemoryStored>('/api/memories', {
        content: call.args[0],
        ...(await scoped(call)),
      })
      return shown(
        stored,
        `Stored as ${stored.id}.`,
        ...(stored.similar ?? []).map((s) => `Like ${s.id.slice(0, 13)}: ${plain(s.title ?? s.excerpt)}`),
      )
    },
  },
  {
    name: 'list',
    about: 'List memories, last changed first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      ...place,
      text('--tag <tag>', 'only those with it'),
      time('--since <time>', 'at or after'),
      time('--until <time>', 'before'),
      flag('--old', 'also what has expired or was replaced'),
      ...sorting('updatedAt', 'createdAt', 'importance'),
      ...paging,
    ],
    examples: ['tutti memory list', 'tutti memory list --scope agent --scope-id coder-x7k2p9'],
    run: async ({ client, fields, inProject }) => {
      const { scope, scopeId } = fields as { scope?: string; scopeId?: string }
      // The filter takes ids alone.
      const which = scopeId && { scopeId: await idOf(client, `/api/${scope ?? 'project'}s`, scopeId) }
      return listed(
        await pages<MemoryItem>(client, '/api/memories', {
          ...fields,
          ...which,
          ...(scope === undefined && (await inProject())),
        }),
        [
          { title: 'Id', of: (m) => m.id.slice(0, 13) },
          { title: 'Scope', of: (m) => m.scope },
          { title: 'What', of: (m) => m.title ?? m.excerpt, wide: true },
          { title: 'Stored', of: (m) => ago(m.createdAt) },
        ],
        'Nothing is remembered.',
      )
    },
  },
  {
    name: 'show',
    args: '<memory>',
    about: 'Show a memory',
    examples: ['tutti memory show 019a8a7e-5c1f'],
    run: async ({ client, args }) => one(await client.get<Memory>(at('/api/memories/:id', ...args))),
  },
  {
    name: 'update',
    args: '<memory>',
    about: 'Change a memory',
    fields: [text('-c, --content <text>', 'what it says; - reads it from standard input'), ...said],
    examples: ['tutti memory update 019a8a7e-5c1f --importance 0.9'],
    run: async ({ client, args, fields }) =>
      one(await client.request<Memory>('PATCH', at('/api/memories/:id', ...args), fields)),
  },
  {
    name: 'delete',
    args: '<memory>',
    about: 'Forget a memory, for good',
    examples: ['tutti memory delete 019a8a7e-5c1f'],
    run: async ({ client, args }) =>
      shown(await client.request('DELETE', at('/api/memories/:id', ...args)), `Forgot ${args[0]}.`),
  },
]
