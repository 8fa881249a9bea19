import type { Notification, NotificationCount } from '../../src/features/notifications/schema.ts'
import type { Client } from '../api/client.ts'
import { at, itemIn } from '../api/reference.ts'
import { pluralize, record } from '../terminal/output.ts'
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
        About: n.subject && `${n.subject.key ?? n.subject.kind} ${n.subject.title}`,
        From: n.from?.name,
        Read: n.readAt ? ago(n.readAt) : 'no',
        Done: n.done ? 'yes' : 'no',
        Snoozed: n.snoozedUntil && `until ${n.snoozedUntil}`,
        Link: n.link,
        Id: n.id,
      },
      n.message,
    ),
  )

/** Changes each of these notifications. */
async function changed(client: Client, refs: readonly string[], change: Record<string, unknown>): Promise<Shown> {
  const items: Notification[] = []
  for (const ref of refs) {
    const { id } = await itemIn<Notification>(client, PATH, 'notification', ref)
    items.push(await client.request<Notification>('PATCH', at(`${PATH}/:id`, id), change))
  }
  return shown({ items }, `Changed ${pluralize(items.length, 'notification')}.`)
}

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your unread notifications, newest first',
    aliases: ['ls'],
    fields: [
      ...paging.map((field) =>
        field.flag === '--all' ? flag('--all', 'list all results, including read ones') : field,
      ),
      flag('--needs', 'list notifications that need your action and are not snoozed'),
    ],
    examples: ['tutti notifications list', 'tutti notifications list --needs', 'tutti notifications list --all'],
    run: async ({ client, fields: { needs, ...fields } }) =>
      listed(
        await pages<Notification>(client, PATH, {
          ...fields,
          ...(needs ? { view: 'needs' } : !fields.all && { unread: true }),
        }),
        [
          { title: 'Id', of: (n) => n.id.slice(0, 13) },
          { title: 'Received', of: (n) => ago(n.createdAt) },
          { title: 'Reason', of: (n) => n.reason },
          { title: 'Title', of: (n) => n.title, wide: true },
        ],
        needs
          ? 'No notification needs your action.'
          : fields.all
            ? 'No notifications.'
            : 'No unread notifications. To list read ones, add --all.',
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
    about: 'Count your notifications: needing your action, unread, all',
    examples: ['tutti notifications count'],
    run: async ({ client }) => {
      const counted = await client.get<NotificationCount>(`${PATH}/count`)
      return shown(counted, `${counted.needs} need your action, ${counted.unread} unread, ${counted.all} in total`)
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
  {
    name: 'done',
    args: '<notification...>',
    about: 'Mark notifications as done',
    fields: [flag('--undo', 'mark them as not done')],
    examples: ['tutti notifications done 019a8a7e-5c1f', 'tutti notifications done 019a8a7e-5c1f --undo'],
    run: ({ client, args, fields }) => changed(client, args, { done: !fields.undo }),
  },
  {
    name: 'unread',
    args: '<notification...>',
    about: 'Mark notifications as unread',
    examples: ['tutti notifications unread 019a8a7e-5c1f'],
    run: ({ client, args }) => changed(client, args, { read: false }),
  },
  {
    name: 'snooze',
    args: '<notification...>',
    about: 'Snooze notifications until a time',
    fields: [
      {
        flag: '--until <when>',
        about: 'when the snooze ends, such as 2027-01-31, fri or +3h; "none" ends it now',
        as: 'snoozedUntil',
        kind: 'time',
        required: true,
        clears: 'always',
      },
    ],
    examples: [
      'tutti notifications snooze 019a8a7e-5c1f --until tomorrow',
      'tutti notifications snooze 019a8a7e-5c1f --until none',
    ],
    run: ({ client, args, fields }) => changed(client, args, fields),
  },
]
