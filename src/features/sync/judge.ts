import { sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { rowsAs } from '../../db/session.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import {
  type Container,
  type Fields,
  isPlaced,
  type Stored,
  type SyncEntity,
  splitContainer,
} from '../../records/sync.ts'
import { requireWriter } from '../projects/rows.ts'
import { containersOf } from './containers.ts'
import { isLink, readLinks } from './links.ts'
import { equalsBase, merge } from './merge.ts'
import type { Mutation } from './schema.ts'

/** Decides what becomes of a mutation, and does it through the actions of the web API. */

/** A change that is kept until somebody decides on it. */
export interface Clash {
  kind: 'field' | 'deleted' | 'delete'
  field: string | null
  base: unknown
  mine: unknown
}

export interface Verdict {
  status: 'applied' | 'merged' | 'conflict'
  clashes: Clash[]
  /** Where the record belongs, if there are clashes. */
  container?: Container
  created?: true
}

const applied: Verdict = { status: 'applied', clashes: [] }
const merged: Verdict = { status: 'merged', clashes: [] }

/** A stored record, deleted or not, whether or not the caller sees it. */
export interface Found {
  record: Stored
  container: Container
  deleted: boolean
  seen: boolean
}

/** Throws `AppError` for a mutation that is rejected. */
export async function judge(ctx: Ctx, entity: SyncEntity, mutation: Mutation): Promise<Verdict> {
  const found = await findAny(ctx, entity, mutation.id)
  if (mutation.op === 'delete') return remove(ctx, entity, mutation, found)
  const isNew = !mutation.base
  if (!found) {
    if (!isNew) throw notFound(entity.entity, mutation.id)
    return create(ctx, entity, mutation)
  }
  if (!found.seen) {
    if (!isNew) throw notFound(entity.entity, mutation.id)
    throw new AppError('conflict.id', 'A record with this id exists already. Choose another id.')
  }
  if (found.deleted) {
    await requireRight(ctx, entity, found)
    return {
      status: 'conflict',
      container: found.container,
      clashes: [{ kind: 'deleted', field: null, base: mutation.base ?? null, mine: mutation.fields ?? {} }],
    }
  }
  return update(ctx, entity, mutation, found)
}

interface Row extends Stored {
  $container: Container
  $deleted: boolean
  $seen: boolean
}

export async function findAny(ctx: Ctx, entity: SyncEntity, id: string): Promise<Found | undefined> {
  if (isLink(entity)) return findLink(ctx, entity, id)
  if (!isPlaced(entity)) return undefined
  const { table, columns, version, deletedAt, place } = entity
  const [row] = await rowsAs<Row>(
    ctx.db
      .select({
        ...columns,
        version: sql`${version}`.mapWith(Number),
        $container: place.container,
        $deleted: deletedAt ? sql`${deletedAt} is not null` : sql`false`,
        $seen: place.visible(rightsOf(ctx.actor)),
      })
      .from(table as PgTable)
      .where(sql`${table.id} = ${id}::uuid`),
  )
  if (!row) return undefined
  const { $container: container, $deleted: deleted, $seen, ...record } = row
  // Nobody sees deleted records, so the container tells whether the caller would.
  const seen = deleted ? (await containersOf(ctx)).includes(container) : $seen
  return { record: { ...record, id }, container, deleted, seen }
}

async function findLink(ctx: Ctx, entity: Parameters<typeof readLinks>[1], id: string): Promise<Found | undefined> {
  const where = sql`${entity.table.id} = ${id}::uuid`
  const { links, rows } = await readLinks(ctx, entity, { where })
  const [link] = links
  const [container] = link?.containers ?? []
  if (link && container) return { record: link.record, container, deleted: false, seen: true }
  const hidden = { record: { id, version: 1 }, container: 'user:' as Container, deleted: false, seen: false }
  return rows > 0 ? hidden : undefined
}

