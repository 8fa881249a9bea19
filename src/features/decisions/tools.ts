import { listing, project, query, reference, supersedes } from '../../mcp/arguments.ts'
import { tool } from '../../mcp/tool.ts'
import { object, oneOf, optional, text, title } from '../../schema.ts'
import { DecisionCreate, statuses } from './schema.ts'
import * as decisions from './service.ts'

export const decisionTools = [
  tool({
    name: 'log_decision',
    title: 'Log decision',
    description:
      'Write down what was decided and why, so that nobody decides it again. Returns similar earlier decisions.',
    toolset: 'decisions',
    input: object({
      title: title(200),
      decision: title(20_000),
      rationale: optional(text(20_000)),
      context: optional(text(20_000)),
      alternatives: DecisionCreate.properties.alternatives,
      project: optional(project),
      supersedes,
    }),
    action: decisions.create,
    with: ({ project, ...rest }) => ({ ...rest, projectId: project }),
    show: ({ id, status, similar }) => ({ id, status: status === 'accepted' ? null : status, similar }),
  }),
  tool({
    name: 'list_decisions',
    title: 'List decisions',
    description: 'List decisions of a project or the organization, last changed first.',
    toolset: 'decisions',
    input: object({ query, project: optional(project), status: optional(oneOf(statuses)), ...listing }),
    action: decisions.list,
    narrowed: true,
    with: ({ project, query, ...input }) => ({
      limit: 20,
      ...input,
      projectId: project,
      mustExist: true,
      search: query,
      total: true,
    }),
    whole: (ctx, { id }) => decisions.get(ctx, { ref: id }),
  }),
  tool({
    name: 'get_decision',
    title: 'Get decision',
    description: 'Get a decision with its discussion and outcome; comment and outcome add to it.',
    toolset: 'decisions',
    input: object({
      decision: reference,
      comment: optional(title(20_000)),
      outcome: optional(text(20_000)),
    }),
    action: decisions.get,
    writing: { fields: ['comment', 'outcome'], action: decisions.add },
    with: ({ decision, comment, outcome }) => ({ ref: decision, body: comment, outcome }),
  }),
]
