import type { Notification } from '../../src/features/notifications/schema.ts'
import { at, itemIn } from '../api/reference.ts'
import { record } from '../terminal/output.ts'
import { ago } from '../terminal/times.ts'
import { flag, type Shown, shown, type Verb } from './noun.ts'
import { listed, pages, paging } from './resource.ts'

const PATH = '/api/notifications'
const one = (n: Notification): Shown =>
  shown(
    n,
    ...record(
      {
        Notification: n.title,
        Reason: n.reason,
        Received: ago(n.createdAt),
        Read: n.readAt ? ago(n.readAt) : 'no',
        Link: n.link,
        Id: n.id,
      },
      n.message,
    ),
  )

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your unread notifications, newest first',
    aliases: ['ls'],
    fields: paging.map((field) =>
      field.flag === '--all' ? flag('--all', 'list all results, including those that are read') : field,
    ),
    examples: ['tutti notifications list', 'tutti notifications list --all'],
    run: async ({ client, fields }) =>
      listed(
        await pages<Notification>(client, PATH, fields.all ? fields : { ...fields, unread: true }),
        [
          { title: 'Id', of: (n) => n.id.slice(0, 13) },
          { title: 'Received', of: (n) => ago(n.createdAt) },
          { title: 'Reason', of: (n) => n.reason },
          { title: 'Title', of: (n) => n.title, wide: true },
        ],
        fields.all ? 'No notifications.' : 'No unread notifications. Those that are read are listed with --all.',
      ),
  },
  {
    name: 'show',
    args: '<notification>',
    about: 'Show a notification; it stays unread',
    examples: ['tutti notifications show 019a8a7e-5c1f'],
    run: async ({ client, args }) => one(await itemIn<Notification>(client, PATH, 'notification', args[0] as string)),
  },
  {
    name: 'count',
    about: 'Count your unread notifications',
    examples: ['tutti notifications count'],
    run: async ({ client }) => {
      const counted = await client.get<{ unread: number }>(`${PATH}/count`)
      return shown(counted, `${counted.unread} unread`)
    },
  },
  {
    name: 'read',
    args: '[notification...]',
    about: 'Mark notifications as read: the given ones, or all',
    examples: ['tutti notifications read 019a8a7e-5c1f', 'tutti notifications read'],
    run: async ({ client, args }) => {
      if (args.length === 0) {
        const all = await client.request<{ read: number }>('PATCH', `${PATH}/read-all`)
        return shown(all, `Marked ${all.read} as read.`)
      }
      for (const ref of args) {
        const { id } = await itemIn<Notification>(client, PATH, 'notification', ref)
        await client.request<Notification>('PATCH', at(`${PATH}/:id/read`, id))
      }
      return shown({ read: args.length }, `Marked ${args.length} as read.`)
    },
  },
]
