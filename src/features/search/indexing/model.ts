import { eq } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { meta } from '../../../db/table.ts'
import type { Embedder } from '../../../embeddings/embedder.ts'
import type { App } from '../../../services.ts'

/** Returns the model whose vectors search uses: after a change the earlier one, until the new one has all vectors. */
export const MODEL = 'search.model'

export interface QueryVector {
  model: string
  values: Float32Array
}

/** Apps that have completed a change of model, which is final while they run. */
const switchedApps = new WeakSet<App>()

async function modelsToAsk(ctx: Ctx): Promise<Embedder[]> {
  const { embedder } = ctx.app
  if (switchedApps.has(ctx.app)) return [embedder]
  const [kept] = await ctx.db.select().from(meta).where(eq(meta.key, MODEL))
  if (kept?.value === embedder.id) switchedApps.add(ctx.app)
  const earlier = kept && kept.value !== embedder.id ? embedder.earlier(kept.value) : undefined
  return earlier ? [earlier, embedder] : [embedder]
}

/** Returns the query's vector; undefined if the model is unreachable, so that search uses words alone. */
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
