import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { advancePosition, type Position } from '../../events/position.ts'
import { isAfterPosition, resolveHoles } from '../../events/reader.ts'
import { events } from '../../events/table.ts'
import { type Container, isPlaced, readCopiesByIds, type SyncEntity } from '../../records/sync.ts'
import { idsIn } from './containers.ts'
import { syncApplied } from './events.ts'
import { isLink, isLinkOf, type LinkEntity, readLinks } from './links.ts'
import type { Changes } from './page.ts'

/** The feed of changes is the table of events: for every changed record, its container has an event. */

interface Row {
  seq: number
  type: string
  subject: string | null
  /** Null for events of containers that the device does not hold. */
  container: Container | null
  changed: Record<string, string[]> | null
  link: string | null
  comment: string | null
  mutations: string[] | null
}

/** Rows of all containers that one statement reads. */
const SCAN = 2000
/** Events whose records are read together. */
const BATCH = 100

interface DeviceHoldings {
  readonly containers: ReadonlySet<Container>
  readonly entities: readonly SyncEntity[]
  readonly deviceId: string
}

interface FeedProgress {
  position: Position
  /** Ids of mutations that were applied or rejected. */
  mutations: string[]
  /** False if there are more events. */
  complete: boolean
}

/** Adds the changes after a position in the containers that the device holds, until the page is full. */
export async function readFeed(
  ctx: Ctx,
  from: Position,
  held: DeviceHoldings,
  limit: number,
  changes: Changes,
): Promise<FeedProgress> {
  let position = await resolveHoles(ctx.db, from)
  const mutations: string[] = []
  let left = limit
  for (;;) {
    const rows = await scan(ctx, position, held)
    const ends = rows.length < SCAN
    // A record that was read after this scan is as new as every event of the scan, but not as those of the next scan.
    const read = new Set<string>()
    const own = rows.flatMap((row, index) => (row.container ? [{ row, index }] : []))
    for (let start = 0; start < own.length; start += BATCH) {
      const batch = own.slice(start, Math.min(start + BATCH, start + left))
      await addNamed(
        ctx,
        batch.map(({ row }) => row),
        { ...held, read },
        changes,
      )
      for (const { row } of batch) mutations.push(...(row.mutations ?? []))
      left -= batch.length
      const last = batch.at(-1)?.index ?? 0
      if ((left <= 0 || changes.isFull) && (start + batch.length < own.length || !ends)) {
        const seqs = rows.slice(0, last + 1).map(({ seq }) => seq)
        return { position: advancePosition(position, seqs, false), mutations, complete: false }
      }
    }
    position = advancePosition(
      position,
      rows.map(({ seq }) => seq),
      ends,
    )
    if (ends) return { position, mutations, complete: true }
  }
}

/** SQL for the container of an event; null if it is not one of these. */
function containerIn({ containers }: DeviceHoldings): SQL {
  const { projectId, organizationId, userId } = events
  return sql`case
    when ${projectId} is not null then
      case when ${projectId} = any(${idsIn(containers, 'project')}::uuid[]) then 'project:' || ${projectId} end
    when ${organizationId} is not null then case
      when ${organizationId} = any(${idsIn(containers, 'organization')}::uuid[])
      then 'organization:' || ${organizationId} end
    when ${userId} = any(${idsIn(containers, 'user')}::uuid[]) then 'user:' || ${userId} end`
}

async function scan(ctx: Ctx, position: Position, held: DeviceHoldings): Promise<Row[]> {
  const { seq, type, subjectId, data, userId } = events
  const receipts = sql`${type} = ${syncApplied.name} and ${subjectId} = ${held.deviceId}::uuid
    and ${userId} = ${rightsOf(ctx.actor).user}::uuid`
  const container = sql`case when ${receipts} then 'user:' || ${userId} else ${containerIn(held)} end`
  const { rows } = await ctx.db.execute<Record<string, unknown>>(sql`
    select seq, type, subject, container, case when container is not null then data -> 'changed' end as changed,
      case when container is not null then data ->> 'linkId' end as link,
      case when container is not null then data ->> 'commentId' end as comment,
      case when type = ${syncApplied.name} and container is not null and subject = ${held.deviceId}::uuid
        then data -> 'mutations' end as mutations
    from (select ${seq}, ${type}, ${subjectId} as subject, ${data}, ${container} as container from ${events}
      where ${isAfterPosition(position, SCAN)} order by ${seq} limit ${SCAN}) e order by seq`)
  return rows.map((row) => ({
    seq: Number(row.seq),
    type: String(row.type),
    subject: row.subject as string | null,
    container: row.container as Container | null,
    changed: parseJsonb(row.changed) as Row['changed'],
    link: row.link as string | null,
    comment: row.comment as string | null,
    mutations: parseJsonb(row.mutations) as string[] | null,
  }))
}

