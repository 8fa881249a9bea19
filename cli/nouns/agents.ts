import type { Agent, AgentDetail, AgentItem } from '../../src/features/agents/schema.ts'
import { memoryScopes } from '../../src/records/names.ts'
import { fullName } from '../../src/records/user-or-agent.ts'
import { paragraphLines, recordLines, safeLine } from '../terminal/output.ts'
import { timeAgo } from '../terminal/times.ts'
import { choice, clearable, flag, many, text } from './noun.ts'
import { sorting, standardVerbs } from './resource.ts'

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length > 0 ? ['', title, ...lines.map((line) => `  ${line}`)] : []

/** What an agent is working on, remembers and did. */
const activityLines = ({ openTasks, recentMemories, recentActivity }: AgentDetail): string[] => [
  ...section(
    'Open tasks',
    openTasks.map((task) => `${task.key} ${task.status}  ${safeLine(task.title)}`),
  ),
  ...section(
    'Recent memories',
    recentMemories.flatMap((m) => paragraphLines(`${timeAgo(m.updatedAt)}  ${safeLine(m.title ?? m.excerpt)}`)),
  ),
  ...section(
    'Recent activity',
    recentActivity.flatMap((a) =>
      paragraphLines(`${timeAgo(a.at)}  ${safeLine(fullName(a.actor))} ${safeLine(a.description)}`),
    ),
  ),
]

export const verbs = standardVerbs<AgentItem, Agent | AgentDetail>({
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
    ...recordLines(
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
    ...('openTasks' in agent ? activityLines(agent) : []),
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
