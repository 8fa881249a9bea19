import { array, id, nullable, object, oneOf, optional, pageOf, paging, recordFields, type Static, text, title } from '../../schema.ts'
import { priorities } from '../planning/schema.ts'

const list = (example: string) => optional(array(title(500, { example }), 100))

/** What shows that a gate is passed. */
export const Evidence = object({
  summary: title(10_000, { example: 'Folder lock added; a second process exits with a clear line' }),
  files: list('src/db/lock.ts'),
  commits: list('3f98b0f'),
  pullRequests: list('https://git.example.com/tutti/pull/7'),
  testRuns: list('bun test test/db: 214 pass'),
  links: list('https://ci.example.com/run/42'),
})
export type Evidence = Static<typeof Evidence>

export const Assignee = object({ type: oneOf(['user', 'agent']), id: id(), name: text(100, { example: 'Ada Lovelace' }) })

export const Feature = object({
  ...recordFields,
  organizationId: id(),
  projectId: id(),
  createdById: nullable(id()),
  title: title(200, { example: 'One process for each folder' }),
  description: nullable(text(10_000)),
  kind: text(40, { example: 'feature' }),
  priority: oneOf(priorities),
  status: text(63, { example: 'in_progress', description: "A state of the project's workflow" }),
  assignee: nullable(Assignee),
  taskIds: array(id(), 1000),
  specId: nullable(id()),
})
export type Feature = Static<typeof Feature>

export const FeatureQuery = object({
  ...paging('updatedAt', 'createdAt', 'title'),
  projectId: optional(id()),
  status: optional(text(63)),
  search: optional(text(200, { description: 'Words that all must occur' })),
})
export type FeatureQuery = Static<typeof FeatureQuery>
export const FeaturePage = pageOf(Feature)
export type FeaturePage = Static<typeof FeaturePage>
