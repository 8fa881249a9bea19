import { type Http, on, respondCreated } from '../../http/context.ts'
import { id, object } from '../../schema.ts'
import * as announcements from './announcements.ts'
import { mailNow } from './mails.ts'
import {
  Announcement,
  AnnouncementPage,
  AnnouncementQuery,
  DailyMailed,
  Notification,
  NotificationCount,
  NotificationPage,
  NotificationPatch,
  NotificationQuery,
  NotificationSend,
  ReadAll,
  Seeded,
} from './schema.ts'
import * as notifications from './service.ts'

export const notificationRoutes = (http: Http) =>
  http
    .get('/api/notifications', ({ ctx, query }) => notifications.list(ctx, query), {
      ...on(notifications.list, 'Your notifications, newest first'),
      query: NotificationQuery,
      response: NotificationPage,
    })
    .get('/api/notifications/count', ({ ctx }) => notifications.count(ctx, {}), {
      ...on(notifications.count, 'Count your notifications in each view'),
      response: NotificationCount,
    })
    .patch('/api/notifications/read-all', ({ ctx }) => notifications.readAll(ctx, {}), {
      ...on(notifications.readAll, 'Mark all your notifications as read'),
      response: ReadAll,
    })
    .post('/api/notifications/daily-mail', ({ ctx }) => mailNow(ctx, {}), {
      ...on(mailNow, 'Send your daily mail now, with what is still unread'),
      response: DailyMailed,
    })
    .patch('/api/notifications/:id', ({ ctx, params, body }) => notifications.update(ctx, { ...body, ...params }), {
      ...on(notifications.update, 'Mark a notification as read, unread, done or not done, or snooze it'),
      params: object({ id: id() }),
      body: NotificationPatch,
      response: Notification,
    })
    .patch('/api/notifications/:id/read', ({ ctx, params }) => notifications.readOne(ctx, params), {
      ...on(notifications.readOne, 'Mark a notification as read'),
      params: object({ id: id() }),
      response: Notification,
    })
    .get('/api/admin/notifications', ({ ctx, query }) => announcements.list(ctx, query), {
      ...on(announcements.list, 'Notifications that administrators have sent'),
      query: AnnouncementQuery,
      response: AnnouncementPage,
    })
    .post(
      '/api/admin/notifications/send',
      async ({ ctx, body, set }) =>
        respondCreated(set, '/api/admin/notifications', await announcements.send(ctx, body)),
      {
        ...on(announcements.send, 'Notify all users, a team or some users'),
        body: NotificationSend,
        response: { 201: Announcement },
      },
    )
    .post('/api/admin/notifications/seed', ({ ctx }) => announcements.seed(ctx, {}), {
      ...on(announcements.seed, 'Create a few sample notifications for yourself'),
      response: Seeded,
    })
