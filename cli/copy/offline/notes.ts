import type { Note, NoteItem } from '../../../src/features/notes/schema.ts'
import type { Fields, Row } from '../mutation.ts'
import {
  asList,
  asText,
  asTextOrNull,
  type CopyView,
  commonFields,
  hasWords,
  type LocalCall,
  pageRows,
  route,
} from './copy-view.ts'

const PATH = '/api/notes'

const noteItem = (row: Row): NoteItem => ({
  ...commonFields(row),
  organizationId: asTextOrNull(row.organizationId),
  projectId: asTextOrNull(row.projectId),
  title: asText(row.title),
  slug: asText(row.slug) || row.id,
  tags: asList(row.tags),
  scope: (row.scope ?? 'team') as Note['scope'],
  pinned: row.pinned === true,
})
const toNote = (row: Row): Note => ({ ...noteItem(row), content: asText(row.content), links: asList(row.links) })

const findNote = ({ world, params: [ref = ''] }: LocalCall): Row =>
  world.find('note', ref, ({ slug }, name) => slug === name)

const fieldsOf = (world: CopyView, { title, content, tags, links, scope, pinned, projectId }: Fields): Fields => ({
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
      .filter((row) => !tag || asList(row.tags).includes(tag))
      .filter((row) => !scope || (row.scope ?? 'team') === scope)
      .filter(({ updatedAt }) => (!since || asText(updatedAt) >= since) && (!until || asText(updatedAt) < until))
      .filter((row) => hasWords(query.get('search') ?? null, row.title, row.content))
    return pageRows(rows, query, noteItem)
  }),
  route('GET', `${PATH}/:id`, (call) => toNote(findNote(call))),
  route('POST', PATH, ({ world, body }) => {
    const fields = fieldsOf(world, body)
    const project = fields.projectId ? world.project(asText(fields.projectId)) : undefined
    const organizationId = body.scope === 'personal' ? null : (project?.organizationId ?? world.organization())
    return toNote(world.create('note', { organizationId, ...fields }))
  }),
  route('PUT', `${PATH}/:id`, (call) =>
    toNote(call.world.update('note', findNote(call).id, fieldsOf(call.world, call.body))),
  ),
  route('DELETE', `${PATH}/:id`, (call) => {
    const { id } = findNote(call)
    call.world.remove('note', id)
    return { id, deleted: true }
  }),
]
