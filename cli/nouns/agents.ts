import type { Agent, AgentItem } from '../../src/features/agents/schema.ts'
import { many, plainVerbs, record, text } from '../noun.ts'

export const verbs = plainVerbs<AgentItem, Agent>({
  path: '/api/agents',
  what: 'agent',
  name: 'name',
  update: 'PUT',
  remove: true,
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
    text('--role <text>', 'what it does'),
    text('--persona <text>', 'how it is; - reads it from standard input'),
    text('--system-prompt <text>', 'what it is told; - reads it from standard input'),
    text('--model <model>', 'the model it runs on'),
    text('--provider <provider>', 'who runs that'),
    many('--skill <skill>', 'a skill that it has', 'skills'),
    text('--memory-scope <scope>', 'agent, project or session'),
    text('--scope <who>', 'personal, team or public'),
  ],
  filters: [text('--status <status>', 'active or archived'), text('--search <words>', 'only those')],
})
