import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import type { SearchName } from '../../records/names.ts'
import { mayRead } from '../../records/readable.ts'
import { quoteName } from '../../text/quoting.ts'
import { ageOf } from '../../text/text.ts'
import { agents } from '../agents/table.ts'
import { projects as projectTable } from '../projects/table.ts'
import { isCurrentPassage, kindsFor, recordCreator, recordField, recordsOf } from '../search/filters.ts'
import { embedQuery, type Hit, searchHybridWithGaps } from '../search/hybrid.ts'
import { indexLag } from '../search/index-lag.ts'
import { passages } from '../search/table.ts'
import { visibleTo } from '../search/visible.ts'
import type { MemoryHit, MemoryHits, MemorySearch } from './schema.ts'
import { memories } from './table.ts'
import { type MemoryTarget, resolveTarget } from './target.ts'

export const search = read(
  'memory.search',
  member('memories:read'),
  async (ctx, input: MemorySearch): Promise<MemoryHits> => {
    const place = input.scope || input.scopeId ? await resolveTarget(ctx, input.scope, input.scopeId) : undefined
    const vector = await embedQuery(ctx, input.query)
    const kinds = kindsFor(ctx, input.kinds ?? ['memory'])
    const { hits, unembedded } = await searchHybridWithGaps(
      ctx,
      {
        text: input.query,
        kinds,
        tags: input.tags,
        old: input.old,
        ...(place && (await withinScope(ctx, place, kinds))),
        limit: input.limit ?? 10,
      },
      vector,
    )
    const items = await toHits(ctx, hits)
    const state = {
      mode: vector ? ('hybrid' as const) : ('words' as const),
      ...(await indexLag(ctx, kinds, unembedded)),
    }
    if (!input.budgetTokens) return { items, ...state }
    const kept = cutToBudget(items, input.budgetTokens)
    const whole = kept.length === items.length && kept[0]?.content === items[0]?.content
    return { items: kept, ...state, ...(!whole && { truncated: true }) }
  },
)

/** Passages store their project. Records of an agent or a session are looked up. */
async function withinScope(ctx: Ctx, { scope, scopeId }: MemoryTarget, kinds: readonly SearchName[]) {
  const records = scope === 'project' ? [] : await recordsOf(ctx, kinds, { scope, id: scopeId })
  return { scope, scopeId, records }
}

/** Assumes four characters per token. Always keeps the best hit, shortened if necessary. */
function cutToBudget(items: readonly MemoryHit[], tokens: number): MemoryHit[] {
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

const roundHitScore = (value: number): number => Math.round(value * 1000) / 1000

async function toHits(ctx: Ctx, hits: readonly Hit[]): Promise<MemoryHit[]> {
  const found = await recordsBehind(ctx, hits)
  return hits.flatMap((hit) => {
    const record = found.get(`${hit.kind} ${hit.recordId}`)
    // The record was deleted or hidden from the caller, but its passages are not updated yet.
    if (!record) return []
    return {
      kind: hit.kind,
      id: hit.recordId,
      key: record.key,
      status: record.status,
      title: hit.title || null,
      content: hit.content,
      tags: hit.tags,
      score: roundHitScore(hit.score),
      meaning: hit.meaning === null ? null : roundHitScore(hit.meaning),
      at: hit.at,
      age: ageOf(hit.at, ctx.now),
      origin: record.origin,
      projectId: hit.projectId,
      createdById: record.createdById,
    }
  })
}

type HitRecord = Pick<MemoryHit, 'key' | 'status' | 'origin' | 'createdById'>

/** Returns the key, state, origin and creator of the records that the hits are about. */
async function recordsBehind(ctx: Ctx, hits: readonly Hit[]): Promise<Map<string, HitRecord>> {
  if (hits.length === 0) return new Map()
  const rows = await ctx.db
    .select({
      kind: passages.kind,
      id: passages.recordId,
      agent: agents.name,
      project: mayRead(ctx, 'project') ? projectTable.slug : projectTable.key,
      author: memories.authorName,
      key: recordField(ctx, 'key'),
      status: recordField(ctx, 'status'),
      createdById: recordCreator(ctx),
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
        isCurrentPassage(ctx),
        visibleTo(rightsOf(ctx.actor)),
      ),
    )
  const labelled = (word: string, name: string | null) => (name === null ? [] : `${word} ${quoteName(name)}`)
  return new Map(
    rows.map(({ kind, id, key, status, createdById, ...row }) => {
      const origin = [labelled('agent', row.agent), labelled('project', row.project), labelled('by', row.author)]
      return [`${kind} ${id}`, { key, status, origin: origin.flat().join(', '), createdById }]
    }),
  )
}
