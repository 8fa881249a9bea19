import { tool } from '../../mcp/tool.ts'
import { object, text } from '../../schema.ts'
import { PlanCreate } from './schema.ts'
import * as planning from './service.ts'

export const planningTools = [
  tool({
    name: 'create_plan',
    title: 'Create plan',
    description:
      'Create a whole plan, all or nothing: epics with stories with tasks. blockedBy names refs of tasks in the plan.',
    toolset: 'projects',
    input: object({
      project: text(100, { minLength: 1, description: 'Id, slug, key or id prefix' }),
      ...PlanCreate.properties,
    }),
    action: planning.createPlan,
    with: ({ project, ...plan }) => ({ ref: project, ...plan }),
  }),
]
