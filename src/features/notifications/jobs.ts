import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import { type MailBatch, mailBatch } from './announcement-mail.ts'
import * as announcements from './announcements.ts'
import { enqueueDueMails, mailUser } from './mails.ts'

export const notificationJobs: JobDefinition<App>[] = [
  {
    name: 'notifications.deliver',
    run: async (app, data) => {
      await announcements.deliverRest(contextOf(app, system), data as { id: string })
    },
  },
  {
    name: 'notifications.mail',
    when: ({ SMTP_URL }) => SMTP_URL !== undefined,
    run: async (app, data) => {
      await mailBatch(contextOf(app, system), data as MailBatch)
    },
  },
  {
    name: 'notifications.mailUser',
    when: ({ SMTP_URL }) => SMTP_URL !== undefined,
    run: async (app, data) => {
      await mailUser(contextOf(app, system), data as { userId: string })
    },
  },
  {
    name: 'notifications.mailDue',
    every: '*/5 * * * *',
    when: ({ SMTP_URL }) => SMTP_URL !== undefined,
    run: async (app) => {
      await enqueueDueMails(contextOf(app, system), {})
    },
  },
]
