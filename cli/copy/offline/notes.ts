import type { Note, NoteItem } from '../../../src/features/notes/schema.ts'
import type { Fields, Row } from '../mutation.ts'
import { common, hasWords, type LocalCall, list, pageOf, route, text, textOrNull, type World } from './world.ts'

const PATH = '/api/notes'

const item = (row: Row): NoteItem => ({
  ...common(row),
  organizationId: textOrNull(row.organizationId),
  projectId: textOrNull(row.projectId),
  title: text(row.title),
  slug: text(row.slug) || row.id,
  tags: list(row.tags),
  scope: (row.scope ?? 'team') as Note['scope'],
  pinned: row.pinned === true,
})
const shape = (row: Row): Note => ({ ...item(row), content: text(row.content), links: list(row.links) })

const find = ({ world, params: [ref = ''] }: LocalCall): Row =>
  world.find('note', ref, ({ slug }, name) => slug === name)

const fieldsOf = (world: World, { title, content, tags, links, scope, pinned, projectId }: Fields): Fields => ({
  title,
  content,
  tags,
  links,
  scope,
  pinned,
  projectId: projectId === null ? null : world.projectId(projectId),
})

export const noteRoutes = [
  route('GET', PATH, ({ world, query }) => {
    const projectId = world.projectId(query.get('projectId'))
    const [tag, scope, since, until] = ['tag', 'scope', 'since', 'until'].map((name) => query.get(name))
    const rows = world
      .all('note')
      .filter((row) => projectId === undefined || row.projectId === projectId)
      .filter((row) => !tag || list(row.tags).includes(tag))
      .filter((row) => !scope || (row.scope ?? 'team') === scope)
      .filter(({ updatedAt }) => (!since || text(updatedAt) >= since) && (!until || text(updatedAt) < until))
      .filter((row) => hasWords(query.get('search') ?? null, row.title, row.content))
    return pageOf(rows, query, item)
  }),
  route('GET', `${PATH}/:id`, (call) => shape(find(call))),
  route('POST', PATH, ({ world, body }) => {
    const fields = fieldsOf(world, body)
    const project = fields.projectId ? world.project(text(fields.projectId)) : undefined
    const organizationId = body.scope === 'personal' ? null : (project?.organizationId ?? world.organization())
    return shape(world.create('note', { organizationId, ...fields }))
  }),
  route('PUT', `${PATH}/:id`, (call) =>
    shape(call.world.update('note', find(call).id, fieldsOf(call.world, call.body))),
  ),
  route('DELETE', `${PATH}/:id`, (call) => {
    const { id } = find(call)
    call.world.remove('note', id)
    return { id, deleted: true }
  }),
]
