import { created, type Http, on } from '../../http/context.ts'
import { Deleted, id, object, text } from '../../schema.ts'
import { Note, NoteCreate, NotePage, NotePatch, NoteQuery, PublicNote } from './schema.ts'
import * as notes from './service.ts'

const byId = object({ id: id() })

export const noteRoutes = (http: Http) =>
  http
    .get('/api/notes', ({ ctx, query }) => notes.list(ctx, query), {
      ...on(notes.list, 'List notes: your personal ones and those of the current team'),
      query: NoteQuery,
      response: NotePage,
    })
    .post('/api/notes', async ({ ctx, body, set }) => created(set, '/api/notes', await notes.create(ctx, body)), {
      ...on(notes.create, 'Create a note'),
      body: NoteCreate,
      response: { 201: Note },
    })
    .get('/api/notes/public/:slug', ({ ctx, params }) => notes.getPublic(ctx, params), {
      ...on(notes.getPublic, 'Read a public note'),
      params: object({ slug: text(80, { example: 'how-we-deploy-x7k2p9' }) }),
      response: PublicNote,
    })
    .get('/api/notes/:id', ({ ctx, params }) => notes.get(ctx, { ref: params.id }), {
      ...on(notes.get, 'Get one note'),
      params: byId,
      response: Note,
    })
    .put('/api/notes/:id', ({ ctx, params, body }) => notes.update(ctx, { ref: params.id, ...body }), {
      ...on(notes.update, 'Change the given fields of a note'),
      params: byId,
      body: NotePatch,
      response: Note,
    })
    .delete('/api/notes/:id', ({ ctx, params }) => notes.remove(ctx, { ref: params.id }), {
      ...on(notes.remove, 'Delete a note'),
      params: byId,
      response: Deleted,
    })
