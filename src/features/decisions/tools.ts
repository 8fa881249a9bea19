import { invalid } from '../../errors.ts'
import { listing, project, query, reference, supersedes } from '../../mcp/arguments.ts'
import { tool } from '../../mcp/tool.ts'
import { array, object, oneOf, optional, text, title } from '../../schema.ts'
import { type Decision, DecisionCreate, statuses } from './schema.ts'
import * as decisions from './service.ts'

const comment = optional(title(20_000))
const outcome = optional(text(20_000))

const dayOf = (instant: string): string => instant.slice(0, 10)

/**
 * Returns a decision as agents need it: an alternative without pros and cons as text, as log_decision accepts it; no
 * status if it is accepted; no version, which no tool needs; dates without the time.
 */
const forAgent = <T extends Decision>({ version: _, ...decision }: T) => ({
  ...decision,
  createdAt: dayOf(decision.createdAt),
  updatedAt: dayOf(decision.updatedAt),
  status: decision.status === 'accepted' ? null : decision.status,
  alternatives: decision.alternatives.map(({ option, ...rest }) =>
    Object.values(rest).some(Boolean) ? { option, ...rest } : option,
  ),
})

export const decisionTools = [
  tool({
    name: 'log_decision',
    title: 'Log decision',
    description:
      'Log what was decided (title, decision) and why. Returns similar ones. Or add comment or outcome to an earlier one.',
    toolset: 'decisions',
    input: object({
      title: optional(title(200)),
      decision: title(20_000, { description: 'The text; id of the one to add to' }),
      rationale: optional(text(20_000)),
      context: optional(text(20_000)),
      alternatives: DecisionCreate.properties.alternatives,
      project: optional(project),
      supersedes,
      comment,
      outcome,
    }),
    listedAs: { alternatives: array(text(1000), 20) },
    action: decisions.log,
    with: ({ decision, comment, outcome, project, title, ...rest }) => {
      if (comment === undefined && outcome === undefined) {
        if (title === undefined)
          throw invalid(
            '/title',
            'Send title to log a new decision, or comment or outcome to add to an earlier one.',
            'required',
          )
        return { ...rest, title, decision, projectId: project }
      }
      const [other] = Object.keys({ ...(title && { title }), ...(project && { project }), ...rest })
      if (other !== undefined)
        throw invalid(
          `/${other}`,
          `With comment or outcome, decision is the id of an earlier decision. Send ${other} only for a new decision.`,
        )
      return { ref: decision, body: comment, outcome }
    },
    show: (logged) => {
      if ('added' in logged) return logged
      const { id, status, similar } = logged
      return { id, status: status === 'accepted' ? null : status, similar }
    },
  }),
  tool({
    name: 'list_decisions',
    title: 'List decisions',
    description: 'List decisions and their status.',
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
    whole: async (ctx, { id }) => forAgent(await decisions.get(ctx, { ref: id })),
  }),
  tool({
    name: 'get_decision',
    title: 'Get decision',
    description: 'Get a decision with its discussion and outcome.',
    toolset: 'decisions',
    input: object({ decision: reference, comment, outcome }),
    unlisted: ['comment', 'outcome'],
    action: decisions.get,
    writing: { fields: ['comment', 'outcome'], action: decisions.add },
    with: ({ decision, comment, outcome }) => ({ ref: decision, body: comment, outcome }),
    show: forAgent,
  }),
]
