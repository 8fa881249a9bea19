import { define, number, text } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

const ofNotification = { kind: 'notification', told: 'access' } as const

export const notificationCreated = define('notification.created', {
  ...ofNotification,
  says: 'Somebody has a new notification',
  data: { type: text, reason: text, title: text },
})
/** Of one notification, or of all: then `read` is how many. */
export const notificationRead = define('notification.read', {
  ...ofNotification,
  says: 'Somebody read notifications',
  data: { read: optional(number) },
})
export const announcementSent = define('announcement.sent', {
  kind: 'announcement',
  told: 'access',
  says: 'An administrator wrote to several people',
  data: { title: text, type: text, to: text },
})
