import { asStream, type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, int, object, text } from '../../schema.ts'
import { ask, askRepository } from './asking.ts'
import { decideProposal } from './proposals.ts'
import { streamAnswer } from './reply.ts'
import {
  AiSession,
  AiSessionCreate,
  AiSessionPage,
  AiSessionQuery,
  AiSessionRead,
  AiSessionRename,
  AiStatus,
  ChatCreate,
  Message,
  MessageCreate,
  MessagePage,
  MessageQuery,
  Proposal,
  ProposalAnswer,
} from './schema.ts'
import * as sessions from './sessions.ts'
import { status } from './status.ts'

const byId = object({ id: id() })
const repository = object({
  id: text(300, {
    minLength: 1,
    description: 'Id, unique id prefix or owner/name',
    example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10',
  }),
})
const upstream = { answers: [502, 504] }
const streams = 'or streams it'

export const assistantRoutes = (http: Http) =>
  http
    .get('/api/ai/status', ({ ctx }) => status(ctx, undefined), {
      ...on(status, 'Get the chat model, the host that receives questions, and the tokens that are left'),
      response: AiStatus,
    })
    .get('/api/ai/sessions', ({ ctx, query }) => sessions.list(ctx, query), {
      ...on(sessions.list, 'List your chats with the assistant'),
      query: AiSessionQuery,
      response: AiSessionPage,
    })
    .post(
      '/api/ai/sessions',
      async ({ ctx, body, set }) => respondCreated(set, '/api/ai/sessions', await sessions.create(ctx, body)),
      {
        ...on(sessions.create, 'Start a chat with the assistant'),
        body: AiSessionCreate,
        response: { 201: AiSession },
      },
    )
    .get('/api/ai/sessions/:id', ({ ctx, params }) => sessions.get(ctx, params), {
      ...on(sessions.get, 'Get one of your chats'),
      params: byId,
      response: AiSessionRead,
    })
    .patch('/api/ai/sessions/:id/rename', ({ ctx, params, body }) => sessions.rename(ctx, { ...body, ...params }), {
      ...on(sessions.rename, 'Rename a chat'),
      params: byId,
      body: AiSessionRename,
      response: AiSession,
    })
    .delete('/api/ai/sessions/:id', ({ ctx, params }) => sessions.remove(ctx, params), {
      ...on(sessions.remove, 'Delete a chat and its messages permanently'),
      params: byId,
      response: Deleted,
    })
    .get('/api/ai/sessions/:id/messages', ({ ctx, params, query }) => sessions.messages(ctx, { ...query, ...params }), {
      ...on(sessions.messages, 'List the messages of a chat, oldest first'),
      params: byId,
      query: MessageQuery,
      response: MessagePage,
    })
    .post(
      '/api/ai/sessions/:id/messages',
      ({ ctx, params, body, request, guard }) => {
        guard.server?.timeout(request, 0)
        return asStream(streamAnswer(request, (emit, signal) => ask({ ...ctx, signal }, { ...body, ...params, emit })))
      },
      {
        ...on(ask, `Ask a question: returns the answer, ${streams}`, upstream),
        params: byId,
        body: MessageCreate,
        response: { 201: Message },
      },
    )
    .get('/api/ai/sessions/:id/messages/:messageId', ({ ctx, params }) => sessions.getMessage(ctx, params), {
      ...on(sessions.getMessage, 'Get one message of a chat'),
      params: object({ id: id(), messageId: id() }),
      response: Message,
    })
    .post(
      '/api/ai/sessions/:id/messages/:messageId/proposals/:n',
      ({ ctx, params: { id: session, messageId, n }, body }) =>
        decideProposal(ctx, { ...body, id: session, messageId, number: n }),
      {
        ...on(decideProposal, 'Accept a proposal of the assistant, as it is or edited, or decline it'),
        params: object({ id: id(), messageId: id(), n: int({ min: 1, max: 100, example: 1 }) }),
        body: ProposalAnswer,
        response: Proposal,
      },
    )
    .post(
      '/api/repos/:id/chat',
      ({ ctx, params, body, request, guard }) => {
        guard.server?.timeout(request, 0)
        return asStream(
          streamAnswer(request, (emit, signal) => askRepository({ ...ctx, signal }, { ...body, ref: params.id, emit })),
        )
      },
      {
        ...on(askRepository, `Ask about the files of a repository: returns the answer, ${streams}`, upstream),
        params: repository,
        body: ChatCreate,
        response: { 201: Message },
      },
    )
