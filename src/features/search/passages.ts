import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import type { Kind } from './schema.ts'
import { passages } from './table.ts'

/** A record as search sees it. */
export interface Searchable {
  kind: Kind
  recordId: string
  organizationId: string | null
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

/** An embedding takes 256 tokens in; about so many words, with some overlap so that no thought is cut in two. */
const WORDS = 170
const OVERLAP = 25
const MOST_CHUNKS = 200

export function chunksOf(text: string): string[] {
  const words = text.split(/(?<=\s)/)
  const chunks: string[] = []
  for (let from = 0; from < words.length && chunks.length < MOST_CHUNKS; from += WORDS - OVERLAP) {
    chunks.push(words.slice(from, from + WORDS).join(''))
    if (from + WORDS >= words.length) break
  }
  return chunks.length > 0 ? chunks : ['']
}

/** In the running transaction: replaces what is there of this record. Pieces that did not change keep their vectors. */
export async function putPassages(ctx: Ctx, { text, ...record }: Searchable): Promise<string[]> {
  const chunks = chunksOf(text)
  const own = and(eq(passages.kind, record.kind), eq(passages.recordId, record.recordId))
  await ctx.db.delete(passages).where(and(own, sql`${passages.chunk} >= ${chunks.length}`))
  const row = { scope: null, scopeId: null, tags: [], importance: 0.5, expiresAt: null, ...record }
  const before = await ctx.db
    .select({ id: passages.id, chunk: passages.chunk, title: passages.title, content: passages.content })
    .from(passages)
    .where(own)
  const changed: string[] = []
  for (const [chunk, content] of chunks.entries()) {
    const old = before.find((p) => p.chunk === chunk)
    if (old && old.content === content && old.title === record.title) {
      await ctx.db.update(passages).set(row).where(eq(passages.id, old.id))
      continue
    }
    if (old) await ctx.db.delete(passages).where(eq(passages.id, old.id))
    const [made] = await ctx.db
      .insert(passages)
      .values({ ...row, chunk, content })
      .returning({ id: passages.id })
    changed.push((made as { id: string }).id)
  }
  return changed
}

export async function dropPassages(ctx: Ctx, kind: Kind, recordIds: readonly string[]): Promise<void> {
  if (recordIds.length > 0) await ctx.db.delete(passages).where(and(eq(passages.kind, kind), inArray(passages.recordId, [...recordIds])))
}
