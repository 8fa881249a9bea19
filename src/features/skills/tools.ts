import { reference } from '../../mcp/arguments.ts'
import { tool } from '../../mcp/tool.ts'
import { object, optional } from '../../schema.ts'
import * as skills from './service.ts'

export const skillTools = [
  tool({
    name: 'get_skill',
    title: 'Get skill',
    description: 'Read a skill: instructions for a kind of work. Without an argument: list all skills.',
    toolset: 'workflows',
    input: object({ skill: optional(reference) }),
    action: skills.getOrList,
    with: ({ skill }) => ({ ref: skill }),
  }),
]
