import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, object, text } from '../../schema.ts'
import * as docs from './docs.ts'
import { listNoteLinks } from './links.ts'
import {
  DocQuery,
  DocRef,
  DocsOf,
  Note,
  NoteCreate,
  NoteLinks,
  NotePage,
  NotePatch,
  NoteQuery,
  NoteRead,
  ProjectDoc,
  ProjectDocPage,
  PublicNote,
} from './schema.ts'
import * as notes from './service.ts'

const byRef = object({
  id: text(100, { minLength: 1, description: 'Id, slug or id prefix', example: 'how-we-deploy-x7k2p9' }),
})

export const noteRoutes = (http: Http) =>
  http
    .get('/api/notes', ({ ctx, query }) => notes.list(ctx, query), {
      ...on(notes.list, 'List notes: your personal ones and those of the current team'),
      query: NoteQuery,
      response: NotePage,
    })
    .post(
      '/api/notes',
      async ({ ctx, body, set }) => respondCreated(set, '/api/notes', await notes.create(ctx, body)),
      {
        ...on(notes.create, 'Create a note'),
        body: NoteCreate,
        response: { 201: Note },
      },
    )
    .get('/api/notes/public/:slug', ({ ctx, params }) => docs.getPublic(ctx, params), {
      ...on(docs.getPublic, 'Read a public note'),
      params: object({ slug: text(80, { example: 'how-we-deploy-x7k2p9' }) }),
      response: PublicNote,
    })
    .get('/api/notes/:id', ({ ctx, params }) => notes.get(ctx, { ref: params.id }), {
      ...on(notes.get, 'Get one note'),
      params: byRef,
      response: NoteRead,
    })
    .get('/api/notes/:id/links', ({ ctx, params }) => listNoteLinks(ctx, { ref: params.id }), {
      ...on(listNoteLinks, 'List the notes that a note mentions, and those that mention it'),
      params: byRef,
      response: NoteLinks,
    })
    .put('/api/notes/:id', ({ ctx, params, body }) => notes.update(ctx, { ref: params.id, ...body }), {
      ...on(notes.update, 'Change the given fields of a note'),
      params: byRef,
      body: NotePatch,
      response: Note,
    })
    .delete('/api/notes/:id', ({ ctx, params }) => notes.remove(ctx, { ref: params.id }), {
      ...on(notes.remove, 'Delete a note'),
      params: byRef,
      response: Deleted,
    })
    .post('/api/notes/:id/restore', ({ ctx, params }) => notes.restore(ctx, { ref: params.id }), {
      ...on(notes.restore, 'Restore a note that was deleted in the last 30 days'),
      params: byRef,
      response: Note,
    })
    .get('/api/public/docs/:team/:project', ({ ctx, params, query }) => docs.list(ctx, { ...query, ...params }), {
      ...on(docs.list, 'List the documents of a public project'),
      params: DocsOf,
      query: DocQuery,
      response: ProjectDocPage,
    })
    .get('/api/public/docs/:team/:project/:slug', ({ ctx, params }) => docs.get(ctx, params), {
      ...on(docs.get, 'Read a document of a public project'),
      params: DocRef,
      response: ProjectDoc,
    })
