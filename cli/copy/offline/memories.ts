import { invalid } from '../../../src/errors.ts'
import type {
  MemoriesStored,
  Memory,
  MemoryHits,
  MemoryItem,
  MemoryStored,
} from '../../../src/features/memory/schema.ts'
import { recallNames, type SearchName } from '../../../src/records/names.ts'
import { ageOf, excerptOf } from '../../../src/text/text.ts'
import type { Fields, Row } from '../mutation.ts'
import { expressionOf, wordsOf } from '../texts.ts'
import { keyOf } from './task-key.ts'
import { common, type LocalCall, list, needsServer, pageOf, route, text, textOrNull, type World } from './world.ts'

const PATH = '/api/memories'
const HITS = 10

/** The server fills in the project of a new memory. */
const projectOf = ({ projectId, scope, scopeId }: Row): string | null =>
  textOrNull(projectId) ?? (scope === 'project' ? textOrNull(scopeId) : null)

const shared = (world: World, row: Row) => ({
  ...common(row),
  organizationId: text(row.organizationId),
  projectId: projectOf(row),
  scope: (row.scope ?? 'project') as Memory['scope'],
  scopeId: text(row.scopeId),
  author: world.author(row),
  title: textOrNull(row.title),
  tags: list(row.tags),
  source: textOrNull(row.source),
  importance: Number(row.importance ?? 0.5),
  expiresAt: textOrNull(row.expiresAt),
  supersedes: textOrNull(row.supersedes),
  supersededById: textOrNull(row.supersededById),
  embeddingModel: null,
})
const item = (world: World, row: Row): MemoryItem => ({
  ...shared(world, row),
  excerpt: excerptOf(text(row.content)),
})
const shape = (world: World, row: Row): Memory => ({ ...shared(world, row), content: text(row.content) })

const find = ({ world, params: [ref = ''] }: LocalCall): Row => world.find('memory', ref)

const isOld = ({ supersededById, expiresAt }: Row): boolean =>
  typeof supersededById === 'string' || (typeof expiresAt === 'string' && Date.parse(expiresAt) <= Date.now())

/** Returns which agent, project or session a memory is about. */
function scopeOf(world: World, { scope = 'project', scopeId }: Fields): { scope: string; scopeId?: string } {
  if (scopeId === undefined || scopeId === null) return { scope: text(scope) }
  if (scope === 'project') return { scope, scopeId: world.project(text(scopeId)).id }
  if (scope === 'agent') return { scope, scopeId: world.find('agent', text(scopeId), (r, n) => r.slug === n).id }
  throw needsServer('Memories of sessions cannot be used')
}

function store(world: World, body: Fields): MemoryStored {
  const { content, title, tags, importance, source, expiresAt, supersedes } = body
  const about = scopeOf(world, body)
  if (about.scopeId === undefined) throw invalid('/scopeId', 'Name the project that the memory is about: --project')
  const project = about.scope === 'project' ? world.project(about.scopeId) : undefined
  const own = { ...about, organizationId: project?.organizationId ?? world.organization() }
  const row = world.create('memory', {
    ...own,
    content,
    title,
    tags,
    importance,
    source,
    expiresAt,
    supersedes,
  })
  return { ...shape(world, row), similar: [] }
}

/** Searches by words only: the copy has no vectors. */
function search({ world, body }: LocalCall): MemoryHits {
  const expression = expressionOf(text(body.query))
  const wanted = list(body.kinds).length > 0 ? list(body.kinds) : ['memory']
  const about = body.scope === undefined && body.scopeId === undefined ? undefined : scopeOf(world, body)
  const project = about?.scope === 'project' ? about.scopeId : undefined
  const fits = (entity: string, row: Row): boolean => {
    if (!world.isHere(row) || (body.old !== true && isOld(row))) return false
    if (entity === 'memory' && about && about.scope !== row.scope) return false
    if (project !== undefined && projectOf(row) !== project) return false
    return list(body.tags).every((tag) => list(row.tags).includes(tag))
  }
  const kinds = wanted.filter((kind) => (recallNames as readonly string[]).includes(kind))
  const found = expression === undefined ? [] : world.copy.search(expression, kinds)
  const best = found[0]?.rank ?? -1
  const now = new Date().toISOString()
  const items = found
    .filter(({ entity, row }) => fits(entity, row))
    .slice(0, Number(body.limit ?? HITS))
    .map(({ entity, row, rank }) => ({
      kind: entity as SearchName,
      id: row.id,
      key: entity === 'task' ? keyOf(world, row) : textOrNull(row.slug),
      status: textOrNull(row.status),
      title: textOrNull(row.title),
      content: wordsOf(entity, row)?.text ?? '',
      tags: list(row.tags),
      score: Math.round((rank / best) * 100) / 100,
      meaning: null,
      at: text(row.createdAt),
      age: ageOf(text(row.createdAt), now),
      origin: `by ${world.author(row).name}`,
      projectId: textOrNull(row.projectId),
      createdById: textOrNull(row.createdById),
    }))
  return { items, mode: 'words' }
}

export const memoryRoutes = [
  route('POST', `${PATH}/search`, search),
  route('POST', `${PATH}/batch`, ({ world, body }): MemoriesStored => {
    const { memories, ...about } = body
    return { items: list<Fields>(memories).map((one) => store(world, { ...about, ...one })) }
  }),
  route('POST', PATH, ({ world, body }) => store(world, body)),
  route('GET', PATH, ({ world, query }) => {
    const get = (name: string) => query.get(name)
    const rows = world
      .all('memory')
      .filter((row) => get('old') === 'true' || !isOld(row))
      .filter((row) => !get('tag') || list(row.tags).includes(get('tag') as string))
      .filter((row) => ['scope', 'scopeId'].every((name) => !get(name) || row[name] === get(name)))
      .filter((row) => !get('projectId') || projectOf(row) === get('projectId'))
      .filter(({ updatedAt }) => !get('since') || text(updatedAt) >= text(get('since')))
      .filter(({ updatedAt }) => !get('until') || text(updatedAt) < text(get('until')))
    return pageOf(rows, query, (row) => item(world, row))
  }),
  route('GET', `${PATH}/:id`, (call) => shape(call.world, find(call))),
  route('PATCH', `${PATH}/:id`, (call) => {
    const { content, title, tags, importance, source, expiresAt } = call.body
    const fields = { content, title, tags, importance, source, expiresAt }
    return shape(call.world, call.world.update('memory', find(call).id, fields))
  }),
  route('DELETE', `${PATH}/:id`, (call) => {
    const { id } = find(call)
    call.world.remove('memory', id)
    return { id, deleted: true }
  }),
]
