import { type Http, on } from '../../http/context.ts'
import { id, object } from '../../schema.ts'
import { OutboxPage, OutboxQuery, Requeued } from './schema.ts'
import * as mail from './service.ts'

export const mailRoutes = (http: Http) =>
  http
    .get('/api/admin/outbox', ({ ctx, query }) => mail.outbox(ctx, query), {
      ...on(
        mail.outbox,
        'List sent, queued and failed mail, and mail that the server keeps because there is no mail server',
      ),
      query: OutboxQuery,
      response: OutboxPage,
    })
    .post('/api/admin/outbox/:id/resend', ({ ctx, params }) => mail.resend(ctx, params), {
      ...on(mail.resend, 'Send a failed mail again'),
      params: object({ id: id() }),
      response: Requeued,
    })
