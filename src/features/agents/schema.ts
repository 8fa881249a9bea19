import { Type } from '@sinclair/typebox'
import { memoryScopes } from '../../records/names.ts'
import { Author, scopes } from '../../records/scopes.ts'
import { priorities, statuses } from '../../records/task-states.ts'
import {
  array,
  bool,
  Deleted,
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
  title,
} from '../../schema.ts'
import { ProjectActivity } from '../projects/schema.ts'

export const agentStatuses = ['active', 'archived'] as const
/** The service counts bytes. The schema counts characters and only rejects much longer texts. */
export const PROMPT_BYTES = 64 << 10

/** A filter of lists. */
export const agentFilter = optional(
  text(100, { minLength: 1, description: 'Id or slug of an agent', example: 'reviewer-x7k2p9' }),
)

const name = title(100, { example: 'Reviewer' })
const slug = text(80, { example: 'reviewer-x7k2p9' })
const role = text(200, { example: 'Reviews migrations and queries' })
const persona = text(10_000, { example: 'Terse, asks for a test before an opinion.' })
const systemPrompt = text(PROMPT_BYTES, { example: 'You review database changes.' })
const model = text(100, { example: 'any-large' })
const provider = text(100, { example: 'self-hosted' })
const memoryScope = oneOf(memoryScopes)

export const Agent = object({
  ...recordFields,
  organizationId: nullable(id()),
  createdById: nullable(id()),
  name,
  slug,
  role: nullable(role),
  persona: nullable(persona),
  systemPrompt: nullable(systemPrompt),
  model: nullable(model),
  provider: nullable(provider),
  skills: Type.Array(id(), { description: 'Ids of skills; some may have been deleted since' }),
  memoryScope,
  scope: oneOf(scopes),
  status: oneOf(agentStatuses),
})
export type Agent = Static<typeof Agent>

/** List item: an agent without persona and prompt. */
export const AgentItem = object((({ persona: _, systemPrompt: __, ...rest }) => rest)(Agent.properties))
export type AgentItem = Static<typeof AgentItem>

/** Archiving is an update of `status`. */
const agentActions = ['update', 'remove'] as const

export const AgentDetail = object({
  ...Agent.properties,
  recentActivity: Type.Array(ProjectActivity, { description: 'Changes by the agent, and changes to it' }),
  recentMemories: Type.Array(
    object({
      id: id(),
      title: nullable(text(200, { example: 'Backups before migrations' })),
      excerpt: text(200, { example: 'The backup job must run before migrations…' }),
      tags: array(text(50, { example: 'backup' }), 50),
      updatedAt: instant(),
    }),
  ),
  client: nullable(text(60, { example: 'Claude Code', description: 'The program that it runs in, if known' })),
  for: nullable(
    object(
      { id: id(), name: text(100, { example: 'Ada Lovelace' }) },
      { description: 'The person whose token it was created for' },
    ),
  ),
  gatesPassed: int({ example: 3, description: 'Number of gates that it passed, in features that you can see' }),
  can: optional(permissions(agentActions)),
  openTasks: Type.Array(
    object({
      id: id(),
      key: text(20, { example: 'TUT-42' }),
      title: text(200, { example: 'Lock the data folder' }),
      status: oneOf(statuses),
      priority: oneOf(priorities),
      projectId: id(),
    }),
  ),
})
export const AgentDeleted = object({
  ...Deleted.properties,
  memories: object({
    count: int({ description: 'Number of its memories', example: 12 }),
    kept: bool({ description: 'false: deleted with the agent, and restored with it' }),
  }),
})
export type AgentDeleted = Static<typeof AgentDeleted>
export type AgentDetail = Static<typeof AgentDetail>

const skillRefs = array(text(100, { minLength: 1, example: 'review-a-migration-x7k2p9' }), 50, {
  description: 'Skills by id or slug',
})

export const AgentCreate = object({
  name,
  role: optional(role),
  persona: optional(persona),
  systemPrompt: optional(systemPrompt),
  model: optional(model),
  provider: optional(provider),
  skills: optional(skillRefs),
  memoryScope: optional(oneOf(memoryScopes, { description: 'Default: project' })),
  scope: optional(
    oneOf(scopes, { example: 'team', description: 'Default: team, the current one; personal without a team' }),
  ),
})
export type AgentCreate = Static<typeof AgentCreate>

export const AgentPatch = partial(
  object({
    name,
    role: nullable(role),
    persona: nullable(persona),
    systemPrompt: nullable(systemPrompt),
    model: nullable(model),
    provider: nullable(provider),
    skills: skillRefs,
    memoryScope,
    scope: oneOf(scopes),
    status: oneOf(agentStatuses),
  }),
)
export type AgentPatch = Static<typeof AgentPatch>

export const AgentQuery = object({
  ...paging('updatedAt', 'createdAt', 'name'),
  scope: optional(oneOf(scopes, { description: 'Default: personal and team; public: all public agents' })),
  status: optional(oneOf([...agentStatuses, 'all'], { description: 'Default: active' })),
  search: optional(text(200, { description: 'Words that must all occur' })),
})
export type AgentQuery = Static<typeof AgentQuery>
export const AgentPage = pageOf(AgentItem)
export type AgentPage = Static<typeof AgentPage>

export const AgentRemoval = object({
  archiveMemory: optional(bool({ description: 'true: keep its memories for the team. Default: delete them' })),
})
export const AgentRef = object({
  id: text(100, { minLength: 1, description: 'Id, slug or unique id prefix', example: 'reviewer-x7k2p9' }),
})

/** Fields that a visitor without an account sees, with those of the agent's skills that are public. */
export const PublicAgent = object({
  name,
  slug,
  role: nullable(role),
  persona: nullable(persona),
  systemPrompt: nullable(systemPrompt),
  model: nullable(model),
  provider: nullable(provider),
  memoryScope,
  skills: Type.Array(object({ name: text(100, { example: 'Review a migration' }), slug })),
  author: Author,
  createdAt: instant(),
  updatedAt: instant(),
})
export type PublicAgent = Static<typeof PublicAgent>