async function create(ctx: Ctx, entity: SyncEntity, { id, fields = {} }: Mutation): Promise<Verdict> {
  // Null is how pull sends what a record does not have; actions leave such fields out.
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
  const { organizationId, ...own } = given
  for (const name of Object.keys(own))
    if (!(name in entity.fields) && !entity.onCreate?.includes(name)) throw cannotChange(entity, name)
  await entity.create(inTeam(ctx, organizationId), id, own)
  return { ...applied, created: true }
}

async function update(ctx: Ctx, entity: SyncEntity, mutation: Mutation, found: Found): Promise<Verdict> {
  const { record, container } = found
  const set: Record<string, unknown> = {}
  const clashes: Clash[] = []
  let isMerged = false
  for (const [field, mine] of Object.entries(mutation.fields ?? {})) {
    const stored = record[field]
    const kind = entity.fields[field]
    if (!kind) {
      if (equalsBase(stored, mine)) continue
      throw cannotChange(entity, field)
    }
    const base = mutation.base?.[field]
    const result = merge(kind, base, stored, mine)
    if (result === 'conflict') clashes.push({ kind: 'field', field, base: base ?? null, mine })
    else if (result.how !== 'unchanged') set[field] = result.value
    if (result !== 'conflict' && result.how === 'merged') isMerged = true
  }
  if (Object.keys(set).length > 0) await change(ctx, entity, record, set)
  if (clashes.length === 0) return isMerged ? merged : applied
  await requireRight(ctx, entity, found)
  return { status: 'conflict', clashes, container }
}

/** Requires the right to change records like this one: who could not change it now cannot ask others to either. */
async function requireRight(ctx: Ctx, { entity }: SyncEntity, { record, container }: Found): Promise<void> {
  const { type, id } = splitContainer(container)
  // Only its owner finds a personal record.
  if (type === 'user') return
  const place = { organizationId: String(record.organizationId), projectId: type === 'project' ? id : null }
  await requireWriter(ctx, place, `Changing this ${entity}`)
}

/** Changes fields of a record. Throws `version_mismatch` if somebody else has changed it since it was read. */
export async function change(ctx: Ctx, entity: SyncEntity, before: Stored, set: Fields): Promise<void> {
  if (!entity.update) throw invalid('/fields', `A ${entity.entity} cannot be changed.`)
  const inside = inTeam(ctx, before.organizationId)
  await entity.update({ ...inside, expectedVersion: before.version }, before, set)
}

async function remove(
  ctx: Ctx,
  entity: SyncEntity,
  { id, base }: Mutation,
  found: Found | undefined,
): Promise<Verdict> {
  if (!found?.seen) throw notFound(entity.entity, id)
  if (found.deleted) return merged
  const { record, container } = found
  const isChanged = Object.keys(entity.fields).some(
    (field) => !base || !(field in base) || !equalsBase(record[field], base[field]),
  )
  if (isChanged) {
    await requireRight(ctx, entity, found)
    return { status: 'conflict', container, clashes: [{ kind: 'delete', field: null, base: base ?? null, mine: null }] }
  }
  await erase(ctx, entity, record)
  return applied
}

export async function erase(ctx: Ctx, entity: SyncEntity, record: Stored): Promise<void> {
  if (!entity.remove) throw invalid('/op', `A ${entity.entity} cannot be deleted.`)
  const inside = inTeam(ctx, record.organizationId)
  await entity.remove({ ...inside, ...(isPlaced(entity) && { expectedVersion: record.version }) }, record)
}

const cannotChange = ({ entity }: SyncEntity, field: string): AppError =>
  invalid(`/fields/${field}`, `The field ${field} of a ${entity} cannot be set by a device.`)

/** Returns the context in the team of a record, whose rules count. A shared record of another team has none here. */
export function inTeam(ctx: Ctx, organizationId: unknown): Ctx {
  const { actor } = ctx
  if (typeof organizationId !== 'string' || !actor.memberships.has(organizationId)) return ctx
  return { ...ctx, actor: { ...actor, organizationId } }
}
