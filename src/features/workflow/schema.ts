import { Type } from '@sinclair/typebox'
import { priorities } from '../../records/task-states.ts'
import {
  array,
  bool,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  openFilter,
  optional,
  pageOf,
  paging,
  partial,
  permissions,
  recordFields,
  type Static,
  text,
  title,
  url,
} from '../../schema.ts'
import { LinkedRecord } from '../links/schema.ts'
import { projectFilter } from '../projects/schema.ts'
import { Evidence, gateName, kinds, Missing, Workflow } from '../projects/workflow/workflow-schema.ts'
import { TaskItem } from '../tasks/schema.ts'

const status = text(63, { example: 'in_progress', description: "A state of the project's workflow" })
const featureTitle = title(200, { example: 'One process for each folder' })
const description = text(50_000, { example: 'A second process that opens the data folder is refused.' })
const assigneeRef = text(254, {
  minLength: 1,
  example: 'me',
  description: '`me`, a user id or e-mail, an agent id or slug',
})

const Assignee = object({
  type: oneOf(['user', 'agent']),
  id: id(),
  name: text(100, { example: 'Ada Lovelace' }),
})
/** `agent`: called with an MCP token of the user with this id. */
const SaidBy = object({
  type: oneOf(['user', 'agent', 'system']),
  id: nullable(id()),
  name: text(100, { example: 'Ada Lovelace' }),
})

/** List item: a feature without its long texts. */
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
      missing: Type.Array(Missing, { description: 'What is needed to get there' }),
    }),
  ),
})
export type Feature = Static<typeof Feature>

const featureActions = ['update', 'advance', 'verify', 'review', 'override', 'remove'] as const
export type FeatureAction = (typeof featureActions)[number]

export const MissingItem = object({
  item: text(500, { example: '3f98b0f' }),
  reason: oneOf(['not_found', 'failed'], { description: 'failed: a CI run that did not succeed' }),
})
export type MissingItem = Static<typeof MissingItem>

export const SubmittedEvidence = object({
  id: id(),
  gate: gateName,
  level: oneOf(['reported', 'missing', 'observed', 'verified'], {
    description: 'missing: the code host does not have something that it names',
  }),
  evidence: Evidence,
  missing: nullable(Type.Array(MissingItem, { description: 'With level missing' })),
  reopenedAt: nullable(instant({ description: 'The gate was opened again: this evidence no longer counts' })),
  actor: SaidBy,
  createdAt: instant(),
  verified: nullable(object({ by: SaidBy, at: instant() }, { description: 'The person who checked it' })),
})
export type SubmittedEvidence = Static<typeof SubmittedEvidence>

export const FeatureDetail = object({
  ...Feature.properties,
  states: Type.Array(text(63, { example: 'in_progress' }), { description: "All states of the project's workflow" }),
  can: permissions(featureActions),
  spec: nullable(
    object({
      id: id(),
      title: text(200),
      slug: text(80),
      status: text(20, { example: 'approved' }),
      version: int({ min: 1 }),
    }),
  ),
  evidence: Type.Array(SubmittedEvidence),
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
    { description: 'Pull requests opened for it through this server' },
  ),
})
export type FeatureDetail = Static<typeof FeatureDetail>

/** A feature with its project, workflow, tasks and blockers, for surfaces that show all of it at once. */
export const FeatureView = object({
  ...FeatureDetail.properties,
  project: object({ id: id(), name: text(100, { example: 'Tutti' }), slug: text(63, { example: 'tutti' }) }),
  workflow: Workflow,
  tasks: Type.Array(TaskItem, { description: 'The tasks of `taskIds` that you may read, in that order' }),
  blockers: Type.Array(object({ id: id(), title: featureTitle, status }), {
    description: 'The features of `blockedBy`',
  }),
  links: Type.Array(LinkedRecord),
})
export type FeatureView = Static<typeof FeatureView>

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
  kind: optional(oneOf(kinds, { description: 'Default: feature' })),
  priority: optional(oneOf(priorities, { description: 'Default: medium' })),
  assignee: optional(assigneeRef),
  taskIds: optional(taskRefs),
  specId: optional(specRef),
  blockedBy: optional(featureRefs),
})
export type FeatureCreate = Static<typeof FeatureCreate>

const level = oneOf(['reported', 'verified'], { description: 'verified: checked by a person signed in at a browser' })

export const FeaturePatch = partial(
  object({
    title: featureTitle,
    description: nullable(description),
    kind: oneOf(kinds, { description: 'Can only change before work begins, because it decides the gates' }),
    priority: oneOf(priorities),
    assignee: nullable(assigneeRef),
    taskIds: taskRefs,
    specId: nullable(specRef),
    blockedBy: featureRefs,
    status: text(63, { example: 'in_progress', description: 'Moves it through the same gates as advance' }),
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
  projectId: projectFilter,
  status: optional(text(63)),
  open: openFilter,
  atGate: optional(bool({ description: 'true: only those that wait at a gate or for a review; false: only others' })),
  kind: optional(oneOf(kinds)),
  assignee: optional(
    text(254, { minLength: 1, example: 'me', description: `${assigneeRef.description}; \`none\`: unassigned` }),
  ),
  search: optional(text(200, { description: 'Words that must all occur' })),
})
export type FeatureQuery = Static<typeof FeatureQuery>
export const FeaturePage = object({
  ...pageOf(FeatureItem).properties,
  can: optional(permissions(['create'])),
})
export type FeaturePage = Static<typeof FeaturePage>
