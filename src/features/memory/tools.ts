import { listing, tool } from '../../mcp/tool.ts'
import { array, int, object, oneOf, optional, text, time, title } from '../../schema.ts'
import { MemoryCreate, scopes } from './schema.ts'
import * as memory from './service.ts'

const { importance, embedding } = MemoryCreate.properties
const scope = optional(oneOf(scopes))
const scopeId = optional(text(100, { description: 'Project, agent or session it is about' }))
const tags = optional(array(title(50), 50, { uniqueItems: true }))

export const memoryTools = [
  tool({
    name: 'store_memory',
    title: 'Store memory',
    description: 'Store a fact for later: a finding, a reason. Search first; supersedes replaces an older memory.',
    toolset: 'memory',
    input: object({
      content: title(32_768),
      tags,
      scope,
      scopeId,
      title: optional(text(200)),
      importance,
      supersedes: optional(text(36, { minLength: 8, description: 'Id or id prefix' })),
      embedding,
    }),
    action: memory.store,
    with: (input) => input,
    show: ({ id, similar }) => ({ id, similar }),
  }),
  tool({
    name: 'search_memory',
    title: 'Search memory',
    description: 'Search by meaning and words. Returns score, age and origin.',
    toolset: 'memory',
    input: object({
      query: title(1000),
      project: optional(text(100)),
      scope,
      scopeId,
      tags,
      kinds: optional(
        array(oneOf(['memory', 'note', 'decision', 'spec', 'task', 'session']), 6, { description: 'Default: memory' }),
      ),
      limit: optional(int({ min: 1, max: 50 })),
      budgetTokens: optional(int({ min: 100, max: 50_000 })),
    }),
    action: memory.search,
    with: ({ project, ...input }) =>
      project === undefined ? input : { ...input, scope: 'project' as const, scopeId: project },
    show: ({ items, ...rest }) => ({
      items: items.map(({ meaning: _, at: __, projectId: ___, id, ...hit }) => (hit.key ? hit : { id, ...hit })),
      ...rest,
    }),
  }),
  tool({
    name: 'list_memories',
    title: 'List memories',
    description: 'List memories by tag, date or scope, last changed first.',
    toolset: 'memory',
    input: object({
      tag: optional(text(50)),
      since: optional(time()),
      until: optional(time()),
      scope,
      ...listing,
    }),
    action: memory.list,
    with: (input) => ({ limit: 20, ...input, total: true }),
    whole: (ctx, { id }) => memory.get(ctx, { ref: id }),
  }),
  tool({
    name: 'delete_memory',
    title: 'Delete memory',
    description: 'Delete one memory. To correct it, store a new one with supersedes instead.',
    toolset: 'memory',
    input: object({ memory: text(36, { minLength: 8, description: 'Id or id prefix', example: '019a8a7e-5c1f' }) }),
    action: memory.remove,
    with: ({ memory }) => ({ ref: memory }),
  }),
  tool({
    name: 'clear_memory',
    title: 'Clear memory',
    description: 'Delete all memories of a scope. Call without confirm to get the count, then with confirm: count.',
    toolset: 'memory',
    input: object({ scope: oneOf(scopes), scopeId: text(100, { minLength: 1 }), confirm: optional(int()) }),
    action: memory.clear,
    with: (input) => input,
  }),
]
