import { invalid } from '../../../src/errors.ts'
import type {
  Alternative,
  Comment,
  Decision,
  DecisionDetail,
  DecisionItem,
} from '../../../src/features/decisions/schema.ts'
import { excerptOf } from '../../../src/text/text.ts'
import type { Fields, Row } from '../mutation.ts'
import { common, hasWords, type LocalCall, list, pageOf, route, text, textOrNull, type World } from './world.ts'

const PATH = '/api/decisions'

const shared = (world: World, row: Row) => ({
  ...common(row),
  organizationId: text(row.organizationId),
  projectId: textOrNull(row.projectId),
  title: text(row.title),
  status: (row.status ?? 'accepted') as Decision['status'],
  tags: list(row.tags),
  author: world.author(row),
  supersedes: textOrNull(row.supersedes),
  supersededById: textOrNull(row.supersededById),
})
const item = (world: World, row: Row): DecisionItem => ({
  ...shared(world, row),
  excerpt: excerptOf(text(row.decision)),
})
const shape = (world: World, row: Row): Decision => ({
  ...shared(world, row),
  context: textOrNull(row.context),
  decision: text(row.decision),
  rationale: textOrNull(row.rationale),
  alternatives: list<Alternative>(row.alternatives),
  outcome: textOrNull(row.outcome),
})
const comment = (world: World, { id, body, createdAt, ...row }: Row): Comment => ({
  id,
  author: world.author({ ...row, id }),
  body: text(body),
  createdAt: text(createdAt),
})

const detail = (world: World, row: Row): DecisionDetail => ({
  ...shape(world, row),
  discussion: world.copy
    .list('discussion', "r ->> 'decisionId' = ?", row.id)
    .toSorted((a, b) => (text(a.createdAt) < text(b.createdAt) ? -1 : 1))
    .map((one) => comment(world, one)),
  links: [],
})

const find = ({ world, params: [ref = ''] }: LocalCall): Row => world.find('decision', ref)

function fieldsOf({ title, context, decision, rationale, tags, status, outcome, alternatives }: Fields): Fields {
  const options = alternatives === undefined ? undefined : list<string | Alternative>(alternatives)
  return {
    title,
    context,
    decision,
    rationale,
    tags,
    status,
    outcome,
    alternatives: options?.map((one) => (typeof one === 'string' ? { option: one } : one)),
  }
}

export const decisionRoutes = [
  route('GET', PATH, ({ world, query }) => {
    const projectId = world.projectId(query.get('projectId'))
    const [status, tag] = [query.get('status'), query.get('tag')]
    const rows = world
      .all('decision')
      .filter((row) => projectId === undefined || row.projectId === projectId)
      .filter((row) => !status || (row.status ?? 'accepted') === status)
      .filter((row) => !tag || list(row.tags).includes(tag))
      .filter((row) => hasWords(query.get('search'), row.title, row.decision, row.context, row.rationale))
    return pageOf(rows, query, (row) => item(world, row))
  }),
  route('GET', `${PATH}/:id`, (call) => detail(call.world, find(call))),
  route('POST', PATH, ({ world, body }) => {
    // Sent later, it would be refused, and could not be completed any more.
    if (!text(body.decision).trim()) throw invalid('/decision', 'decision is required.')
    const projectId = world.projectId(body.projectId) ?? null
    const organizationId = projectId ? world.project(projectId).organizationId : world.organization()
    const own = { organizationId, projectId, supersedes: body.supersedes }
    return { ...shape(world, world.create('decision', { ...own, ...fieldsOf(body) })), similar: [] }
  }),
  route('PATCH', `${PATH}/:id`, (call) =>
    shape(call.world, call.world.update('decision', find(call).id, fieldsOf(call.body))),
  ),
  route('POST', `${PATH}/:id/comments`, (call) => {
    const { world, body } = call
    return comment(world, world.create('discussion', { decisionId: find(call).id, body: body.body }))
  }),
]
