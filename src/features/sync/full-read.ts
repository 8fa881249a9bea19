import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and } from '../../db/conditions.ts'
import { type Container, isPlaced, LOWEST_ID, readCopies, type SyncEntity } from '../../records/sync.ts'
import { isLink, isLinkIn, readLinks } from './links.ts'
import type { Changes } from './page.ts'
import type { Reading } from './table.ts'

interface Part {
  /** Containers that the device holds already. */
  readonly held: readonly Container[]
  /** Where the last page stopped. */
  readonly reading: Reading | null
  readonly entities: readonly SyncEntity[]
}

interface Result {
  held: Container[]
  /** Where the page stopped; null if all containers were read. */
  reading: Reading | null
}

/**
 * Adds the records of containers that the device gained, one container after another, until the page is full. The
 * position in the feed stays unchanged meanwhile: later events report all changes during the read.
 */
export async function readGainedContainers(
  ctx: Ctx,
  gained: readonly Container[],
  part: Part,
  changes: Changes,
): Promise<Result> {
  const { reading, entities } = part
  const first = gained.find((container) => container === reading?.container)
  const order = first ? [first, ...gained.filter((container) => container !== first)] : gained
  const held = [...part.held]
  for (const container of order) {
    const from = container === reading?.container ? entities.findIndex(({ entity }) => entity === reading.entity) : 0
    for (const [i, entity] of entities.entries()) {
      if (i < from) continue
      const start = container === reading?.container && i === from ? reading.after : undefined
      const stopped = await readEntity(ctx, entity, { container, held, after: start }, changes)
      if (stopped) return { held, reading: { container, entity: entity.entity, after: stopped } }
    }
    held.push(container)
  }
  return { held, reading: null }
}

interface From {
  container: Container
  held: readonly Container[]
  after: string | undefined
}

/** Returns the last id of a page that is full, or undefined once all rows were read. */
async function readEntity(ctx: Ctx, entity: SyncEntity, from: From, changes: Changes): Promise<string | undefined> {
  let { after } = from
  for (;;) {
    if (changes.isFull) return after ?? LOWEST_ID
    const limit = changes.next
    const read = await readRows(ctx, entity, { ...from, after }, limit, changes)
    if (read.rows < limit) return undefined
    after = read.last
  }
}

async function readRows(
  ctx: Ctx,
  entity: SyncEntity,
  { container, held, after }: From,
  limit: number,
  changes: Changes,
): Promise<{ rows: number; last: string | undefined }> {
  if (isLink(entity)) {
    const { links, rows, last } = await readLinks(ctx, entity, {
      where: isLinkIn(ctx, entity, container),
      after,
      limit,
    })
    const both = new Set([...held, container])
    for (const link of links) if (link.containers.every((one) => both.has(one))) changes.putLink(entity.entity, link)
    return { rows, last }
  }
  if (!isPlaced(entity)) return { rows: 0, last: undefined }
  const where = and(entity.place.inContainer(container), entity.place.visible(rightsOf(ctx.actor)))
  const copies = await readCopies(ctx.db, entity, { where, after, limit })
  for (const copy of copies) changes.put(entity.entity, copy)
  return { rows: copies.length, last: copies.at(-1)?.id }
}
