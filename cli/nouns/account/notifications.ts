import type { Notification, NotificationCount } from '../../../src/features/notifications/schema.ts'
import type { Client } from '../../api/client.ts'
import { findItem, pathTo } from '../../api/reference.ts'
import { pluralize, recordLines } from '../../terminal/output.ts'
import { timeAgo } from '../../terminal/times.ts'
import { type CommandOutput, flag, outputOf, type Verb } from '../noun.ts'
import { fetchPages, listOutput, paging } from '../resource.ts'
import { ruleVerbs } from './notification-rules.ts'

const PATH = '/api/notifications'
const notificationOutput = (n: Notification): CommandOutput =>
  outputOf(
    n,
    ...recordLines(
      {
        Notification: n.title,
        Reason: n.reason,
        Received: timeAgo(n.createdAt),
        About: n.subject && `${n.subject.key ?? n.subject.kind} ${n.subject.title}`,
        From: n.from?.name,
        Read: n.readAt ? timeAgo(n.readAt) : 'no',
        Done: n.done ? 'yes' : 'no',
        Snoozed: n.snoozedUntil && `until ${n.snoozedUntil}`,
        Link: n.link,
        Id: n.id,
      },
      n.message,
    ),
  )

/** Changes each of these notifications. */
async function changeNotifications(
  client: Client,
  refs: readonly string[],
  change: Record<string, unknown>,
): Promise<CommandOutput> {
  const items: Notification[] = []
  for (const ref of refs) {
    const { id } = await findItem<Notification>(client, PATH, 'notification', ref)
    items.push(await client.request<Notification>('PATCH', pathTo(`${PATH}/:id`, id), change))
  }
  return outputOf({ items }, `Changed ${pluralize(items.length, 'notification')}.`)
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
      listOutput(
        await fetchPages<Notification>(client, PATH, {
          ...fields,
          ...(needs ? { view: 'needs' } : !fields.all && { unread: true }),
        }),
        [
          { title: 'Id', of: (n) => n.id.slice(0, 13) },
          { title: 'Received', of: (n) => timeAgo(n.createdAt) },
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
    run: async ({ client, args }) =>
      notificationOutput(await findItem<Notification>(client, PATH, 'notification', args[0] as string)),
  },
  {
    name: 'count',
    about: 'Count your notifications: needing your action, unread, all',
    examples: ['tutti notifications count'],
    run: async ({ client }) => {
      const counted = await client.get<NotificationCount>(`${PATH}/count`)
      return outputOf(counted, `${counted.needs} need your action, ${counted.unread} unread, ${counted.all} in total`)
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
        return outputOf(all, `Marked ${all.read} as read.`)
      }
      for (const ref of args) {
        const { id } = await findItem<Notification>(client, PATH, 'notification', ref)
        await client.request<Notification>('PATCH', pathTo(`${PATH}/:id/read`, id))
      }
      return outputOf({ read: args.length }, `Marked ${args.length} as read.`)
    },
  },
  {
    name: 'done',
    args: '<notification...>',
    about: 'Mark notifications as done',
    fields: [flag('--undo', 'mark them as not done')],
    examples: ['tutti notifications done 019a8a7e-5c1f', 'tutti notifications done 019a8a7e-5c1f --undo'],
    run: ({ client, args, fields }) => changeNotifications(client, args, { done: !fields.undo }),
  },
  {
    name: 'unread',
    args: '<notification...>',
    about: 'Mark notifications as unread',
    examples: ['tutti notifications unread 019a8a7e-5c1f'],
    run: ({ client, args }) => changeNotifications(client, args, { read: false }),
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
    run: ({ client, args, fields }) => changeNotifications(client, args, fields),
  },
  ...ruleVerbs,
]
