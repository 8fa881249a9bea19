import { Type } from '@sinclair/typebox'
import { projectColors } from '../../records/project-colors.ts'
import { ActorSummary } from '../../records/user-or-agent.ts'
import {
  bool,
  id,
  instant,
  int,
  jsonObject,
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
import { Workspace } from '../workspaces/schema.ts'

const statuses = ['active', 'archived'] as const
export const visibilities = ['private', 'team', 'public'] as const

const name = title(100, { example: 'Tutti' })
const description = text(10_000, { example: 'One binary for people and agents' })
const color = oneOf(projectColors)
const settings = jsonObject({ description: 'Any settings, at most 16 KiB' })

export const Project = object({
  ...recordFields,
  organizationId: id(),
  createdById: nullable(id()),
  workspaceId: nullable(id()),
  name,
  slug: text(63, { example: 'tutti' }),
  key: text(6, { example: 'TUT', description: 'Prefix of task numbers' }),
  description: nullable(description),
  color,
  visibility: oneOf(visibilities),
  status: oneOf(statuses),
  archivedAt: nullable(instant()),
  settings,
})
export type Project = Static<typeof Project>

export const ProjectStats = object({
  notes: int({ example: 12 }),
  tasks: int({ example: 40 }),
  tasksDone: int({ example: 17 }),
})
export type ProjectStats = Static<typeof ProjectStats>
/** The state of the work in a project. */
export const ProjectWork = object({
  tasks: int({ example: 40 }),
  tasksDone: int({ example: 17 }),
  tasksDoneByAgents: int({ description: 'Of those done: by agents', example: 9 }),
  open: int({ description: 'Tasks that are neither done nor cancelled', example: 20 }),
  inReview: int({ example: 3 }),
  blocked: int({ example: 1 }),
  features: int({ example: 5 }),
  openGates: int({ description: 'Features that wait at a gate or for a review', example: 2 }),
  atWork: int({ description: 'Tasks that are claimed now', example: 3 }),
  agentsAtWork: int({ description: 'Agents that hold a task now', example: 2 }),
})
export type ProjectWork = Static<typeof ProjectWork>
export const ProjectActivity = object({
  id: id(),
  type: text(100, { example: 'note.created' }),
  description: text(3000, { example: 'created note How we deploy' }),
  at: instant(),
  actor: ActorSummary,
  data: jsonObject(),
})
export type ProjectActivity = Static<typeof ProjectActivity>
/**
 * Names of what a reader may do with a project. `write`: work on its tasks, epics and features, and add specs and
 * decisions; `gates`: change the settings that gates and reviews depend on.
 */
export const projectActions = ['update', 'write', 'archive', 'share', 'move', 'remove', 'gates'] as const

export const ProjectDetail = object({
  ...Project.properties,
  stats: object({ ...partial(ProjectWork).properties, ...ProjectStats.properties }),
  recentActivity: optional(pageOf(ProjectActivity).properties.items),
  can: optional(permissions(projectActions)),
})
export type ProjectDetail = Static<typeof ProjectDetail>

export const ProjectCreate = object({
  name,
  description: optional(description),
  color: optional(oneOf(projectColors, { description: 'Default: the least used one in the team' })),
  settings: optional(settings),
  visibility: optional(oneOf(visibilities, { description: 'Default: team' })),
  key: optional(text(6, { pattern: '^[A-Z]{2,6}$', example: 'TUT' })),
})
export type ProjectCreate = Static<typeof ProjectCreate>

export const ProjectPatch = partial(
  object({
    name,
    description: nullable(description),
    color,
    settings,
    key: text(6, { pattern: '^[A-Z]{2,6}$', example: 'TUT' }),
  }),
)
export type ProjectPatch = Static<typeof ProjectPatch>

export const teamFilter = optional(
  id({ description: 'One of your teams. Default: X-Organization-Id, else all your teams' }),
)

/** The body of PATCH: also accepts the team to move the project to. */
export const ProjectMove = object({
  ...ProjectPatch.properties,
  organizationId: optional(
    id({
      description:
        'Moves the project with all its records permanently to another of your teams. Requires the role admin',
    }),
  ),
})
export type ProjectMove = Static<typeof ProjectMove>

export const ProjectQuery = object({
  ...paging('updatedAt', 'createdAt', 'name'),
  status: optional(oneOf([...statuses, 'all'], { description: 'Default: active' })),
  search: optional(text(200)),
})
export type ProjectQuery = Static<typeof ProjectQuery>
export const ProjectsQuery = object({ ...ProjectQuery.properties, organizationId: teamFilter })
export type ProjectsQuery = Static<typeof ProjectsQuery>
export const ProjectPage = object({
  ...pageOf(object({ ...Project.properties, stats: optional(ProjectWork) })).properties,
  can: optional(permissions(['create'])),
})
export type ProjectPage = Static<typeof ProjectPage>

export const ProjectShare = object({
  visibility: optional(oneOf(visibilities)),
  organizationId: optional(
    id({ description: 'Refused: sharing does not move a project. Use a workspace, or PATCH /api/projects/:slug' }),
  ),
  workspaceId: optional(
    nullable(id({ description: 'Puts it into a workspace where its team may write; null takes it out' })),
  ),
})
export type ProjectShare = Static<typeof ProjectShare>

/** Fields that a visitor without an account sees. */
export const PublicProject = object({
  id: id(),
  name,
  slug: text(63, { example: 'tutti' }),
  description: nullable(description),
  owner: object({ handle: text(63, { example: 'ada' }), name: text(100, { example: 'Ada Lovelace' }) }),
  archived: bool(),
  stats: ProjectStats,
  updatedAt: instant(),
})
export type PublicProject = Static<typeof PublicProject>

export const projectFilter = optional(
  text(100, { minLength: 1, description: 'Id, slug or key of a project', example: 'tutti' }),
)

export const ProjectRef = object({ slug: text(100, { minLength: 1, description: 'Slug or id', example: 'tutti' }) })

export const Sync = object({
  since: optional(
    time({ description: '`syncedAt` of your last response, of the last 7 days. Default: return all workspaces' }),
  ),
})
export type Sync = Static<typeof Sync>

export const Synced = object({
  syncedAt: instant({ description: 'Send it as `since` the next time' }),
  full: bool({ description: 'true: items is complete; drop all other workspaces from your copy' }),
  items: Type.Array(object({ ...Workspace.properties, projects: Type.Array(Project) }), {
    description: 'Each with all projects in it that you may see, also those that did not change',
  }),
  removed: Type.Array(id(), { description: 'Workspaces that you no longer see, if `full` is false' }),
})
export type Synced = Static<typeof Synced>
