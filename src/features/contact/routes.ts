import { type Http, on } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import {
  ContactMessage,
  ContactPage,
  ContactPatch,
  ContactQuery,
  ContactReceived,
  ContactSend,
  ContactToken,
} from './schema.ts'
import * as contact from './service.ts'

const byId = object({ id: id() })

export const contactRoutes = (http: Http) =>
  http
    .get('/api/public/contact', ({ ctx }) => contact.token(ctx, {}), {
      ...on(contact.token, 'Get a token for a message to the administrators', { answers: [404] }),
      response: ContactToken,
    })
    .post(
      '/api/public/contact',
      async ({ ctx, body, set }) => {
        const received = await contact.send(ctx, body)
        set.status = 201
        return received
      },
      {
        ...on(contact.send, 'Send a message to the administrators', { answers: [404] }),
        body: ContactSend,
        response: { 201: ContactReceived },
      },
    )
    .get('/api/admin/contact', ({ ctx, query }) => contact.list(ctx, query), {
      ...on(contact.list, 'Messages of visitors'),
      query: ContactQuery,
      response: ContactPage,
    })
    .patch('/api/admin/contact/:id', ({ ctx, params, body }) => contact.update(ctx, { ...body, ...params }), {
      ...on(contact.update, 'Mark a message as read, or as spam or not'),
      params: byId,
      body: ContactPatch,
      response: ContactMessage,
    })
    .delete('/api/admin/contact/:id', ({ ctx, params }) => contact.remove(ctx, params), {
      ...on(contact.remove, 'Delete a message of a visitor'),
      params: byId,
      response: Deleted,
    })
