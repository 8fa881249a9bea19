import { Type } from '@sinclair/typebox'
import { UserOrAgent } from '../../records/user-or-agent.ts'
import {
  array,
  id,
  instant,
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
  title,
} from '../../schema.ts'
import { LinkedRecord } from '../links/schema.ts'
import { projectFilter } from '../projects/schema.ts'

export const statuses = ['proposed', 'accepted', 'rejected', 'superseded'] as const

export const Alternative = object({
  option: title(1000, { example: 'A lock file' }),
  pros: optional(text(4000)),
  cons: optional(text(4000, { example: 'Stale after a crash' })),
})
export type Alternative = Static<typeof Alternative>

const name = title(200, { example: 'Lock the folder with flock' })
const long = (example: string) => text(20_000, { example })
const tags = array(title(50, { example: 'storage' }), 50, { uniqueItems: true })
const fields = {
  title: name,
  context: nullable(long('Two servers on one folder damaged a database.')),
  decision: title(20_000, { example: 'We hold flock on the folder while the server runs.' }),
  rationale: nullable(long('The kernel drops it with the process.')),
  tags,
}

export const Comment = object({
  id: id(),
  author: UserOrAgent,
  body: text(20_000, { example: 'Agreed.' }),
  createdAt: instant(),
})
export type Comment = Static<typeof Comment>
const item = {
  ...recordFields,
  organizationId: id(),
  createdById: nullable(id()),
  projectId: nullable(id()),
  title: name,
  status: oneOf(statuses),
  tags,
  author: UserOrAgent,
  supersedes: nullable(id()),
  supersededById: nullable(id()),
}
export const DecisionItem = object({
  ...item,
  excerpt: text(200, { example: 'We hold flock on the folder while the server runs.' }),
})
export type DecisionItem = Static<typeof DecisionItem>
export const DecisionPage = object({
  ...pageOf(DecisionItem).properties,
  can: optional(permissions(['create'])),
})
export type DecisionPage = Static<typeof DecisionPage>
export const Decision = object({
  ...item,
  context: fields.context,
  decision: fields.decision,
  rationale: fields.rationale,
  alternatives: array(Alternative, 20),
  outcome: nullable(long('No damage since.')),
})
export type Decision = Static<typeof Decision>
const decisionActions = ['update', 'comment', 'supersede'] as const
export type DecisionAction = (typeof decisionActions)[number]

export const DecisionDetail = object({
  ...Decision.properties,
  discussion: Type.Array(Comment),
  links: Type.Array(LinkedRecord),
  can: optional(permissions(decisionActions)),
})
export type DecisionDetail = Static<typeof DecisionDetail>

const alternatives = array(Type.Union([title(1000, { example: 'A lock file' }), Alternative]), 20)
export const DecisionCreate = object({
  ...partial(object(fields)).properties,
  title: fields.title,
  decision: fields.decision,
  alternatives: optional(alternatives),
  status: optional(oneOf(['proposed', 'accepted'], { description: 'Default: accepted' })),
  projectId: optional(
    text(100, { minLength: 1, description: 'Project: id, slug or key. Default: the whole team', example: 'tutti' }),
  ),
  supersedes: optional(id({ description: 'The decision that this one replaces' })),
})
export type DecisionCreate = Static<typeof DecisionCreate>
export const DecisionLogged = object({
  ...Decision.properties,
  similar: Type.Array(object({ id: id(), title: name, status: oneOf(statuses) })),
})
export type DecisionLogged = Static<typeof DecisionLogged>

export const DecisionPatch = partial(
  object({
    ...fields,
    alternatives,
    status: oneOf(['proposed', 'accepted', 'rejected']),
    outcome: nullable(long('No damage since.')),
  }),
)
export type DecisionPatch = Static<typeof DecisionPatch>
export const CommentCreate = object({ body: title(20_000, { example: 'What about network file systems?' }) })

export const DecisionQuery = object({
  ...paging('updatedAt', 'createdAt'),
  projectId: projectFilter,
  status: optional(oneOf(statuses)),
  search: optional(text(200)),
  tag: optional(text(50)),
})
export type DecisionQuery = Static<typeof DecisionQuery>
