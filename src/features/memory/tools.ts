import { Type } from '@sinclair/typebox'
import { invalid } from '../../errors.ts'
import {
  agent,
  budgetTokens,
  listing,
  oneOrSeveral,
  project,
  reference,
  several,
  since,
  supersedes,
  tags,
  until,
} from '../../mcp/arguments.ts'
import { tool } from '../../mcp/tool.ts'
import { memoryScopes, recallNames } from '../../records/names.ts'
import { array, int, object, oneOf, optional, text, title } from '../../schema.ts'
import { MemoryCreate, type MemoryHits, type MemoryStored } from './schema.ts'
import * as memory from './service.ts'
import { withScope, withShared } from './target.ts'

const { importance, embedding } = MemoryCreate.properties
/** What a memory is about: one of the first three, or `scope` and `scopeId`, which are not listed. */
const targetArguments = {
  project: optional(project),
  agent: optional(agent),
  session: optional(reference),
  scope: optional(oneOf(memoryScopes)),
  scopeId: optional(reference),
}

const memoryArguments = {
  tags,
  ...targetArguments,
  title: optional(text(200)),
  importance,
  supersedes,
  embedding,
}
const unlisted = ['scope', 'scopeId'] as const
const storedMemory = ({ id, similar }: MemoryStored) => ({ id, similar })

/** If all hits have the same origin, it is named once. */
function searchResult({ items, ...rest }: MemoryHits) {
  const [first, ...others] = items
  const common = others.length > 0 && others.every(({ origin }) => origin === first?.origin) ? first?.origin : undefined
  return {
    origin: common,
    items: items.map(({ meaning: _, at: __, projectId: ___, createdById: ____, id, origin, ...hit }) => ({
      ...(!hit.key && { id }),
      ...hit,
      ...(!common && { origin }),
    })),
    ...rest,
  }
}

export const memoryTools = [
  tool({
    name: 'store_memory',
    title: 'Store memory',
    description: 'Store a fact for later: a finding, a reason. Search first; supersedes replaces an older memory.',
    toolset: 'memory',
    input: object({
      content: optional(title(32_768)),
      memories: optional(
        Type.Array(object({ ...memoryArguments, content: title(32_768) }), { minItems: 1, maxItems: 50 }),
      ),
      ...memoryArguments,
    }),
    listedAs: { memories: several, importance: Type.Number({ maximum: 1, default: 0.5 }) },
    unlisted: [...unlisted, 'embedding'],
    action: memory.storeMany,
    with: ({ content, memories, ...shared }) => {
      if ((content === undefined) === (memories === undefined)) throw oneOrSeveral('content', 'memories')
      const single = memories && (['supersedes', 'embedding'] as const).find((name) => shared[name] !== undefined)
      if (single) throw invalid(`/${single}`, `${single} belongs to one memory. Send it inside memories.`)
      const list = content === undefined ? (memories ?? []) : [{ content }]
      return { memories: list.map((one) => withShared(withScope(shared), withScope(one))) }
    },
    show: ({ items }) =>
      items.length === 1 && items[0] ? storedMemory(items[0]) : { memories: items.map(storedMemory) },
  }),
  tool({
    name: 'search_memory',
    title: 'Search memory',
    description: 'Search by meaning and words. Returns score, age and origin.',
    toolset: 'memory',
    input: object({
      query: title(1000),
      tags,
      ...targetArguments,
      kinds: optional(array(oneOf(recallNames), recallNames.length, { description: 'Default: memory' })),
      limit: optional(int({ min: 1, max: 50, default: 10 })),
      budgetTokens: budgetTokens(100),
    }),
    unlisted,
    action: memory.search,
    with: withScope,
    show: searchResult,
  }),
  tool({
    name: 'list_memories',
    title: 'List memories',
    description: 'List memories by tags, date or what they are about.',
    toolset: 'memory',
    input: object({
      tags,
      since,
      until,
      ...targetArguments,
      ...listing,
    }),
    unlisted,
    action: memory.list,
    with: (input) => ({ limit: 20, ...withScope(input), mustExist: true, total: true }),
    whole: (ctx, { id }) => memory.get(ctx, { ref: id }),
    // Agents do not need the name of the embedding model.
    show: ({ items, ...rest }) => ({ items: items.map(({ embeddingModel: _, ...item }) => item), ...rest }),
  }),
  tool({
    name: 'delete_memory',
    title: 'Delete memory',
    description: 'Delete one memory. To correct it, store a new one with supersedes instead.',
    toolset: 'memory',
    input: object({ memory: reference }),
    action: memory.remove,
    with: ({ memory }) => ({ ref: memory }),
  }),
  tool({
    name: 'clear_memory',
    title: 'Clear memory',
    description: 'Delete all memories of a scope. Call without confirm to get the count, then with confirm: count.',
    toolset: 'memory',
    input: object({ scope: oneOf(memoryScopes), scopeId: reference, confirm: optional(int()) }),
    action: memory.clear,
    with: (input) => input,
  }),
]
