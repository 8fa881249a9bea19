import { Type } from '@sinclair/typebox'
import { roles } from '../../auth/policy.ts'
import {
  array,
  id,
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

const statuses = ['active', 'archived'] as const
export const teamRoles = ['owner', 'editor', 'viewer'] as const

const name = title(100, { example: 'Engines' })
const description = text(2000, { example: 'Everything about the analytical engine' })
const folders = array(title(500, { example: 'engine/mill' }), 50, {
  uniqueItems: true,
  description: 'Folders that clients show with the workspace',
})

export const WorkspaceTeam = object({
  id: id(),
  name: text(100, { example: 'Analytical Engines' }),
  role: oneOf(teamRoles),
})
export type WorkspaceTeam = Static<typeof WorkspaceTeam>

export const Workspace = object({
  ...recordFields,
  organizationId: id({ description: 'The team it belongs to' }),
  createdById: nullable(id()),
  name,
  description: nullable(description),
  folders,
  status: oneOf(statuses, {
    description: 'archived: other teams can only read, and no project or team can be added',
  }),
  teams: Type.Array(WorkspaceTeam),
  counts: object(
    { teams: int({ example: 1 }), projects: int({ example: 3 }) },
    { description: 'Counts only projects that you can see' },
  ),
  role: oneOf(roles, {
    description:
      "Your best role. Each of your teams gives the lesser of the team's role here and your role in the team",
  }),
})
export type Workspace = Static<typeof Workspace>

export const WorkspaceDetail = object({
  ...Workspace.properties,
  teams: Type.Array(object({ ...WorkspaceTeam.properties, can: permissions(['setRole', 'remove']) })),
  addable: Type.Array(object({ id: id(), name: text(100, { example: 'Analytical Engines' }) }), {
    description: 'Your teams that could be added',
  }),
  can: permissions(['update', 'archive', 'remove', 'share']),
})
export type WorkspaceDetail = Static<typeof WorkspaceDetail>

export const WorkspaceCreate = object({ name, description: optional(description), folders: optional(folders) })
export type WorkspaceCreate = Static<typeof WorkspaceCreate>

export const WorkspacePatch = partial(
  object({ name, description: nullable(description), folders, status: oneOf(statuses) }),
)
export type WorkspacePatch = Static<typeof WorkspacePatch>

export const WorkspaceQuery = object({
  ...paging('updatedAt', 'createdAt', 'name'),
  status: optional(oneOf(statuses, { description: 'Default: active' })),
})
export type WorkspaceQuery = Static<typeof WorkspaceQuery>
export const WorkspacePage = object({ ...pageOf(Workspace).properties, can: optional(permissions(['create'])) })
export type WorkspacePage = Static<typeof WorkspacePage>

export const TeamAdd = object({
  teamId: id({ description: 'A team where you are admin or owner' }),
  role: oneOf(teamRoles),
})
export type TeamAdd = Static<typeof TeamAdd>