/** The embedded driver returns jsonb as text, Postgres as a value. */
const parseJsonb = (value: unknown): unknown => (typeof value === 'string' ? JSON.parse(value) : value)

/** Adds the records of these events in their current state, except those in `read`, and adds them to `read`. */
async function addNamed(
  ctx: Ctx,
  rows: readonly Row[],
  { containers, entities, read }: DeviceHoldings & { read: Set<string> },
  changes: Changes,
) {
  const named = namesIn(ctx, rows)
  const rights = rightsOf(ctx.actor)
  const touched: NamedRecord[] = []
  for (const entity of entities.filter(isPlaced)) {
    const keyOf = ({ id, container }: NamedRecord) => `${container} ${entity.entity} ${id}`
    const list = (named.get(entity.entity) ?? []).filter((one) => !read.has(keyOf(one)))
    if (list.length === 0) continue
    for (const one of list) read.add(keyOf(one))
    const ids = [...new Set(list.map(({ id }) => id))]
    const found = new Map((await readCopiesByIds(ctx.db, entity, ids, rights)).map((copy) => [copy.id, copy]))
    for (const one of list) {
      const copy = found.get(one.id)
      if (copy?.container === one.container) changes.put(entity.entity, copy)
      else changes.remove(entity.entity, one.id, one.container)
      touched.push(one)
    }
  }
  for (const link of entities.filter(isLink))
    await addLinks(ctx, link, { named: named.get(link.entity) ?? [], touched, containers }, changes)
}

interface NamedRecord {
  id: string
  container: Container
}

/** Returns the records that the events name, by entity; each record once in each container. */
function namesIn({ app }: Ctx, rows: readonly Row[]): Map<string, NamedRecord[]> {
  const named = new Map<string, NamedRecord[]>()
  const seen = new Set<string>()
  const add = (entity: string, id: string, container: Container) => {
    const key = `${entity} ${id} ${container}`
    if (seen.has(key)) return
    seen.add(key)
    const list = named.get(entity)
    if (list) list.push({ id, container })
    else named.set(entity, [{ id, container }])
  }
  for (const { type, subject, container, changed, link, comment } of rows) {
    if (!container) continue
    const kind = app.events.kindOf(type)
    if (kind && kind !== 'link' && subject) add(kind, subject, container)
    if (link) add('link', link, container)
    if (comment) add(kind === 'decision' ? 'discussion' : 'comment', comment, container)
    for (const [entity, ids] of Object.entries(changed ?? {})) for (const id of ids) add(entity, id, container)
  }
  return named
}

interface LinksOf {
  /** Links that events name. */
  named: readonly NamedRecord[]
  /** Records that were deleted, restored, moved or changed: their links may have appeared or disappeared with them. */
  touched: readonly NamedRecord[]
  containers: ReadonlySet<Container>
}

async function addLinks(
  ctx: Ctx,
  link: LinkEntity,
  { named, touched, containers }: LinksOf,
  changes: Changes,
): Promise<void> {
  if (named.length === 0 && touched.length === 0) return
  const ids = `{${named.map(({ id }) => id).join(',')}}`
  const where = sql`(${link.table.id} = any(${ids}::uuid[]) or ${isLinkOf(
    link,
    touched.map(({ id }) => id),
  )})`
  const { links } = await readLinks(ctx, link, { where })
  const there = new Set<string>()
  for (const copy of links) {
    if (!copy.containers.every((container) => containers.has(container))) continue
    there.add(copy.id)
    changes.putLink(link.entity, copy)
  }
  for (const { id, container } of named) if (!there.has(id)) changes.remove(link.entity, id, container)
}
