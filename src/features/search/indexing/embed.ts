import { and, desc, eq, isNull, ne, notInArray, sql } from 'drizzle-orm'
import { flow, read, write } from '../../../action.ts'
import { machine } from '../../../auth/policy.ts'
import { meta } from '../../../db/table.ts'
import { noEmbedder, TextRefused } from '../../../embeddings/embedder.ts'
import { jobs } from '../../../jobs/table.ts'
import type { App } from '../../../services.ts'
import { passages, passageVectors } from '../table.ts'
import { burstOf } from './burst.ts'
import { MODEL } from './model.ts'
import { type EmbeddedPassage, putVectors } from './passages.ts'

/** Passages read at once, and texts embedded at once; small, so that results are stored soon. */
const READ = 64
const SENT = 16
const FORGOTTEN = 1000

/** Returns the text of a record that is embedded. */
export const textToEmbed = ({ title, content }: { title: string; content: string }): string =>
  title ? `${title}. ${content}` : content

/** Returns passages without a vector, newest first, because people search for those first. */
const readWithoutVector = read('search.lacking', machine, async (ctx, { without }: { without: string[] }) =>
  ctx.db
    .select({ id: passages.id, title: passages.title, content: passages.content })
    .from(passages)
    .leftJoin(
      passageVectors,
      and(eq(passageVectors.passageId, passages.id), eq(passageVectors.model, ctx.app.embedder.id)),
    )
    .where(and(isNull(passageVectors.passageId), without.length > 0 ? notInArray(passages.id, without) : undefined))
    .orderBy(desc(passages.id))
    .limit(READ),
)

const storeVectors = write(
  'search.keep',
  machine,
  (ctx, { made }: { made: EmbeddedPassage[] }): Promise<void> => putVectors(ctx, made),
  {
    bookkeeping: true,
  },
)

const readModelInUse = read(
  'search.inUse',
  machine,
  async (ctx, _: Record<string, never>): Promise<string | undefined> => {
    const [kept] = await ctx.db.select().from(meta).where(eq(meta.key, MODEL))
    return kept?.value
  },
)

const switchModel = write('search.changeModel', machine, async (ctx, _: Record<string, never>): Promise<void> => {
  const { id: value } = ctx.app.embedder
  await ctx.db.insert(meta).values({ key: MODEL, value }).onConflictDoUpdate({ target: meta.key, set: { value } })
})

const hasOtherModels = read('search.others', machine, async (ctx, _: Record<string, never>): Promise<boolean> => {
  const { rows } = await ctx.db.execute(
    sql`select 1 from ${passageVectors} where ${ne(passageVectors.model, ctx.app.embedder.id)} limit 1`,
  )
  return rows.length > 0
})

const deleteSomeVectors = write(
  'search.forgetSome',
  machine,
  async (ctx, _: Record<string, never>): Promise<void> => {
    const some = sql`select ctid from ${passageVectors} where ${ne(passageVectors.model, ctx.app.embedder.id)}
    limit ${FORGOTTEN}`
    await ctx.db.execute(sql`delete from ${passageVectors} where ctid = any(array(${some}))`)
  },
  { bookkeeping: true },
)

/** Starts the job that creates missing vectors. An existing job is left alone: it may wait for its next attempt. */
export const askForVectors = write(
  'search.askForVectors',
  machine,
  async (ctx, _: Record<string, never>): Promise<void> => {
    const isThere = and(eq(jobs.name, 'search.embed'), ne(jobs.state, 'failed'))
    if ((await ctx.db.$count(jobs, isThere)) === 0) ctx.enqueue({ name: 'search.embed', data: {}, key: 'all' })
  },
  { bookkeeping: true },
)

/** During a burst of changes the next text waits, because the requests need the processor. */
async function vectorsOf(app: App, texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
  const { embedder } = app
  const steps = embedder.sequential ? texts.map((text) => [text]) : [texts]
  const vectors: Float32Array[] = []
  for (const step of steps) {
    await burstOf(app).whenOver({ signal })
    vectors.push(...(await embedder.embed(step, { signal })))
  }
  return vectors
}

/**
 * Creates the missing vectors for the current model: for new passages, and for all after a change of model. The vectors
 * of the earlier model stay in use until all are created.
 */
export const embedMissing = flow(
  'search.embedMissing',
  machine,
  async (ctx, { signal }: { signal?: AbortSignal }): Promise<number> => {
    const { embedder, log } = ctx.app
    if (embedder === noEmbedder) return 0
    const refused: string[] = []
    let count = 0

    /** A text that is too long for the model gets the vector of its beginning; the other texts are not affected. */
    const make = async (some: readonly { id: string; text: string }[]): Promise<EmbeddedPassage[]> => {
      try {
        const texts = some.map(({ text }) => text)
        const vectors = await vectorsOf(ctx.app, texts, signal)
        return some.map(({ id }, i) => ({ id, vector: vectors[i] as Float32Array }))
      } catch (error) {
        if (!(error instanceof TextRefused)) throw error
        const [first] = some
        if (some.length > 1) return (await Promise.all(some.map((one) => make([one])))).flat()
        if (first && first.text.length > 100)
          return make([{ ...first, text: first.text.slice(0, first.text.length / 2) }])
        log.warn('passage not embedded; only word search finds it', { id: first?.id, error })
        refused.push(...some.map(({ id }) => id))
        return []
      }
    }

    while (!signal?.aborted) {
      const batch = await readWithoutVector(ctx, { without: refused })
      if (batch.length === 0) break
      for (let from = 0; from < batch.length && !signal?.aborted; from += SENT) {
        const made = await make(
          batch.slice(from, from + SENT).map(({ id, ...passage }) => ({ id, text: textToEmbed(passage) })),
        )
        if (made.length > 0) await storeVectors(ctx, { made })
        count += made.length
      }
    }
    if (signal?.aborted) return count
    if ((await readModelInUse(ctx, {})) !== embedder.id) await switchModel(ctx, {})
    while (!signal?.aborted && (await hasOtherModels(ctx, {}))) await deleteSomeVectors(ctx, {})
    return count
  },
)
