import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { mayRead } from '../../records/readable.ts'
import { agents } from '../agents/table.ts'
import { projects as projectTable } from '../projects/table.ts'
import { current, kindsFor } from '../search/filters.ts'
import { embedQuery, type Hit, hybrid, visibleTo } from '../search/hybrid.ts'
import { passages } from '../search/table.ts'
import type { MemoryHit, MemoryHits, MemorySearch } from './schema.ts'
import { memories } from './table.ts'
import { targetOf } from './target.ts'

export const search = read(
  'memory.search',
  member('memories:read'),
  async (ctx, input: MemorySearch): Promise<MemoryHits> => {
    const place = input.scope || input.scopeId ? await targetOf(ctx, input.scope, input.scopeId) : undefined
    const vector = await embedQuery(ctx, input.query)
    const query = {
      text: input.query,
      kinds: kindsFor(ctx, input.kinds ?? ['memory']),
      tags: input.tags,
      old: input.old,
    }
    const about = place && { scope: place.scope, scopeId: place.scopeId }
    const items = await toHits(ctx, await hybrid(ctx, { ...query, ...about, limit: input.limit ?? 10 }, vector))
    const mode = vector ? ('hybrid' as const) : ('words' as const)
    if (!input.budgetTokens) return { items, mode }
    const kept = withinBudget(items, input.budgetTokens)
    const whole = kept.length === items.length && kept[0]?.content === items[0]?.content
    return { items: kept, mode, ...(!whole && { truncated: true }) }
  },
)

/** Assumes four characters per token. Always keeps the best hit, shortened if necessary. */
export function withinBudget(items: readonly MemoryHit[], tokens: number): MemoryHit[] {
  let left = tokens * 4
  const kept = items.filter((item) => {
    const size = JSON.stringify(item).length
    if (size > left) return false
    left -= size
    return true
  })
  const [best] = items
  if (kept.length > 0 || !best) return kept
  const room = Math.max(0, tokens * 4 - JSON.stringify({ ...best, content: '' }).length - 1)
  return [{ ...best, content: `${best.content.slice(0, room)}…` }]
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000

async function toHits(ctx: Ctx, hits: readonly Hit[]): Promise<MemoryHit[]> {
  const origins = await originsOf(ctx, hits)
  return hits.flatMap((hit) => {
    const origin = origins.get(`${hit.kind} ${hit.recordId}`)
    // The record was deleted or hidden from the caller, but its passages are not updated yet.
    if (origin === undefined) return []
    return {
      kind: hit.kind,
      id: hit.recordId,
      title: hit.title || null,
      content: hit.content,
      tags: hit.tags,
      score: rounded(hit.score),
      meaning: hit.meaning === null ? null : rounded(hit.meaning),
      at: hit.at,
      age: ageOf(hit.at, ctx.now),
      origin,
      projectId: hit.projectId,
    }
  })
}

async function originsOf(ctx: Ctx, hits: readonly Hit[]): Promise<Map<string, string>> {
  if (hits.length === 0) return new Map()
  const rows = await ctx.db
    .select({
      kind: passages.kind,
      id: passages.recordId,
      agent: agents.name,
      project: mayRead(ctx, 'project') ? projectTable.slug : projectTable.key,
      author: memories.authorName,
    })
    .from(passages)
    .leftJoin(projectTable, eq(projectTable.id, passages.projectId))
    .leftJoin(agents, and(eq(passages.scope, 'agent'), eq(agents.id, passages.scopeId)))
    .leftJoin(memories, and(eq(passages.kind, 'memory'), eq(memories.id, passages.recordId)))
    // Checks visibility again, because it may have changed since the search.
    .where(
      and(
        anyOf(passages.recordId, idList(hits.map((hit) => hit.recordId))),
        eq(passages.chunk, sql`0`),
        current(ctx),
        visibleTo(rightsOf(ctx.actor)),
      ),
    )
  const labelled = (word: string, name: string | null) => (name === null ? [] : `${word} ${name}`)
  return new Map(
    rows.map((row) => [
      `${row.kind} ${row.id}`,
      [labelled('agent', row.agent), labelled('project', row.project), labelled('by', row.author)].flat().join(', '),
    ]),
  )
}

export function ageOf(at: string, now: string): string {
  const minutes = Math.max(0, Math.floor((Date.parse(now) - Date.parse(at)) / 60_000))
  const plural = (n: number, unit: string) => `${n} ${unit}${n === 1 ? '' : 's'}`
  if (minutes < 60) return plural(minutes, 'minute')
  return minutes < 2880 ? plural(Math.floor(minutes / 60), 'hour') : plural(Math.floor(minutes / 1440), 'day')
}
