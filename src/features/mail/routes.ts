import { type Http, on } from '../../http/context.ts'
import { OutboxPage, OutboxQuery } from './schema.ts'
import * as mail from './service.ts'

export const mailRoutes = (http: Http) =>
  http.get('/api/admin/outbox', ({ ctx, query }) => mail.outbox(ctx, query), {
    ...on(mail.outbox, 'List sent, queued and failed mail, and mail that is kept because there is no mail server'),
    query: OutboxQuery,
    response: OutboxPage,
  })
