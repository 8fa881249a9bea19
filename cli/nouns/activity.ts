import type { Activity, ActivityItem } from '../../src/features/activity/schema.ts'
import { at } from '../api/reference.ts'
import { ago, record } from '../terminal/output.ts'
import { json, reference, shown, text, time, type Verb } from './noun.ts'
import { listed, pages, paging } from './resource.ts'

const task = reference('--task <task>', 'about this task', '/api/tasks', 'taskId')

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'What happened, newest first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      text('--type <type>', 'such as task.completed'),
      task,
      reference('--agent <agent>', 'what this agent did', '/api/agents', 'agentId'),
      time('--since <time>', 'at or after'),
      time('--until <time>', 'before'),
      text('--order <order>', 'asc or desc'),
      ...paging,
    ],
    examples: ['tutti activity list', 'tutti activity list --task TUT-42 --since 2027-01-31'],
    run: async ({ client, fields, inProject }) =>
      listed(
        await pages<ActivityItem>(client, '/api/activities', { ...fields, ...(await inProject()) }),
        [
          { title: 'When', of: (a) => ago(a.at) },
          { title: 'Who', of: (a) => a.actor.name },
          { title: 'What', of: (a) => a.description, wide: true },
        ],
        'Nothing has happened.',
      ),
  },
  {
    name: 'show',
    args: '<activity>',
    about: 'Show one of them with what is known about it',
    examples: ['tutti activity show 019a8a7e-5c1f'],
    run: async ({ client, args }) => {
      const a = await client.get<Activity>(at('/api/activities/:id', ...args))
      return shown(
        a,
        ...record(
          { When: a.at, Who: a.actor.name, What: a.description, Type: a.type, Id: a.id },
          JSON.stringify(a.metadata, null, 2),
        ),
      )
    },
  },
  {
    name: 'log',
    args: '<type> <description>',
    about: 'Write down something that happened; - reads it from standard input',
    aliases: ['create'],
    inProject: true,
    fields: [json('--metadata <json>', 'more about it'), task],
    examples: ['tutti activity log deploy "Deployed 1.4 to staging"'],
    run: async ({ client, args: [type, description], fields, inProject }) =>
      shown(
        await client.post<Activity>('/api/activities', { type, description, ...fields, ...(await inProject()) }),
        'Written down.',
      ),
  },
]
