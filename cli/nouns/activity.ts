import type { Activity, ActivityItem } from '../../src/features/activity/schema.ts'
import { fullName } from '../../src/records/user-or-agent.ts'
import { pathTo } from '../api/reference.ts'
import { recordLines } from '../terminal/output.ts'
import { timeAgo } from '../terminal/times.ts'
import { choice, json, outputOf, reference, text, time, type Verb } from './noun.ts'
import { fetchPages, listOutput, paging } from './resource.ts'

const task = reference('--task <task>', 'task that the activity is about', '/api/tasks', 'taskId')

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List activities, newest first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      text('--type <type>', 'only this type, such as task.completed; task. for all types of tasks'),
      task,
      reference('--agent <agent>', 'only activities of this agent', '/api/agents', 'agentId'),
      text('--actor <id>', 'only activities of this person or agent', { as: 'actorId' }),
      { ...choice('--by <kind>', ['user', 'agent']), as: 'actorType' },
      text('--subject <id>', 'only activities about this record', { as: 'subjectId' }),
      time('--since <time>', 'only at or after this time'),
      time('--until <time>', 'only before this time'),
      choice('--order <order>', ['asc', 'desc']),
      ...paging,
    ],
    examples: ['tutti activity list', 'tutti activity list --task TUT-42 --since 2027-01-31'],
    run: async ({ client, fields, inProject }) =>
      listOutput(
        await fetchPages<ActivityItem>(client, '/api/activities', { ...fields, ...(await inProject()) }),
        [
          { title: 'When', of: (a) => timeAgo(a.at) },
          { title: 'Who', of: (a) => fullName(a.actor) },
          { title: 'What', of: (a) => a.description, wide: true },
        ],
        'No activity yet.',
      ),
  },
  {
    name: 'show',
    args: '<activity>',
    about: 'Show an activity with its details',
    examples: ['tutti activity show 019a8a7e-5c1f'],
    run: async ({ client, args }) => {
      const a = await client.get<Activity>(pathTo('/api/activities/:id', ...args))
      return outputOf(
        a,
        ...recordLines(
          { When: a.at, Who: fullName(a.actor), What: a.description, Type: a.type, Id: a.id },
          JSON.stringify(a.metadata, null, 2),
        ),
      )
    },
  },
  {
    name: 'log',
    args: '<type> <description>',
    about: 'Log an activity; "-" reads the description from standard input',
    aliases: ['create'],
    inProject: true,
    fields: [json('--metadata <json>', 'details'), task],
    examples: ['tutti activity log deploy "Deployed 1.4 to staging"'],
    run: async ({ client, args: [type, description], fields, inProject }) =>
      outputOf(
        await client.post<Activity>('/api/activities', { type, description, ...fields, ...(await inProject()) }),
        'Activity logged.',
      ),
  },
]
