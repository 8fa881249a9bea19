import { tool } from '../../mcp/tool.ts'
import { object, text } from '../../schema.ts'
import { PlanCreate } from './schema.ts'
import * as planning from './service.ts'

export const planningTools = [
  tool({
    name: 'create_plan',
    title: 'Create plan',
    description:
      'Write a whole plan at once: epics with stories with tasks, and which task waits for which (blockedBy names refs). All or nothing.',
    toolset: 'projects',
    input: object({
      project: text(100, { minLength: 1, description: 'Id, slug, key or id prefix' }),
      ...PlanCreate.properties,
    }),
    action: planning.createPlan,
    with: ({ project, ...plan }) => ({ ref: project, ...plan }),
  }),
]
