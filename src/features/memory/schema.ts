import { Type } from '@sinclair/typebox'
import { memoryScopes, recallNames, searchNames } from '../../records/names.ts'
import { UserOrAgent } from '../../records/user-or-agent.ts'
import {
  array,
  bool,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  partial,
  permissions,
  recordFields,
  type Static,
  text,
  time,
  title,
} from '../../schema.ts'
import { indexing } from '../search/schema.ts'

export const CONTENT_BYTES = 32 << 10

const content = title(CONTENT_BYTES, {
  example: 'The backup job must run before migrations: restores need the old schema.',
})
const tags = array(title(50, { example: 'backup' }), 50, { uniqueItems: true })
const importance = Type.Number({ minimum: 0, maximum: 1, description: 'Default: 0.5', examples: [0.5] })
const name = text(200, { example: 'Backups before migrations' })

const item = {
  ...recordFields,
  organizationId: id(),
  projectId: nullable(id()),
  scope: oneOf(memoryScopes),
  scopeId: id(),
  createdById: nullable(id({ description: 'The user who stored it, directly or through an agent' })),
  author: UserOrAgent,
  title: nullable(name),
  tags,
  source: nullable(text(500)),
  importance,
  expiresAt: nullable(instant()),
  supersedes: nullable(id()),
  supersededById: nullable(id()),
  embeddingModel: nullable(
    text(100, { description: 'Null until its embedding is made', example: 'local:all-MiniLM-L6-v2:u8:1' }),
  ),
}
export const Memory = object({ ...item, content })
export type Memory = Static<typeof Memory>
const memoryActions = ['update', 'remove'] as const
/** One memory as the web API reads it. */
export const MemoryRead = object({ ...Memory.properties, can: optional(permissions(memoryActions)) })
export type MemoryRead = Static<typeof MemoryRead>
export const MemoryItem = object({
  ...item,
  excerpt: text(200, { example: 'The backup job must run before migrations…' }),
})
export type MemoryItem = Static<typeof MemoryItem>
export const MemoryPage = object({
  ...pageOf(MemoryItem).properties,
  can: optional(permissions(['store', 'clear'])),
})
export type MemoryPage = Static<typeof MemoryPage>

export const MemoryCreate = object({
  content,
  title: optional(name),
  tags: optional(tags),
  scope: optional(oneOf(memoryScopes, { description: 'Default: project' })),
  scopeId: optional(
    text(100, {
      minLength: 1,
      description: 'Agent, project or session. Default: that of the token',
      example: 'tutti',
    }),
  ),
  importance: optional(importance),
  source: optional(text(500)),
  expiresAt: optional(time()),
  supersedes: optional(id({ description: 'A memory that this one replaces' })),
  embedding: optional(Type.Array(Type.Number(), { maxItems: 4000, description: 'Vector, if the client computes it' })),
})
export type MemoryCreate = Static<typeof MemoryCreate>
const Duplicate = object({
  id: id(),
  title: nullable(name),
  excerpt: text(200),
  similarity: Type.Number({ examples: [0.93] }),
})
export const MemoryStored = object({
  ...Memory.properties,
  similar: Type.Array(Duplicate, { description: 'Memories with nearly the same meaning' }),
})
export type MemoryStored = Static<typeof MemoryStored>

const { scope, scopeId } = MemoryCreate.properties
/** Several at once, all or none. */
export const MemoriesCreate = object({
  scope,
  scopeId,
  memories: Type.Array(MemoryCreate, {
    minItems: 1,
    maxItems: 50,
    description: 'The scope of a memory overrides the shared one',
  }),
})
export type MemoriesCreate = Static<typeof MemoriesCreate>
export const MemoriesStored = object({ items: Type.Array(MemoryStored) })
export type MemoriesStored = Static<typeof MemoriesStored>

export const MemoryPatch = partial(
  object({
    content,
    title: nullable(name),
    tags,
    importance,
    source: nullable(text(500)),
    expiresAt: nullable(time()),
  }),
)
export type MemoryPatch = Static<typeof MemoryPatch>

export const MemoryQuery = object({
  ...paging('updatedAt', 'createdAt', 'importance'),
  tag: optional(text(50)),
  scope: optional(oneOf(memoryScopes)),
  scopeId: optional(id()),
  projectId: optional(id()),
  since: optional(time()),
  until: optional(time()),
  old: optional(bool({ description: 'Include expired and superseded memories' })),
})
export type MemoryQuery = Static<typeof MemoryQuery>

export const MemorySearch = object({
  query: title(1000, { example: 'when do backups run?' }),
  scope: optional(oneOf(memoryScopes)),
  scopeId: optional(text(100, { minLength: 1, example: 'tutti' })),
  tags: optional(tags),
  kinds: optional(
    array(oneOf(recallNames), recallNames.length, {
      uniqueItems: true,
      description: 'Default: memory',
    }),
  ),
  limit: optional(int({ min: 1, max: 50, description: 'Default: 10' })),
  budgetTokens: optional(int({ min: 100, max: 50_000, description: 'Cut the response to about this many tokens' })),
  old: optional(bool({ description: 'Include expired and superseded memories' })),
})
export type MemorySearch = Static<typeof MemorySearch>
export const MemoryHit = object({
  kind: oneOf(searchNames),
  id: id(),
  key: nullable(text(100, { example: 'TUT-42', description: 'Key or slug, if its kind has one' })),
  status: nullable(text(63, { example: 'todo', description: 'State, if its kind has one' })),
  title: nullable(text(300)),
  content: text(CONTENT_BYTES),
  tags,
  score: Type.Number({ examples: [0.82] }),
  meaning: nullable(Type.Number({ description: 'Cosine; null if only words were compared', examples: [0.61] })),
  at: instant(),
  age: text(40, { example: '3 days' }),
  origin: text(300, { example: 'project tutti, by Ada Lovelace' }),
  projectId: nullable(id()),
  createdById: nullable(id({ description: 'Who created the record' })),
})
export type MemoryHit = Static<typeof MemoryHit>
export const MemoryHits = object({
  items: Type.Array(MemoryHit),
  mode: oneOf(['hybrid', 'words']),
  truncated: optional(bool()),
  indexing,
})
export type MemoryHits = Static<typeof MemoryHits>

export const MemoryClear = object({
  scope: oneOf(memoryScopes),
  scopeId: text(100, { minLength: 1, example: 'tutti' }),
  confirm: optional(int({ description: 'The count that the first call, without confirm, returned' })),
})
export type MemoryClear = Static<typeof MemoryClear>
export const MemoryCleared = object({
  count: int(),
  removed: bool({ description: 'false: call again with confirm set to count' }),
})
export type MemoryCleared = Static<typeof MemoryCleared>
