import { and, eq, getTableColumns, inArray, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { anyOf, idList, vectorText } from '../../../db/columns.ts'
import type { SearchName } from '../../../records/names.ts'
import { projectMoved } from '../../projects/hooks.ts'
import { passageSigns, passages, passageVectors } from '../table.ts'

/** A record in the form that search indexes. */
export interface Searchable {
  kind: SearchName
  recordId: string
  /** Null for personal records. */
  organizationId: string | null
  /** For personal records: the only user who may see it. */
  userId: string | null
  projectId: string | null
  scope?: string | null
  scopeId?: string | null
  title: string
  text: string
  tags?: string[]
  importance?: number
  at: string
  expiresAt?: string | null
}

/** An embedding takes 256 tokens, which is about this many words; passages overlap so that no thought is cut in two. */
const WORDS = 170
const OVERLAP = 25
/** A word longer than this, or a text without spaces, is cut at this many characters. */
const LONGEST = 4000
const MOST_CHUNKS = 200

/**
 * Returns the passages of a text. A text with parts (`nextPart`) is indexed as a whole, so that a search finds words
 * from several parts together, and then part by part: the vector of the whole represents one comment among many poorly.
 */
export function chunksOf(text: string): string[] {
  const parts = text.split('\f').filter((part) => part.trim() !== '')
  if (parts.length < 2) return cutText(parts[0] ?? '')
  return [parts.join('\n\n'), ...parts].flatMap(cutText).slice(0, MOST_CHUNKS)
}

function cutText(text: string): string[] {
  const words = text.split(/(?<=\s)/)
  const chunks: string[] = []
  for (let from = 0; from < words.length && chunks.length < MOST_CHUNKS; from += WORDS - OVERLAP) {
    const piece = words.slice(from, from + WORDS).join('')
    for (let at = 0; at < piece.length && chunks.length < MOST_CHUNKS; at += LONGEST)
      chunks.push(piece.slice(at, at + LONGEST))
    if (from + WORDS >= words.length) break
  }
  return chunks.length > 0 ? chunks : ['']
}

type Row = typeof passages.$inferInsert
/** Columns that decide who finds a passage and how. Changing them does not outdate its vector. */
const descriptiveColumns = [
  'organizationId',
  'userId',
  'projectId',
  'scope',
  'scopeId',
  'importance',
  'at',
  'expiresAt',
] as const
/** Postgres allows at most 65,535 parameters per statement. */
const ROWS = 500

/** Replaces the passages of these records. Unchanged passages keep their vectors. Returns the ids of the new ones. */
export async function putPassages(ctx: Ctx, kind: SearchName, records: readonly Searchable[]): Promise<string[]> {
  if (records.length === 0) return []
  const { search: _, titleWords: __, owner: ___, ...columns } = getTableColumns(passages)
  const before = await ctx.db
    .select(columns)
    .from(passages)
    .where(
      and(
        eq(passages.kind, kind),
        inArray(
          passages.recordId,
          records.map((r) => r.recordId),
        ),
      ),
    )
  const old = new Map(before.map((passage) => [`${passage.recordId} ${passage.chunk}`, passage]))
  const fresh: Row[] = []
  for (const { text, ...record } of records) {
    const row = { scope: null, scopeId: null, tags: [], importance: 0.5, expiresAt: null, ...record }
    for (const [chunk, content] of chunksOf(text).entries()) {
      const there = old.get(`${record.recordId} ${chunk}`)
      if (there?.content !== content || there.title !== record.title) {
        fresh.push({ ...row, chunk, content })
        continue
      }
      old.delete(`${record.recordId} ${chunk}`)
      const same =
        descriptiveColumns.every((name) => row[name] === there[name]) &&
        JSON.stringify(row.tags) === JSON.stringify(there.tags)
      if (same) continue
      await ctx.db.update(passages).set(row).where(eq(passages.id, there.id))
      if (row.organizationId !== there.organizationId) await renumber(ctx, eq(passages.id, there.id))
    }
  }
  const stale = [...old.values()].map((passage) => passage.id)
  if (stale.length > 0) await ctx.db.delete(passages).where(inArray(passages.id, stale))
  const made: string[] = []
  for (let from = 0; from < fresh.length; from += ROWS) {
    const some = await ctx.db
      .insert(passages)
      .values(fresh.slice(from, from + ROWS))
      .returning({ id: passages.id })
    made.push(...some.map((row) => row.id))
  }
  return made
}

export async function dropPassages(ctx: Ctx, kind: SearchName, recordIds: readonly string[]): Promise<void> {
  if (recordIds.length > 0)
    await ctx.db.delete(passages).where(and(eq(passages.kind, kind), anyOf(passages.recordId, idList(recordIds))))
}

export interface EmbeddedPassage {
  /** Id of the passage. */
  id: string
  vector: Float32Array
}

/** Stores vectors of the current model. Ignores passages that were deleted meanwhile. */
export async function putVectors(ctx: Ctx, made: readonly EmbeddedPassage[]): Promise<void> {
  const ids = idList(made.map(({ id }) => id))
  const vectors = `{${made.map(({ vector }) => `"${vectorText(vector)}"`).join(',')}}`
  await ctx.db.execute(sql`
    with kept as (
      insert into ${passageVectors} (passage_id, model, vector)
      select p.id, ${ctx.app.embedder.id}, made.vector::vector
      from unnest(${ids}::uuid[], ${vectors}::text[]) made (id, vector)
      join ${passages} p on p.id = made.id on conflict do nothing returning passage_id, model, vector)
    insert into ${passageSigns} (passage_id, model, owner, signs)
    select p.id, kept.model, p.owner, binary_quantize(kept.vector) from kept
    join ${passages} p on p.id = kept.passage_id`)
}

export const movePassages = projectMoved.handle(async (ctx, { projectId, organizationId }) => {
  await ctx.db.update(passages).set({ organizationId }).where(eq(passages.projectId, projectId))
  await renumber(ctx, eq(passages.projectId, projectId))
})

/** Gives passages that changed their owner new numbers, so that caches of that owner's vectors load them. */
const renumber = (ctx: Ctx, which: SQL) =>
  ctx.db.execute(sql`update ${passageSigns} set seq = default
    where ${passageSigns.passageId} in (select ${passages.id} from ${passages} where ${which})`)
