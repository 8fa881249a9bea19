import {
  bool,
  id,
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
import { projectFilter } from '../projects/schema.ts'

const viewActions = ['update', 'remove'] as const

const name = title(80, { example: 'Mine, due this week' })
const query = text(2000, { description: 'The part of the address after the ?', example: 'view=list&assignee=me' })
const page = oneOf(['tasks', 'features', 'notes', 'memories', 'activity', 'sessions'], { example: 'tasks' })
const shared = bool({ description: 'Everyone who can see the project, or everyone in the team, can use it' })

export const View = object({
  ...recordFields,
  organizationId: id(),
  projectId: nullable(id()),
  createdById: nullable(id()),
  shared,
  page,
  name,
  query,
  can: permissions(viewActions),
})
export type View = Static<typeof View>

export const ViewCreate = object(
  {
    name,
    query,
    page: optional(oneOf(page.enum, { description: 'Default: tasks' })),
    projectId: optional(id({ description: 'Default: a view of the whole team' })),
    shared: optional(bool({ description: 'Default: false' })),
  },
  { examples: [{ name: 'Mine, due this week', query: 'view=list&assignee=me', shared: true }] },
)
export type ViewCreate = Static<typeof ViewCreate>
export const ViewPatch = partial(object({ name, query, shared }))
export type ViewPatch = Static<typeof ViewPatch>

export const ViewQuery = object({ ...paging('name', 'updatedAt'), page: optional(page), projectId: projectFilter })
export type ViewQuery = Static<typeof ViewQuery>
export const ViewPage = pageOf(View)
export type ViewPage = Static<typeof ViewPage>
