import { agent, expectedVersion, listing, project, query } from '../../mcp/arguments.ts'
import { feedLine, pick, tool } from '../../mcp/tool.ts'
import { memoryScopes } from '../../records/names.ts'
import { array, bool, object, oneOf, optional, text, title } from '../../schema.ts'
import { getAgentDetail } from './detail.ts'
import { type Agent, AgentCreate, type AgentItem, agentStatuses } from './schema.ts'
import * as agents from './service.ts'

const { role, persona, systemPrompt, model, skills } = AgentCreate.properties
const configuration = { role, skills, memoryScope: optional(oneOf(memoryScopes)), persona, systemPrompt, model }

const listedAs = { skills: array(text(100), 50) }

/** The fields by which a caller chooses an agent. */
const agentItem = ({ slug, name, role, model, status }: AgentItem) => ({
  slug,
  name,
  role,
  model,
  status: status === 'active' ? null : status,
})
const agentResult = (agent: Agent) => pick(agent, 'slug', 'version')

export const agentTools = [
  tool({
    name: 'create_agent',
    title: 'Create agent',
    description: 'Register an agent with its skills, so that tasks can be assigned to it.',
    toolset: 'agents',
    input: object({ name: title(100), ...configuration }),
    listedAs,
    action: agents.create,
    with: (input) => input,
    show: agentResult,
  }),
  tool({
    name: 'list_agents',
    title: 'List agents',
    description: 'List agents of the team (default: active ones).',
    toolset: 'agents',
    input: object({
      query,
      project: optional(project),
      status: optional(oneOf(agentStatuses)),
      ...listing,
    }),
    action: agents.listFor,
    with: ({ query, ...input }) => ({ limit: 20, ...input, search: query, total: true }),
    show: ({ items, ...page }) => ({ items: items.map(agentItem), ...page }),
  }),
  tool({
    name: 'get_agent',
    title: 'Get agent',
    description: 'Get an agent with its prompt, memories, activity and open tasks.',
    toolset: 'agents',
    input: object({ agent }),
    action: getAgentDetail,
    with: ({ agent }) => ({ ref: agent }),
    show: ({ recentActivity, can: _, ...agent }) => ({ ...agent, recentActivity: recentActivity.map(feedLine) }),
  }),
  tool({
    name: 'update_agent',
    title: 'Update agent',
    description: 'Change an agent. skills replaces the whole list.',
    toolset: 'agents',
    input: object({
      agent,
      name: optional(title(100)),
      ...configuration,
      status: optional(oneOf(agentStatuses)),
      expectedVersion: optional(expectedVersion),
    }),
    listedAs,
    action: agents.update,
    with: ({ agent, expectedVersion: _, ...patch }) => ({ ref: agent, ...patch }),
    show: agentResult,
  }),
  tool({
    name: 'delete_agent',
    title: 'Delete agent',
    description: 'Delete an agent and its memories. archiveMemory: true keeps them for the team.',
    toolset: 'agents',
    input: object({ agent, archiveMemory: optional(bool()) }),
    action: agents.remove,
    with: ({ agent, archiveMemory }) => ({ ref: agent, archiveMemory }),
  }),
]
