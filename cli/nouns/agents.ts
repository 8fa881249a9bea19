import type { Agent, AgentDetail, AgentItem } from '../../src/features/agents/schema.ts'
import { memoryScopes } from '../../src/records/names.ts'
import { inFull } from '../../src/records/party.ts'
import { paragraphs, plain, record } from '../terminal/output.ts'
import { ago } from '../terminal/times.ts'
import { choice, clearable, flag, many, text } from './noun.ts'
import { plainVerbs, sorting } from './resource.ts'

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length > 0 ? ['', title, ...lines.map((line) => `  ${line}`)] : []

/** What an agent is working on, remembers and did. */
const work = ({ openTasks, recentMemories, recentActivity }: AgentDetail): string[] => [
  ...section(
    'Open tasks',
    openTasks.map((task) => `${task.key} ${task.status}  ${plain(task.title)}`),
  ),
  ...section(
    'Recent memories',
    recentMemories.flatMap((m) => paragraphs(`${ago(m.updatedAt)}  ${plain(m.title ?? m.excerpt)}`)),
  ),
  ...section(
    'Recent activity',
    recentActivity.flatMap((a) => paragraphs(`${ago(a.at)}  ${plain(inFull(a.actor))} ${plain(a.description)}`)),
  ),
]

export const verbs = plainVerbs<AgentItem, Agent | AgentDetail>({
  noun: 'agents',
  path: '/api/agents',
  what: 'agent',
  name: 'name',
  sample: 'coder-x7k2p9',
  update: 'PUT',
  archives: true,
  remove: [flag('--archive-memory', 'keep the memories of the agent for the team', 'archiveMemory')],
  columns: [
    { title: 'Slug', of: (a) => a.slug },
    { title: 'Name', of: (a) => a.name },
    { title: 'Role', of: (a) => a.role, wide: true },
    { title: 'Model', of: (a) => a.model },
    { title: 'Status', of: (a) => a.status },
  ],
  show: (agent) => [
    ...record(
      {
        Agent: agent.name,
        Slug: agent.slug,
        Role: agent.role,
        Model: agent.model,
        Status: agent.status,
        Visibility: agent.scope,
        Memory: agent.memoryScope,
        Id: agent.id,
      },
      agent.persona,
    ),
    ...('openTasks' in agent ? work(agent) : []),
  ],
  fields: [
    clearable(text('--role <text>', 'what the agent does')),
    clearable(text('--persona <text>', 'personality of the agent; "-" reads standard input')),
    clearable(text('--system-prompt <text>', 'system prompt; "-" reads standard input')),
    clearable(text('--model <model>', 'model that the agent runs on')),
    clearable(text('--provider <provider>', 'provider of the model')),
    many('--skill <skill>', 'skill of the agent: slug or id', 'skills'),
    choice('--memory-scope <scope>', memoryScopes),
    choice('--scope <who>', ['personal', 'team', 'public'], 'team'),
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
