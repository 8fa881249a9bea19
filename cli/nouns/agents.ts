import type { Agent, AgentItem } from '../../src/features/agents/schema.ts'
import { record } from '../terminal/output.ts'
import { choice, clearable, flag, many, text } from './noun.ts'
import { plainVerbs, sorting } from './resource.ts'

export const verbs = plainVerbs<AgentItem, Agent>({
  noun: 'agents',
  path: '/api/agents',
  what: 'agent',
  name: 'name',
  sample: 'coder-x7k2p9',
  update: 'PUT',
  archives: true,
  remove: [flag('--archive-memory', 'keep its memories for the team', 'archiveMemory')],
  columns: [
    { title: 'Slug', of: (a) => a.slug },
    { title: 'Name', of: (a) => a.name },
    { title: 'Role', of: (a) => a.role, wide: true },
    { title: 'Model', of: (a) => a.model },
    { title: 'Status', of: (a) => a.status },
  ],
  show: (agent) =>
    record(
      {
        Agent: agent.name,
        Slug: agent.slug,
        Role: agent.role,
        Model: agent.model,
        Status: agent.status,
        Memory: agent.memoryScope,
        Id: agent.id,
      },
      agent.persona,
    ),
  fields: [
    clearable(text('--role <text>', 'what the agent does')),
    clearable(text('--persona <text>', 'its personality; - reads it from standard input')),
    clearable(text('--system-prompt <text>', 'system prompt; - reads it from standard input')),
    clearable(text('--model <model>', 'model that it runs on')),
    clearable(text('--provider <provider>', 'provider of the model')),
    many('--skill <skill>', 'skill that it has: slug or id', 'skills'),
    choice('--memory-scope <scope>', ['agent', 'project', 'session']),
    choice('--scope <who>', ['personal', 'team', 'public']),
  ],
  changes: [choice('--status <status>', ['active', 'archived'])],
  filters: [
    choice('--status <status>', ['active', 'archived']),
    choice('--scope <who>', ['personal', 'team', 'public']),
    text('--search <words>', 'only agents with all of these words'),
    ...sorting('updatedAt', 'createdAt', 'name'),
  ],
  examples: {
    list: ['tutti agents list --all'],
    create: ['tutti agents create "Coder" --role "writes code" --skill review-x7k2p9'],
    update: ['tutti agents update coder-x7k2p9 --status archived'],
  },
})
