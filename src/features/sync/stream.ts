import type { Ctx } from '../../action.ts'
import { AppError } from '../../errors.ts'
import { pull } from './pull.ts'
import type { Page, PullQuery } from './schema.ts'

export const NDJSON = 'application/x-ndjson'

/**
 * Returns all pages as one stream, a JSON object on each line. Each page is read when the client has received the one
 * before, with the current rights of its user. If the rights end, the stream ends, and its last line is a page with
 * `hasMore`. The first page is read before the response starts, so that its errors have their status.
 */
export async function streamPages(ctx: Ctx, query: PullQuery): Promise<Response> {
  let page: Page | undefined = await pull(ctx, query)
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (!page) return controller.close()
      const { cursor, hasMore } = page
      controller.enqueue(encoder.encode(`${JSON.stringify(page)}\n`))
      page = hasMore ? await nextPageOf(ctx, { ...query, cursor }) : undefined
    },
  })
  return new Response(body, { headers: { 'content-type': NDJSON } })
}

async function nextPageOf(ctx: Ctx, query: PullQuery): Promise<Page | undefined> {
  const found = await ctx.app.auth.renew(ctx.actor)
  if (!('actor' in found)) return undefined
  try {
    return await pull({ ...ctx, actor: found.actor, now: ctx.app.clock().toISOString() }, query)
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}
