import { listing, tool } from '../../mcp/tool.ts'
import { array, object, optional, text, title } from '../../schema.ts'
import { Evidence, FeatureCreate, FeatureReview } from './schema.ts'
import * as features from './service.ts'

const project = optional(text(100, { minLength: 1, description: 'Id, slug or key' }))
const feature = text(100, { minLength: 1, description: 'Id or id prefix' })
const { description, kind, priority } = FeatureCreate.properties

export const workflowTools = [
  tool({
    name: 'create_feature',
    title: 'Create feature',
    description: 'Start a piece of work that has to pass gates: code, tests, docs, review. Says which are ahead.',
    toolset: 'workflows',
    input: object({
      title: title(200),
      project,
      description,
      kind,
      priority,
      tasks: optional(array(text(100, { minLength: 1 }), 100, { description: 'Ids or keys' })),
    }),
    action: features.create,
    with: ({ tasks, ...rest }) => ({ ...rest, taskIds: tasks }),
  }),
  tool({
    name: 'advance_feature',
    title: 'Advance feature',
    description: 'Move a feature one step on, with evidence of what its gate asks for. Says what the next gate needs, or what is missing.',
    toolset: 'workflows',
    core: true,
    input: object({ feature, evidence: optional(Evidence) }),
    action: features.advance,
    with: ({ feature, evidence }) => ({ ref: feature, evidence }),
  }),
  tool({
    name: 'submit_review',
    title: 'Submit review',
    description: 'Approve a feature in review, or ask for changes. Not for your own work.',
    toolset: 'workflows',
    input: object({ feature, ...FeatureReview.properties }),
    action: features.review,
    with: ({ feature, ...rest }) => ({ ref: feature, ...rest }),
  }),
  tool({
    name: 'list_features',
    title: 'List features',
    description: 'Features of a project, or of the team, with their states and gates, last changed first.',
    toolset: 'workflows',
    input: object({ project, status: optional(text(63)), ...listing }),
    action: features.listFor,
    with: (input) => ({ limit: 20, ...input, total: true }),
  }),
  tool({
    name: 'get_feature',
    title: 'Get feature',
    description: 'One feature with gates, evidence, reviews, and what the next gate needs.',
    toolset: 'workflows',
    input: object({ feature }),
    action: features.get,
    with: ({ feature }) => ({ ref: feature }),
  }),
]
