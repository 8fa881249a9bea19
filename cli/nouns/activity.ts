import type { Activity, ActivityItem } from '../../src/features/activity/schema.ts'
import { at, json, listed, type Page, paging, projectId, query, record, shown, text, time, type Verb } from '../noun.ts'
import { ago } from '../output.ts'

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'What happened, newest first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      text('--type <type>', 'such as task.completed'),
      time('--since <time>', 'at or after'),
      time('--until <time>', 'before'),
      ...paging,
    ],
    run: async ({ client, fields, project }) => {
      const named = await project()
      return listed(
        await client.get<Page<ActivityItem>>(query('/api/activities', { ...fields, projectId: named && (await projectId(client, named)) })),
        [
          { title: 'When', of: (a) => ago(a.at) },
          { title: 'Who', of: (a) => a.actor.name },
          { title: 'What', of: (a) => a.description, wide: true },
        ],
        'Nothing has happened.',
      )
    },
  },
  {
    name: 'show',
    args: '<activity>',
    about: 'Show one',
    run: async ({ client, args }) => {
      const a = await client.get<Activity>(at('/api/activities/:id', ...args))
      return shown(
        a,
        ...record({ When: a.at, Who: a.actor.name, What: a.description, Type: a.type, Id: a.id }, JSON.stringify(a.metadata, null, 2)),
      )
    },
  },
  {
    name: 'log',
    args: '<type> <description>',
    about: 'Write down something that happened',
    aliases: ['create'],
    inProject: true,
    fields: [json('--metadata <json>', 'more about it')],
    examples: ['activity log deploy "Deployed 1.4 to staging"'],
    run: async ({ client, args: [type, description], fields, project }) => {
      const named = await project()
      const made = await client.post<Activity>('/api/activities', {
        type,
        description,
        ...fields,
        ...(named && { projectId: await projectId(client, named) }),
      })
      return shown(made, 'Written down.')
    },
  },
]
