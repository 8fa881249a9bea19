import { defineEvent, flag, number, text } from '../../events/catalogue.ts'
import { nullable, optional } from '../../schema.ts'

const ofNotification = { kind: 'notification', feed: 'access' } as const

export const notificationCreated = defineEvent('notification.created', {
  ...ofNotification,
  description: 'A user received a notification',
  data: { type: text, reason: text, title: text },
  words: (_, { title }) => `sent the notification “${title}”`,
})
/** `read` is set if all were marked: their number. */
export const notificationRead = defineEvent('notification.read', {
  ...ofNotification,
  description: 'A user marked notifications as read',
  data: { read: optional(number) },
  words: (_, { read }) => (read ? `marked ${read} notifications as read` : 'read a notification'),
})
export const notificationUpdated = defineEvent('notification.updated', {
  ...ofNotification,
  description: 'A user changed the state of a notification: read, done or snoozed',
  data: { read: optional(flag), done: optional(flag), snoozedUntil: optional(nullable(text)) },
})
export const notificationSettled = defineEvent('notification.settled', {
  ...ofNotification,
  description: 'A notification was marked as done, because its request was completed elsewhere',
  data: { reason: text },
  words: () => 'completed what a notification asked for',
})
export const announcementSent = defineEvent('announcement.sent', {
  kind: 'announcement',
  feed: 'access',
  description: 'An administrator sent a notification to several users',
  data: { title: text, type: text, to: text },
  words: (_, { title }) => `sent the announcement “${title}”`,
})
