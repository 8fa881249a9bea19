import { and, asc, eq, isNull, ne, sql } from 'drizzle-orm'
import { flow, read, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { passages, passageVectors } from './table.ts'

/** A few at a time: the model has a thread of its own, but other work wants that core too. */
const BATCH = 16

const lacking = read('search.lacking', machine, async (ctx, _: Record<string, never>) =>
  ctx.db
    .select({ id: passages.id, title: passages.title, content: passages.content })
    .from(passages)
    .leftJoin(passageVectors, and(eq(passageVectors.passageId, passages.id), eq(passageVectors.model, ctx.app.embedder.id)))
    .where(isNull(passageVectors.passageId))
    .orderBy(asc(passages.at))
    .limit(BATCH),
)

const keep = write(
  'search.keep',
  machine,
  async (ctx, { vectors }: { vectors: { passageId: string; vector: Float32Array }[] }): Promise<void> => {
    // The passage may be gone by now.
    for (const { passageId, vector } of vectors)
      await ctx.db.execute(
        sql`insert into ${passageVectors} (passage_id, model, vector) select p.id, ${ctx.app.embedder.id}, ${sql.param(vector, passageVectors.vector)}::vector
        from ${passages} p where p.id = ${passageId} on conflict do nothing`,
      )
  },
)

const forgetOthers = write('search.forgetOthers', machine, async (ctx, _: Record<string, never>): Promise<void> => {
  await ctx.db.delete(passageVectors).where(ne(passageVectors.model, ctx.app.embedder.id))
})

const others = read('search.others', machine, async (ctx, _: Record<string, never>): Promise<boolean> => {
  const rows = await ctx.db
    .select({ id: passageVectors.passageId })
    .from(passageVectors)
    .where(ne(passageVectors.model, ctx.app.embedder.id))
    .limit(1)
  return rows.length > 0
})

/**
 * Makes the vectors that are missing for the model in use: of what is new, and after a change of model of everything. Those of an earlier
 * model go when all is done.
 */
export const embedMissing = flow('search.embedMissing', machine, async (ctx, { signal }: { signal?: AbortSignal }): Promise<number> => {
  let made = 0
  while (!signal?.aborted) {
    const batch = await lacking(ctx, {})
    if (batch.length === 0) {
      if (await others(ctx, {})) await forgetOthers(ctx, {})
      break
    }
    const vectors = await ctx.app.embedder.embed(
      batch.map(({ title, content }) => (title ? `${title}. ${content}` : content)),
      signal,
    )
    await keep(ctx, { vectors: batch.map(({ id }, i) => ({ passageId: id, vector: vectors[i] as Float32Array })) })
    made += batch.length
  }
  return made
})
