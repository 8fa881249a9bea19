import type { Project, ProjectDetail } from '../../../src/features/projects/schema.ts'
import { projectColors } from '../../../src/records/project-colors.ts'
import type { Fields, Row } from '../mutation.ts'
import { asText, asTextOrNull, type CopyView, commonFields, hasWords, pageRows, route } from './copy-view.ts'

const PATH = '/api/projects'

const toProject = (row: Row): Project => ({
  ...commonFields(row),
  organizationId: asText(row.organizationId),
  workspaceId: asTextOrNull(row.workspaceId),
  name: asText(row.name),
  // The server gives these, and the colour, when the project is pushed.
  slug: asText(row.slug) || row.id,
  key: asText(row.key) || '~',
  description: asTextOrNull(row.description),
  color: (row.color ?? projectColors[0]) as Project['color'],
  visibility: (row.visibility ?? 'team') as Project['visibility'],
  status: (row.status ?? 'active') as Project['status'],
  archivedAt: asTextOrNull(row.archivedAt),
  settings: (row.settings ?? {}) as Project['settings'],
})

function projectDetail(world: CopyView, row: Row): ProjectDetail {
  const inProject = "r ->> 'projectId' = ?"
  const tasks = world.all('task', inProject, row.id)
  return {
    ...toProject(row),
    stats: {
      notes: world.all('note', inProject, row.id).length,
      tasks: tasks.length,
      tasksDone: tasks.filter(({ status }) => status === 'done').length,
    },
  }
}

const fieldsOf = ({ name, description, color, settings, key }: Fields): Fields => ({
  ...{ name, description, settings, key },
  ...(color !== undefined && { color }),
})

export const projectRoutes = [
  route('GET', PATH, ({ world, query }) => {
    const status = query.get('status') ?? 'active'
    const rows = world
      .all('project')
      .filter((row) => status === 'all' || (row.status ?? 'active') === status)
      .filter((row) => hasWords(query.get('search'), row.name, row.description, row.key))
    return pageRows(rows, query, toProject)
  }),
  route('GET', `${PATH}/:ref`, ({ world, params: [ref = ''] }) => projectDetail(world, world.project(ref))),
  route('POST', PATH, ({ world, body: { visibility, ...body } }) =>
    toProject(world.create('project', { organizationId: world.organization(), visibility, ...fieldsOf(body) })),
  ),
  route('PUT', `${PATH}/:ref`, ({ world, params: [ref = ''], body }) =>
    toProject(world.update('project', world.project(ref).id, fieldsOf(body))),
  ),
  route('DELETE', `${PATH}/:ref`, ({ world, params: [ref = ''] }) => {
    const { id } = world.project(ref)
    world.remove('project', id)
    return { id, deleted: true }
  }),
]
