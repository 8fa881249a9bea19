import { define, number, text } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

const ofNotification = { kind: 'notification', feed: 'access' } as const

export const notificationCreated = define('notification.created', {
  ...ofNotification,
  description: 'A user got a notification',
  data: { type: text, reason: text, title: text },
})
/** For one notification, or for all: then `read` is their number. */
export const notificationRead = define('notification.read', {
  ...ofNotification,
  description: 'A user marked notifications as read',
  data: { read: optional(number) },
})
export const announcementSent = define('announcement.sent', {
  kind: 'announcement',
  feed: 'access',
  description: 'An administrator sent a notification to several users',
  data: { title: text, type: text, to: text },
})
