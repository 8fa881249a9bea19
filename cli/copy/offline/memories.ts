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
import { ftsExpression, searchTexts } from '../texts.ts'
import {
  asList,
  asText,
  asTextOrNull,
  type CopyView,
  commonFields,
  type LocalCall,
  needsServer,
  pageRows,
  route,
} from './copy-view.ts'
import { taskKey } from './task-key.ts'

const PATH = '/api/memories'
const HITS = 10

/** The server fills in the project of a new memory. */
const projectOf = ({ projectId, scope, scopeId }: Row): string | null =>
  asTextOrNull(projectId) ?? (scope === 'project' ? asTextOrNull(scopeId) : null)

const sharedMemoryFields = (world: CopyView, row: Row) => ({
  ...commonFields(row),
  organizationId: asText(row.organizationId),
  projectId: projectOf(row),
  scope: (row.scope ?? 'project') as Memory['scope'],
  scopeId: asText(row.scopeId),
  author: world.author(row),
  title: asTextOrNull(row.title),
  tags: asList(row.tags),
  source: asTextOrNull(row.source),
  importance: Number(row.importance ?? 0.5),
  expiresAt: asTextOrNull(row.expiresAt),
  supersedes: asTextOrNull(row.supersedes),
  supersededById: asTextOrNull(row.supersededById),
  embeddingModel: null,
})
const memoryItem = (world: CopyView, row: Row): MemoryItem => ({
  ...sharedMemoryFields(world, row),
  excerpt: excerptOf(asText(row.content)),
})
const toMemory = (world: CopyView, row: Row): Memory => ({
  ...sharedMemoryFields(world, row),
  content: asText(row.content),
})

const findMemory = ({ world, params: [ref = ''] }: LocalCall): Row => world.find('memory', ref)

const isOld = ({ supersededById, expiresAt }: Row): boolean =>
  typeof supersededById === 'string' || (typeof expiresAt === 'string' && Date.parse(expiresAt) <= Date.now())

/** Returns which agent, project or session a memory is about. */
function resolveScope(world: CopyView, { scope = 'project', scopeId }: Fields): { scope: string; scopeId?: string } {
  if (scopeId === undefined || scopeId === null) return { scope: asText(scope) }
  if (scope === 'project') return { scope, scopeId: world.project(asText(scopeId)).id }
  if (scope === 'agent') return { scope, scopeId: world.find('agent', asText(scopeId), (r, n) => r.slug === n).id }
  throw needsServer('Memories of sessions cannot be used')
}

function storeMemory(world: CopyView, body: Fields): MemoryStored {
  const { content, title, tags, importance, source, expiresAt, supersedes } = body
  const about = resolveScope(world, body)
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
  return { ...toMemory(world, row), similar: [] }
}

/** Searches by words only: the copy has no vectors. */
function searchMemories({ world, body }: LocalCall): MemoryHits {
  const expression = ftsExpression(asText(body.query))
  const wanted = asList(body.kinds).length > 0 ? asList(body.kinds) : ['memory']
  const about = body.scope === undefined && body.scopeId === undefined ? undefined : resolveScope(world, body)
  const project = about?.scope === 'project' ? about.scopeId : undefined
  const fits = (entity: string, row: Row): boolean => {
    if (!world.isHere(row) || (body.old !== true && isOld(row))) return false
    if (entity === 'memory' && about && about.scope !== row.scope) return false
    if (project !== undefined && projectOf(row) !== project) return false
    return asList(body.tags).every((tag) => asList(row.tags).includes(tag))
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
      key: entity === 'task' ? taskKey(world, row) : asTextOrNull(row.slug),
      status: asTextOrNull(row.status),
      title: asTextOrNull(row.title),
      content: searchTexts(entity, row)?.text ?? '',
      tags: asList(row.tags),
      score: Math.round((rank / best) * 100) / 100,
      meaning: null,
      at: asText(row.createdAt),
      age: ageOf(asText(row.createdAt), now),
      origin: `by ${world.author(row).name}`,
      projectId: asTextOrNull(row.projectId),
      createdById: asTextOrNull(row.createdById),
    }))
  return { items, mode: 'words' }
}

export const memoryRoutes = [
  route('POST', `${PATH}/search`, searchMemories),
  route('POST', `${PATH}/batch`, ({ world, body }): MemoriesStored => {
    const { memories, ...about } = body
    return { items: asList<Fields>(memories).map((one) => storeMemory(world, { ...about, ...one })) }
  }),
  route('POST', PATH, ({ world, body }) => storeMemory(world, body)),
  route('GET', PATH, ({ world, query }) => {
    const get = (name: string) => query.get(name)
    const rows = world
      .all('memory')
      .filter((row) => get('old') === 'true' || !isOld(row))
      .filter((row) => !get('tag') || asList(row.tags).includes(get('tag') as string))
      .filter((row) => ['scope', 'scopeId'].every((name) => !get(name) || row[name] === get(name)))
      .filter((row) => !get('projectId') || projectOf(row) === get('projectId'))
      .filter(({ updatedAt }) => !get('since') || asText(updatedAt) >= asText(get('since')))
      .filter(({ updatedAt }) => !get('until') || asText(updatedAt) < asText(get('until')))
    return pageRows(rows, query, (row) => memoryItem(world, row))
  }),
  route('GET', `${PATH}/:id`, (call) => toMemory(call.world, findMemory(call))),
  route('PATCH', `${PATH}/:id`, (call) => {
    const { content, title, tags, importance, source, expiresAt } = call.body
    const fields = { content, title, tags, importance, source, expiresAt }
    return toMemory(call.world, call.world.update('memory', findMemory(call).id, fields))
  }),
  route('DELETE', `${PATH}/:id`, (call) => {
    const { id } = findMemory(call)
    call.world.remove('memory', id)
    return { id, deleted: true }
  }),
]
