import type { Ctx } from '../../src/action.ts'
import { newId } from '../../src/db/columns.ts'
import * as memory from '../../src/features/memory/service.ts'
import { embedQuery, searchHybrid } from '../../src/features/search/hybrid.ts'
import { embedMissing } from '../../src/features/search/indexing/embed.ts'
import { memories, queries, type Way } from './set.ts'

export interface Quality {
  'recall@1': number
  'recall@5': number
  'recall@10': number
  mrr: number
}
const ways = ['vector', 'text', 'hybrid'] as const
export type By = (typeof ways)[number]

/** Stores the set as the caller's memories of this project, and says how well each way of searching finds what is asked for. */
export async function measure(
  ctx: Ctx,
  machine: Ctx,
  projectId: string,
): Promise<Record<By, Quality & { missed: string[]; byWay: Record<Way, number> }>> {
  const ids = new Map<string, string>()
  for (const [name, content] of Object.entries(memories))
    ids.set(
      name,
      (await memory.storePrepared({ ...ctx, requestId: newId() }, { content, scope: 'project', scopeId: projectId }))
        .id,
    )
  await embedMissing(machine, {})
  const found = { vector: [] as number[], text: [] as number[], hybrid: [] as number[] }
  for (const { ask, expect } of queries) {
    const vector = await embedQuery(ctx, ask)
    const place = (hits: { recordId: string }[]) =>
      hits.findIndex((hit) => hit.recordId === ids.get(expect)) + 1 || Number.POSITIVE_INFINITY
    const query = { kinds: ['memory' as const], projectId, limit: 10 }
    found.vector.push(place(await searchHybrid(ctx, { ...query, text: '' }, vector)))
    found.text.push(place(await searchHybrid(ctx, { ...query, text: ask }, undefined)))
    found.hybrid.push(place(await searchHybrid(ctx, { ...query, text: ask }, vector)))
  }
  const share = (places: number[], most: number) => places.filter((p) => p <= most).length / places.length
  const qualityOf = (places: number[]) => ({
    'recall@1': share(places, 1),
    'recall@5': share(places, 5),
    'recall@10': share(places, 10),
    mrr: places.reduce((sum, p) => sum + 1 / p, 0) / places.length,
    missed: queries.filter((_, i) => (places[i] as number) > 5).map(({ ask }) => ask),
    byWay: Object.fromEntries(
      [...new Set(queries.map((q) => q.way))].map((way) => [
        way,
        share(
          places.filter((_, i) => queries[i]?.way === way),
          1,
        ),
      ]),
    ) as Record<Way, number>,
  })
  return { vector: qualityOf(found.vector), text: qualityOf(found.text), hybrid: qualityOf(found.hybrid) }
}
