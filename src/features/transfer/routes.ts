import { type Http, on } from '../../http/context.ts'
import { exportLines } from './export.ts'
import { LARGEST_LINE } from './files.ts'
import { importBatch } from './import.ts'
import { ExportFile, ExportQuery, ImportBatch, ImportResult } from './schema.ts'
import { streamOf } from './stream.ts'

export const transferRoutes = (http: Http) =>
  http
    .get(
      '/api/sync/export',
      async ({ ctx, query, set }) => {
        const format = query.format ?? 'ndjson'
        const stream = streamOf(await exportLines(ctx, query), format)
        set.headers['content-type'] = format === 'json' ? 'application/json' : 'application/x-ndjson'
        return new Response(stream)
      },
      {
        ...on(exportLines, 'Everything that you see in the current team, with comments, links, versions and files'),
        query: ExportQuery,
        response: ExportFile,
      },
    )
    .post('/api/sync/import', ({ ctx, body }) => importBatch(ctx, body), {
      ...on(importBatch, 'Store records of an export in the current team; can be repeated', { maxBody: LARGEST_LINE }),
      body: ImportBatch,
      response: ImportResult,
    })
