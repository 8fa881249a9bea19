import { and, eq, inArray, sql } from 'drizzle-orm'
import { write } from '../../../action.ts'
import { machine } from '../../../auth/policy.ts'
import { meta } from '../../../db/table.ts'
import { passages } from '../table.ts'

const KEY = 'search.texts'
/** Raise it when search reads a kind in another way than before, and name those records in `grown` of the kind. */
const TEXTS = '3'

/**
 * Has records indexed again whose text has more in it for this version than for the one that indexed them. Passages
 * differ from their record until the comparison has replaced them; meanwhile they are found as before.
 */
export const renewTexts = write(
  'search.renewTexts',
  machine,
  async (ctx, _: Record<string, never>): Promise<void> => {
    const [kept] = await ctx.db.select().from(meta).where(eq(meta.key, KEY))
    if (kept?.value === TEXTS) return
    for (const { kind, table, search } of ctx.app.records.followed) {
      if (!search.grown) continue
      const grown = sql`(select ${table.id} from ${table} where ${search.grown})`
      await ctx.db
        .update(passages)
        .set({ at: sql`${passages.at} - interval '1 millisecond'` })
        .where(and(sql`${passages.kind} = ${kind}`, eq(passages.chunk, 0), inArray(passages.recordId, grown)))
    }
    ctx.enqueue({ name: 'search.compare', data: {}, key: 'all' })
    await ctx.db
      .insert(meta)
      .values({ key: KEY, value: TEXTS })
      .onConflictDoUpdate({ target: meta.key, set: { value: TEXTS } })
  },
  { bookkeeping: true },
)
