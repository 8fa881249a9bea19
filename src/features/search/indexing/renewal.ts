import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { flow, write } from '../../../action.ts'
import { machine } from '../../../auth/policy.ts'
import { meta } from '../../../db/table.ts'
import type { SearchName } from '../../../records/names.ts'
import { LOWEST_ID } from '../../../records/sync.ts'
import { passages } from '../table.ts'
import { type Pacing, runPaced } from './pacing.ts'

const KEY = 'search.texts'
/** Raise it when search reads a kind differently than before, and name the affected records in `grown` of the kind. */
const TEXTS = '4'
/** Records per write, so that a write stays far below the statement timeout and others wait only briefly. */
export const RENEWED_AT_ONCE = 500

interface Page {
  kind: string
  /** The id of the record that the page before ended with. */
  after: string
}

/** Renews one page of a kind. Returns the id of its last record; undefined if there are no more. */
const renewSome = write(
  'search.renewSome',
  machine,
  async (ctx, { kind, after }: Page): Promise<string | undefined> => {
    const source = ctx.app.records.followed.find((record) => record.kind === kind)
    if (!source?.search.grown) return undefined
    const { table, search } = source
    const first = and(eq(passages.kind, kind as SearchName), eq(passages.chunk, 0))
    const page = await ctx.db
      .select({ id: passages.recordId })
      .from(passages)
      .where(and(first, gt(passages.recordId, after)))
      .orderBy(passages.recordId)
      .limit(RENEWED_AT_ONCE)
    const ids = page.map(({ id }) => id)
    if (ids.length === 0) return undefined
    const grown = await ctx.db
      .select({ id: sql<string>`${table.id}` })
      .from(table as PgTable)
      .where(and(inArray(table.id, ids), search.grown))
    if (grown.length > 0)
      await ctx.db
        .update(passages)
        .set({ at: sql`${passages.at} - interval '1 millisecond'` })
        .where(
          and(
            first,
            inArray(
              passages.recordId,
              grown.map(({ id }) => id),
            ),
          ),
        )
    return ids.length < RENEWED_AT_ONCE ? undefined : ids.at(-1)
  },
  { bookkeeping: true },
)

const keepRenewed = write(
  'search.keepRenewed',
  machine,
  async (ctx, _: Record<string, never>): Promise<void> => {
    ctx.enqueue({ name: 'search.compare', data: {}, key: 'all' })
    await ctx.db
      .insert(meta)
      .values({ key: KEY, value: TEXTS })
      .onConflictDoUpdate({ target: meta.key, set: { value: TEXTS } })
  },
  { bookkeeping: true },
)

/**
 * Indexes records again whose text contains more for this version than for the one that indexed them. Until the
 * comparison has replaced the passages, search finds them as before. After an interruption it starts again. Several
 * instances may run it at once: it then replaces more passages than necessary, which does no harm.
 */
export const renewTexts = flow('search.renewTexts', machine, async (ctx, way: Pacing): Promise<void> => {
  const [kept] = await ctx.db.select().from(meta).where(eq(meta.key, KEY))
  if (kept?.value === TEXTS) return
  for (const { kind, search } of ctx.app.records.followed) {
    if (!search.grown) continue
    for (let after: string | undefined = LOWEST_ID; after !== undefined; ) {
      const page: Page = { kind, after }
      after = await runPaced(way, () => renewSome(ctx, page))
      if (way.signal?.aborted) return
    }
  }
  await keepRenewed(ctx, {})
})
