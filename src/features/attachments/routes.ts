import { type Http, on } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import {
  AttachedFile,
  Attachment,
  AttachmentAdd,
  AttachmentPage,
  AttachmentQuery,
  FILE_BYTES,
  PendingAdd,
  PendingUpload,
  Upload,
} from './schema.ts'
import * as attachments from './service.ts'
import { contentDisposition } from './types.ts'

const byId = object({ id: id() })

export const attachmentRoutes = (http: Http) =>
  http
    .get('/api/uploads', ({ ctx, query }) => attachments.list(ctx, query), {
      ...on(attachments.list, 'List the files of a record, or of all records that you see in the current team'),
      query: AttachmentQuery,
      response: AttachmentPage,
    })
    .post(
      '/api/uploads',
      async ({ ctx, query, body, set }) => {
        const added = await attachments.add(ctx, { ...query, ...body })
        set.status = 201
        set.headers.location = added.path
        return added
      },
      {
        ...on(attachments.add, 'Add a picture or file of at most 10 MiB to a record', {
          upload: FILE_BYTES,
        }),
        query: AttachmentAdd,
        body: Upload,
        response: { 201: Attachment },
      },
    )
    .post(
      '/api/uploads/pending',
      async ({ ctx, query, body, set }) => {
        const added = await attachments.addPending(ctx, { ...query, ...body })
        set.status = 201
        set.headers.location = added.path
        return added
      },
      {
        ...on(attachments.addPending, 'Upload a file before its task: `files` of the new task names it within a day', {
          upload: FILE_BYTES,
        }),
        query: PendingAdd,
        body: Upload,
        response: { 201: PendingUpload },
      },
    )
    .get(
      '/api/uploads/:id',
      async ({ ctx, params, request, set }) => {
        const tag = `"${params.id}"`
        const { type, name, bytes } = await attachments.get(ctx, {
          ...params,
          known: request.headers.get('if-none-match')?.includes(tag),
        })
        // The file comes from a user: it must not run scripts, be sniffed for another type or be used by other sites.
        // Each use is checked, because the reader may have lost the right to its record.
        Object.assign(set.headers, {
          'cache-control': 'private, no-cache',
          'content-security-policy': "sandbox; default-src 'none'",
          'content-disposition': contentDisposition(type, name),
          etag: tag,
          ...(bytes && { 'content-type': type }),
        })
        set.status = bytes ? 200 : 304
        return new Response(bytes, { status: set.status })
      },
      { ...on(attachments.get, 'Get a file of a record'), params: byId, response: AttachedFile },
    )
    .delete('/api/uploads/:id', ({ ctx, params }) => attachments.remove(ctx, params), {
      ...on(attachments.remove, 'Delete a file of a record'),
      params: byId,
      response: Deleted,
    })
