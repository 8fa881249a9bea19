import type { Project, ProjectDetail } from '../../../src/features/projects/schema.ts'
import type { Fields, Row } from '../mutation.ts'
import { common, hasWords, pageOf, route, text, textOrNull, type World } from './world.ts'

const PATH = '/api/projects'

const shape = (row: Row): Project => ({
  ...common(row),
  organizationId: text(row.organizationId),
  workspaceId: textOrNull(row.workspaceId),
  name: text(row.name),
  // The server gives both when the project is pushed.
  slug: text(row.slug) || row.id,
  key: text(row.key) || '~',
  description: textOrNull(row.description),
  visibility: (row.visibility ?? 'team') as Project['visibility'],
  status: (row.status ?? 'active') as Project['status'],
  archivedAt: textOrNull(row.archivedAt),
  settings: (row.settings ?? {}) as Project['settings'],
})

function detail(world: World, row: Row): ProjectDetail {
  const inProject = "r ->> 'projectId' = ?"
  const tasks = world.all('task', inProject, row.id)
  return {
    ...shape(row),
    stats: {
      notes: world.all('note', inProject, row.id).length,
      tasks: tasks.length,
      tasksDone: tasks.filter(({ status }) => status === 'done').length,
    },
  }
}

const fieldsOf = ({ name, description, settings, key }: Fields): Fields => ({ name, description, settings, key })

export const projectRoutes = [
  route('GET', PATH, ({ world, query }) => {
    const status = query.get('status') ?? 'active'
    const rows = world
      .all('project')
      .filter((row) => status === 'all' || (row.status ?? 'active') === status)
      .filter((row) => hasWords(query.get('search'), row.name, row.description, row.key))
    return pageOf(rows, query, shape)
  }),
  route('GET', `${PATH}/:ref`, ({ world, params: [ref = ''] }) => detail(world, world.project(ref))),
  route('POST', PATH, ({ world, body: { visibility, ...body } }) =>
    shape(world.create('project', { organizationId: world.organization(), visibility, ...fieldsOf(body) })),
  ),
  route('PUT', `${PATH}/:ref`, ({ world, params: [ref = ''], body }) =>
    shape(world.update('project', world.project(ref).id, fieldsOf(body))),
  ),
  route('DELETE', `${PATH}/:ref`, ({ world, params: [ref = ''] }) => {
    const { id } = world.project(ref)
    world.remove('project', id)
    return { id, deleted: true }
  }),
]
