import { eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { meta } from '../../db/table.ts'
import type { Embedder } from '../../embeddings/embedder.ts'
import type { App } from '../../services.ts'

/** Which model's vectors search goes by: after a change the earlier one's, until everything has a vector of the new one. */
export const MODEL = 'search.model'

export interface QueryVector {
  model: string
  values: Float32Array
}

/** Those that have seen the change through: it is not undone while they run. */
const changed = new WeakSet<App>()

async function modelsToAsk(ctx: Ctx): Promise<Embedder[]> {
  const { embedder } = ctx.app
  if (changed.has(ctx.app)) return [embedder]
  const [kept] = await ctx.db.select().from(meta).where(eq(meta.key, MODEL))
  if (kept?.value === embedder.id) changed.add(ctx.app)
  const earlier = kept && kept.value !== embedder.id ? embedder.earlier(kept.value) : undefined
  return earlier ? [earlier, embedder] : [embedder]
}

/** The query's vector; undefined when no model can be reached, for then words alone must do. */
export async function embedQuery(ctx: Ctx, text: string): Promise<QueryVector | undefined> {
  for (const embedder of await modelsToAsk(ctx))
    try {
      const [values] = await embedder.embed([text], { signal: ctx.signal, urgent: true })
      if (values) return { model: embedder.id, values }
    } catch (error) {
      ctx.app.log.warn('query not embedded', { model: embedder.id, error })
    }
  return undefined
}
