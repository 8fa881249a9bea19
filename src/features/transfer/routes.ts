import { type Http, on, requestedTeam } from '../../http/context.ts'
import { exportLines } from './export.ts'
import { LARGEST_LINE } from './files.ts'
import { importBatch } from './import.ts'
import { ExportFile, ExportQuery, ImportBatch, ImportResult } from './schema.ts'
import { streamOf } from './stream.ts'

const NDJSON = 'application/x-ndjson'

export const transferRoutes = (http: Http) =>
  http
    .get(
      '/api/sync/export',
      async ({ ctx, query, set, request }) => {
        const format = query.format ?? (request.headers.get('accept')?.includes(NDJSON) ? 'ndjson' : 'json')
        const stream = streamOf(await exportLines(ctx, { ...requestedTeam(request), ...query }), format)
        set.headers['content-type'] = format === 'json' ? 'application/json' : NDJSON
        return new Response(stream)
      },
      {
        ...on(
          exportLines,
          'Export everything that you can see in your teams, or in one, with comments, links and files',
        ),
        query: ExportQuery,
        response: ExportFile,
      },
    )
    .post('/api/sync/import', ({ ctx, body }) => importBatch(ctx, body), {
      ...on(importBatch, 'Import records of an export into the current team; can be repeated', {
        maxBody: LARGEST_LINE,
      }),
      body: ImportBatch,
      response: ImportResult,
    })
