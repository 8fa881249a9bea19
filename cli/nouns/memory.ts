import type { Memory, MemoryHits, MemoryItem, MemoryStored } from '../../src/features/memory/schema.ts'
import {
  at,
  type Call,
  count,
  flag,
  listed,
  many,
  type Page,
  paging,
  projectId,
  query,
  record,
  shown,
  text,
  time,
  type Verb,
} from '../noun.ts'
import { ago, dim, plain } from '../output.ts'

const place = [text('--scope <scope>', 'agent, project or session'), text('--scope-id <id>', 'which one')]
const scoped = async ({ client, fields, project }: Call) => {
  const named = fields.scope === undefined ? await project() : undefined
  return named ? { ...fields, scope: 'project', scopeId: await projectId(client, named) } : fields
}
const one = (m: Memory) =>
  shown(
    m,
    ...record(
      { Title: m.title, Scope: m.scope, Tags: m.tags.join(', '), Importance: m.importance, Stored: ago(m.createdAt), Id: m.id },
      m.content,
    ),
  )

export const verbs: Verb[] = [
  {
    name: 'search',
    args: '<words...>',
    about: 'Find by meaning and by words',
    inProject: true,
    fields: [
      ...place,
      many('--tag <tag>', 'only those', 'tags'),
      many('--kind <kind>', 'memory, note, decision, spec, task or session', 'kinds'),
      count('-n, --limit <number>', 'at most so many'),
    ],
    examples: ['memory search why do we lock the folder'],
    run: async (call) => {
      const hits = await call.client.post<MemoryHits>('/api/memories/search', { ...(await scoped(call)), query: call.args.join(' ') })
      return shown(
        hits,
        ...(hits.items.length === 0 ? ['Nothing is like that.'] : []),
        ...hits.items.flatMap((hit) => [
          `${plain(hit.title ?? hit.kind)}  ${dim(`${hit.kind}, ${hit.score.toFixed(2)}, ${ago(hit.at)}`)}`,
          `  ${plain(hit.content)}`,
          '',
        ]),
      )
    },
  },
  {
    name: 'store',
    args: '<content>',
    about: 'Remember something; - reads it from standard input',
    aliases: ['create'],
    inProject: true,
    fields: [
      text('-t, --title <title>', 'a title'),
      many('--tag <tag>', 'a tag', 'tags'),
      ...place,
      count('--importance <number>', '0 to 1'),
      text('--supersedes <id>', 'an earlier one that it replaces'),
    ],
    run: async (call) => {
      const stored = await call.client.post<MemoryStored>('/api/memories', { content: call.args[0], ...(await scoped(call)) })
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
      text('--tag <tag>', 'only those'),
      time('--since <time>', 'at or after'),
      time('--until <time>', 'before'),
      flag('--old', 'also what has expired or was replaced'),
      ...paging,
    ],
    run: async ({ client, fields, project }) => {
      const named = await project()
      return listed(
        await client.get<Page<MemoryItem>>(query('/api/memories', { ...fields, projectId: named && (await projectId(client, named)) })),
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
    about: 'Show one',
    run: async ({ client, args }) => one(await client.get<Memory>(at('/api/memories/:id', ...args))),
  },
  {
    name: 'update',
    args: '<memory>',
    about: 'Change one',
    fields: [
      text('-c, --content <text>', 'what it says; - reads it from standard input'),
      text('-t, --title <title>', 'a title'),
      many('--tag <tag>', 'a tag', 'tags'),
      count('--importance <number>', '0 to 1'),
    ],
    run: async ({ client, args, fields }) => one(await client.request<Memory>('PATCH', at('/api/memories/:id', ...args), fields)),
  },
  {
    name: 'delete',
    args: '<memory>',
    about: 'Forget one',
    run: async ({ client, args }) => shown(await client.request('DELETE', at('/api/memories/:id', ...args)), `Forgot ${args[0]}.`),
  },
]
