import type { Ctx } from '../../action.ts'
import { waitCommand } from '../../command-line.ts'
import { feature, listing, priority, project, query, spec, task } from '../../mcp/arguments.ts'
import { pick, tool } from '../../mcp/tool.ts'
import { array, object, optional, text, title } from '../../schema.ts'
import { Evidence } from '../projects/workflow/workflow-schema.ts'
import { advanceFeature, reviewFeature } from './advancing.ts'
import * as detail from './detail.ts'
import { type Feature, FeatureCreate, type FeatureDetail, type FeatureItem, FeatureReview } from './schema.ts'
import * as features from './service.ts'

const { verdict, comments } = FeatureReview.properties
const { description, kind } = FeatureCreate.properties

/**
 * What the next gate needs. Leaves out `advance_feature`, whose own description says that it takes evidence. `wait` is
 * the command that waits for the review without polling.
 */
const gateOf = ({ id, next }: Pick<Feature, 'id' | 'next'>, ctx: Ctx) =>
  next && {
    to: next.to,
    ...(next.missing.some(({ next: { tool } }) => tool === 'submit_review') && {
      wait: waitCommand(ctx, id, 'reviewed'),
    }),
    missing: next.missing.map(({ item, needs, next: { tool } }) =>
      tool === 'advance_feature' ? { item, needs } : { item, needs, tool },
    ),
  }
/** The feature after a step: its state and what comes next. */
const step = (feature: Pick<Feature, 'id' | 'status' | 'version' | 'next'>, _: unknown, ctx: Ctx) => ({
  ...pick(feature, 'id', 'status', 'version'),
  next: gateOf(feature, ctx),
})
/** Names of the gates, by their state. */
const gatesOf = ({ gates }: Pick<FeatureItem, 'gates'>) =>
  Object.fromEntries(
    gates.map(({ state }) => [state, gates.filter((gate) => gate.state === state).map(({ gate }) => gate)]),
  )
const item = (feature: FeatureItem) => ({
  ...pick(feature, 'id', 'title', 'status', 'priority', 'assignee', 'projectId'),
  kind: feature.kind === 'feature' ? null : feature.kind,
  gates: gatesOf(feature),
})
const full = ({ evidence, reviews, states: _, ...feature }: FeatureDetail, __: unknown, ctx: Ctx) => ({
  ...feature,
  gates: gatesOf(feature),
  next: gateOf(feature, ctx),
  evidence: evidence.map(({ id: _, verified: ___, reopenedAt, ...shown }) => ({
    ...shown,
    reopened: reopenedAt === null ? null : true,
  })),
  reviews: reviews.map(({ id: _, ...review }) => review),
})

export const workflowTools = [
  tool({
    name: 'create_feature',
    title: 'Create feature',
    description: 'Create a feature: work that must pass gates (code, tests, docs, review).',
    toolset: 'workflows',
    input: object({
      title: title(200),
      project: optional(project),
      description,
      kind,
      priority,
      spec: optional(spec),
      tasks: optional(array(task, 100)),
    }),
    action: features.create,
    with: ({ tasks, spec, ...rest }) => ({ ...rest, taskIds: tasks, specId: spec }),
    show: ({ gates, ...feature }, input, ctx) => ({
      ...step(feature, input, ctx),
      gates: gates.filter(({ state }) => state === 'open').map(({ gate }) => gate),
    }),
  }),
  tool({
    name: 'advance_feature',
    title: 'Advance feature',
    description: 'Move a feature through its gate, with evidence. Returns what the next gate needs.',
    toolset: 'workflows',
    input: object({ feature, evidence: optional(Evidence) }),
    action: advanceFeature,
    with: ({ feature, evidence }) => ({ ref: feature, evidence }),
    show: step,
  }),
  tool({
    name: 'submit_review',
    title: 'Submit review',
    description: 'Approve a feature in review, or request changes. Not for your own work.',
    toolset: 'workflows',
    input: object({ feature, verdict, comment: comments }),
    action: reviewFeature,
    with: ({ feature, verdict, comment }) => ({ ref: feature, verdict, comments: comment }),
    show: step,
  }),
  tool({
    name: 'list_features',
    title: 'List features',
    description: 'List features with their gates.',
    toolset: 'workflows',
    input: object({ query, project: optional(project), status: optional(text(63)), ...listing }),
    action: features.list,
    narrowed: true,
    with: ({ project, query, ...input }) => ({
      limit: 20,
      ...input,
      projectId: project,
      search: query,
      mustExist: true,
      total: true,
    }),
    show: ({ items, ...page }) => ({ items: items.map(item), ...page }),
    whole: async (ctx, { id }) => full(await detail.get(ctx, { ref: id }), undefined, ctx),
  }),
  tool({
    name: 'get_feature',
    title: 'Get feature',
    description: 'Get a feature with gates, evidence and reviews.',
    toolset: 'workflows',
    input: object({ feature }),
    action: detail.get,
    with: ({ feature }) => ({ ref: feature }),
    show: full,
  }),
]
