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

const PATH = '/api/decisions'

const sharedDecisionFields = (world: CopyView, row: Row) => ({
  ...commonFields(row),
  organizationId: asText(row.organizationId),
  projectId: asTextOrNull(row.projectId),
  title: asText(row.title),
  status: (row.status ?? 'accepted') as Decision['status'],
  tags: asList(row.tags),
  author: world.author(row),
  supersedes: asTextOrNull(row.supersedes),
  supersededById: asTextOrNull(row.supersededById),
})
const decisionItem = (world: CopyView, row: Row): DecisionItem => ({
  ...sharedDecisionFields(world, row),
  excerpt: excerptOf(asText(row.decision)),
})
const toDecision = (world: CopyView, row: Row): Decision => ({
  ...sharedDecisionFields(world, row),
  context: asTextOrNull(row.context),
  decision: asText(row.decision),
  rationale: asTextOrNull(row.rationale),
  alternatives: asList<Alternative>(row.alternatives),
  outcome: asTextOrNull(row.outcome),
})
const decisionComment = (world: CopyView, { id, body, createdAt, ...row }: Row): Comment => ({
  id,
  author: world.author({ ...row, id }),
  body: asText(body),
  createdAt: asText(createdAt),
})

const decisionDetail = (world: CopyView, row: Row): DecisionDetail => ({
  ...toDecision(world, row),
  discussion: world.copy
    .list('discussion', "r ->> 'decisionId' = ?", row.id)
    .toSorted((a, b) => (asText(a.createdAt) < asText(b.createdAt) ? -1 : 1))
    .map((one) => decisionComment(world, one)),
  links: [],
})

const findDecision = ({ world, params: [ref = ''] }: LocalCall): Row => world.find('decision', ref)

function fieldsOf({ title, context, decision, rationale, tags, status, outcome, alternatives }: Fields): Fields {
  const options = alternatives === undefined ? undefined : asList<string | Alternative>(alternatives)
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
      .filter((row) => !tag || asList(row.tags).includes(tag))
      .filter((row) => hasWords(query.get('search'), row.title, row.decision, row.context, row.rationale))
    return pageRows(rows, query, (row) => decisionItem(world, row))
  }),
  route('GET', `${PATH}/:id`, (call) => decisionDetail(call.world, findDecision(call))),
  route('POST', PATH, ({ world, body }) => {
    // Sent later, it would be refused, and could not be completed any more.
    if (!asText(body.decision).trim()) throw invalid('/decision', 'decision is required.')
    const projectId = world.projectId(body.projectId) ?? null
    const organizationId = projectId ? world.project(projectId).organizationId : world.organization()
    const own = { organizationId, projectId, supersedes: body.supersedes }
    return { ...toDecision(world, world.create('decision', { ...own, ...fieldsOf(body) })), similar: [] }
  }),
  route('PATCH', `${PATH}/:id`, (call) =>
    toDecision(call.world, call.world.update('decision', findDecision(call).id, fieldsOf(call.body))),
  ),
  route('POST', `${PATH}/:id/comments`, (call) => {
    const { world, body } = call
    return decisionComment(world, world.create('discussion', { decisionId: findDecision(call).id, body: body.body }))
  }),
]
