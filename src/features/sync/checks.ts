import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { type Container, isPlaced, type PlacedEntity, type SyncEntity } from '../../records/sync.ts'
import { isLink, isVisibleLink, type LinkEntity, readLinks } from './links.ts'
import type { Sum } from './schema.ts'

/**
 * Returns, for each of these containers, the number of its records and the sum of the first 32 bits of md5(id:version),
 * which a device compares with its copy. A link counts in the container of each end, if the device holds both.
 */
export async function sumsOf(
  ctx: Ctx,
  containers: readonly Container[],
  entities: readonly SyncEntity[],
): Promise<Sum[]> {
  const sums = new Map(containers.map((container) => [container, { container, count: 0, sum: 0 }]))
  const add = (container: Container, count: number, sum: number) => {
    const found = sums.get(container)
    if (!found) return
    found.count += count
    found.sum += sum
  }
  for (const entity of entities) {
    if (isPlaced(entity)) for (const row of await sumsIn(ctx, entity)) add(row.container, row.count, row.sum)
    else if (isLink(entity)) for (const one of await linkSums(ctx, entity, sums)) add(one.container, 1, one.sum)
  }
  return [...sums.values()]
}

async function sumsIn(ctx: Ctx, { table, version, place }: PlacedEntity): Promise<(Sum & { container: Container })[]> {
  const bits = sql`('x' || left(md5(${table.id}::text || ':' || ${version}), 8))::bit(32)::bigint`
  const { rows } = await ctx.db.execute<{ container: Container; count: unknown; sum: unknown }>(sql`
    select container, count(*) as count, sum(bits) as sum
    from (select ${place.container} as container, ${bits} as bits from ${table}
      where ${place.visible(rightsOf(ctx.actor))}) r
    group by container`)
  return rows.map(({ container, count, sum }) => ({ container, count: Number(count), sum: Number(sum) }))
}

async function linkSums(ctx: Ctx, entity: LinkEntity, held: ReadonlyMap<Container, unknown>) {
  const found: { container: Container; sum: number }[] = []
  const where = isVisibleLink(ctx, entity)
  for (let after: string | undefined; ; ) {
    const { links, rows, last } = await readLinks(ctx, entity, { where, after, limit: AT_ONCE })
    for (const { id, containers } of links)
      if (containers.every((container) => held.has(container)))
        for (const container of containers) found.push({ container, sum: bitsOf(id) })
    if (rows < AT_ONCE) return found
    after = last
  }
}

const AT_ONCE = 1000

const bitsOf = (id: string): number => createHash('md5').update(`${id}:1`).digest().readUInt32BE(0)
