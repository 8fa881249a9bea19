import { Type } from '@sinclair/typebox'
import { priorities } from '../../records/work.ts'
import {
  array,
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
  recordFields,
  type Static,
  text,
  title,
  url,
  WayOut,
} from '../../schema.ts'

export const kinds = ['feature', 'bug', 'hotfix', 'chore', 'test'] as const
export type Kind = (typeof kinds)[number]

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

// ---- the workflow of a project

export const evidenceParts = ['summary', 'files', 'commits', 'pullRequests', 'testRuns', 'links'] as const
const stateName = text(63, { pattern: '^[a-z][a-z0-9_]*$', example: 'in_progress' })
const gateName = text(63, { pattern: '^[a-z][a-z0-9_]*$', example: 'code_complete' })

export const Gate = object({
  name: gateName,
  needs: array(
    object({
      anyOf: Type.Array(oneOf(evidenceParts), { minItems: 1, maxItems: evidenceParts.length }),
      what: title(200, { example: 'at least one file path, commit or pull request' }),
    }),
    10,
  ),
  skipFor: optional(array(oneOf(kinds), kinds.length)),
})

/** `settings.workflow` of a project. A state that nothing leads out of is where features are closed. */
export const Workflow = object({
  initial: stateName,
  states: array(stateName, 30),
  transitions: array(
    object({
      from: stateName,
      to: stateName,
      by: optional(
        oneOf(['advance', 'approved', 'changes_requested'], {
          description: 'advance unless told; the others are verdicts',
        }),
      ),
      gate: optional(gateName),
    }),
    100,
  ),
  gates: optional(array(Gate, 30)),
})
export type Workflow = Static<typeof Workflow>

export const Missing = object({
  item: text(100, { example: 'evidence.files' }),
  needs: text(500, { example: 'at least one file path, commit or pull request' }),
  call: text(500, { example: 'advance_feature', description: 'The tool that provides it' }),
  next: WayOut,
})
export type Missing = Static<typeof Missing>

// ---- features

const status = text(63, { example: 'in_progress', description: "A state of the project's workflow" })
const featureTitle = title(200, { example: 'One process for each folder' })
const description = text(50_000, { example: 'A second process that opens the data folder is refused.' })
const assigneeRef = text(254, {
  minLength: 1,
  example: 'me',
  description: '`me`, a user id or e-mail, an agent id or slug',
})

export const Assignee = object({
  type: oneOf(['user', 'agent']),
  id: id(),
  name: text(100, { example: 'Ada Lovelace' }),
})
/** `agent`: said through the MCP token of the user with this id. */
const SaidBy = object({
  type: oneOf(['user', 'agent', 'system']),
  id: nullable(id()),
  name: text(100, { example: 'Ada Lovelace' }),
})

/** Lists carry no bodies. */
export const FeatureItem = object({
  ...recordFields,
  organizationId: id(),
  projectId: id(),
  createdById: nullable(id()),
  title: featureTitle,
  kind: oneOf(kinds),
  priority: oneOf(priorities),
  status,
  assignee: nullable(Assignee),
  taskIds: Type.Array(id()),
  specId: nullable(id()),
  gates: Type.Array(object({ gate: gateName, state: oneOf(['open', 'passed', 'skipped']) })),
})
export type FeatureItem = Static<typeof FeatureItem>

export const Feature = object({
  ...FeatureItem.properties,
  description: nullable(description),
  blockedBy: Type.Array(id()),
  next: nullable(
    object({
      to: text(63, { example: 'in_testing' }),
      missing: Type.Array(Missing, { description: 'What has to be brought along to get there' }),
    }),
  ),
})
export type Feature = Static<typeof Feature>

export const FeatureDetail = object({
  ...Feature.properties,
  spec: nullable(
    object({
      id: id(),
      title: text(200),
      slug: text(80),
      status: text(20, { example: 'approved' }),
      version: int({ min: 1 }),
    }),
  ),
  evidence: Type.Array(
    object({
      id: id(),
      gate: gateName,
      level: oneOf(['reported', 'observed', 'verified']),
      evidence: Evidence,
      actor: SaidBy,
      createdAt: instant(),
    }),
  ),
  reviews: Type.Array(
    object({
      id: id(),
      verdict: oneOf(['approved', 'changes_requested']),
      comments: nullable(text(10_000)),
      actor: SaidBy,
      createdAt: instant(),
    }),
  ),
  pullRequests: Type.Array(
    object({
      number: int({ min: 1, example: 7 }),
      title: text(200, { example: 'Lock the data folder' }),
      url: url({ example: 'https://github.com/tutti/tutti/pull/7' }),
    }),
    { description: 'Those that were opened for it from here' },
  ),
})
export type FeatureDetail = Static<typeof FeatureDetail>

const taskRefs = array(text(100, { minLength: 1, example: 'TUT-42' }), 100, {
  uniqueItems: true,
  description: 'Tasks by id or key',
})
const featureRefs = array(text(100, { minLength: 1, example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }), 50, {
  uniqueItems: true,
  description: 'Features of this project that must be closed first',
})

const specRef = text(100, {
  minLength: 1,
  description: 'Spec of the same project: id, slug or id prefix',
  example: 'folder-lock',
})

export const FeatureCreate = object({
  title: featureTitle,
  description: optional(description),
  kind: optional(oneOf(kinds, { description: 'feature unless told' })),
  priority: optional(oneOf(priorities, { description: 'medium unless told' })),
  assignee: optional(assigneeRef),
  taskIds: optional(taskRefs),
  specId: optional(specRef),
  blockedBy: optional(featureRefs),
})
export type FeatureCreate = Static<typeof FeatureCreate>

const level = oneOf(['reported', 'verified'], { description: 'verified: a person, signed in, has looked for himself' })

export const FeaturePatch = partial(
  object({
    title: featureTitle,
    description: nullable(description),
    kind: oneOf(kinds, { description: 'Only before work begins: it decides which gates there are' }),
    priority: oneOf(priorities),
    assignee: nullable(assigneeRef),
    taskIds: taskRefs,
    specId: nullable(specRef),
    blockedBy: featureRefs,
    status: text(63, { example: 'in_progress', description: 'Moves it, through the same gates as advancing it' }),
    evidence: Evidence,
    level,
  }),
)
export type FeaturePatch = Static<typeof FeaturePatch>

export const FeatureAdvance = object({ evidence: optional(Evidence), level: optional(level) })
export type FeatureAdvance = Static<typeof FeatureAdvance>

export const FeatureReview = object({
  verdict: oneOf(['approved', 'changes_requested']),
  comments: optional(text(10_000, { example: 'The error message does not name the other process.' })),
})
export type FeatureReview = Static<typeof FeatureReview>

export const FeatureOverride = object({ status, reason: title(1000, { example: 'Shipped before this board existed' }) })
export type FeatureOverride = Static<typeof FeatureOverride>

export const FeatureQuery = object({
  ...paging('updatedAt', 'createdAt', 'title'),
  projectId: optional(id()),
  status: optional(text(63)),
  kind: optional(oneOf(kinds)),
  search: optional(text(200, { description: 'Words that all must occur' })),
})
export type FeatureQuery = Static<typeof FeatureQuery>
export const FeaturePage = pageOf(FeatureItem)
export type FeaturePage = Static<typeof FeaturePage>
