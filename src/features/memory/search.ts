import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
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

/** About four characters a token. The best is there in any case, if only its beginning. */
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
    // Deleted, or taken out of the caller's sight, while its passages were still there.
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
      project: projectTable.slug,
      author: memories.authorName,
    })
    .from(passages)
    .leftJoin(projectTable, eq(projectTable.id, passages.projectId))
    .leftJoin(agents, and(eq(passages.scope, 'agent'), eq(agents.id, passages.scopeId)))
    .leftJoin(memories, and(eq(passages.kind, 'memory'), eq(memories.id, passages.recordId)))
    // Once more, for what became somebody else's since it was found.
    .where(
      and(
        anyOf(passages.recordId, idList(hits.map((hit) => hit.recordId))),
        eq(passages.chunk, sql`0`),
        current(ctx),
        visibleTo(rightsOf(ctx.actor)),
      ),
    )
  const say = (word: string, name: string | null) => (name === null ? [] : `${word} ${name}`)
  return new Map(
    rows.map((row) => [
      `${row.kind} ${row.id}`,
      [say('agent', row.agent), say('project', row.project), say('by', row.author)].flat().join(', '),
    ]),
  )
}

export function ageOf(at: string, now: string): string {
  const minutes = Math.max(0, Math.floor((Date.parse(now) - Date.parse(at)) / 60_000))
  const say = (n: number, unit: string) => `${n} ${unit}${n === 1 ? '' : 's'}`
  if (minutes < 60) return say(minutes, 'minute')
  return minutes < 2880 ? say(Math.floor(minutes / 60), 'hour') : say(Math.floor(minutes / 1440), 'day')
}
