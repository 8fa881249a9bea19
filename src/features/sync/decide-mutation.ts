import { sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import type { CpuBudget } from '../../cpu-budget.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { rowsAs } from '../../db/session.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import {
  type Container,
  type Fields,
  isPlaced,
  type PlacedEntity,
  type StoredRecord,
  type SyncEntity,
  splitContainer,
} from '../../records/sync.ts'
import { findProject, requireWriter } from '../projects/rows.ts'
import { containersOf } from './containers.ts'
import { isLink, readLinks } from './links.ts'
import { equalsBase, mergeField } from './merge.ts'
import type { Mutation } from './schema.ts'

/** Decides whether a mutation is applied, and applies it through the actions of the web API. */

/** A change that waits for a resolution. */
export interface FieldConflict {
  kind: 'field' | 'deleted' | 'delete'
  field: string | null
  base: unknown
  mine: unknown
}

interface Verdict {
  status: 'applied' | 'merged' | 'conflict'
  clashes: FieldConflict[]
  /** The container of the record, if there are conflicts. */
  container?: Container
  created?: true
}

const appliedVerdict: Verdict = { status: 'applied', clashes: [] }
const mergedVerdict: Verdict = { status: 'merged', clashes: [] }

/** A stored record, deleted or not, whether or not the caller sees it. */
export interface FoundRecord {
  record: StoredRecord
  container: Container
  deleted: boolean
  seen: boolean
}

/** A mutation, with the data and limits for its decision. */
export interface MutationCase {
  mutation: Mutation
  /** Records that were read for this and the next mutations. */
  ahead?: PrefetchedRecords
  /** CPU time for merging. */
  budget: CpuBudget
}

/** Throws `AppError` to reject a mutation. */
export async function decideMutation(
  ctx: Ctx,
  entity: SyncEntity<Ctx>,
  { mutation, ahead, budget }: MutationCase,
): Promise<Verdict> {
  const found = takeAhead(entity, mutation, ahead) ?? (await findAny(ctx, entity, mutation.id))
  if (mutation.op === 'delete') return remove(ctx, entity, mutation, found)
  // An empty base says nothing about a stored record, so a mutation of a missing record creates it.
  const isNew = Object.keys(mutation.base ?? {}).length === 0
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
  return update(ctx, entity, { mutation, found, budget })
}

interface Row extends StoredRecord {
  $container: Container
  $deleted: boolean
  $seen: boolean
}

export async function findAny(ctx: Ctx, entity: SyncEntity<Ctx>, id: string): Promise<FoundRecord | undefined> {
  if (isLink(entity)) return findLink(ctx, entity, id)
  return isPlaced(entity) ? (await findAll(ctx, entity, [id])).get(id) : undefined
}

async function findAll(ctx: Ctx, entity: PlacedEntity<Ctx>, ids: readonly string[]): Promise<Map<string, FoundRecord>> {
  const { table, columns, version, deletedAt, place } = entity
  const rows = await rowsAs<Row>(
    ctx.db
      .select({
        ...columns,
        version: sql`${version}`.mapWith(Number),
        $container: place.container,
        $deleted: deletedAt ? sql`${deletedAt} is not null` : sql`false`,
        $seen: place.visible(rightsOf(ctx.actor)),
      })
      .from(table as PgTable)
      .where(anyOf(table.id, idList(ids))),
  )
  // No one sees deleted records, so the container decides whether the caller would.
  const containers = rows.some(({ $deleted }) => $deleted) ? await containersOf(ctx) : []
  return new Map(
    rows.map(({ $container: container, $deleted: deleted, $seen, ...record }) => {
      const seen = deleted ? containers.includes(container) : $seen
      return [record.id, { record, container, deleted, seen }]
    }),
  )
}

/** Records that were read for several mutations at once, by entity and id. */
type PrefetchedRecords = Map<string, FoundRecord>

/** Reads the records of the caller's mutations. Mutations of agents are left out: agents have other rights. */
export async function readAhead(ctx: Ctx, mutations: readonly Mutation[]): Promise<PrefetchedRecords> {
  const ahead: PrefetchedRecords = new Map()
  const known = mutations.filter(({ via, base }) => via === undefined && base)
  for (const [name, some] of Map.groupBy(known, ({ entity }) => entity)) {
    const entity = ctx.app.records.synced.find((one) => one.entity === name)
    if (!entity || !isPlaced(entity)) continue
    for (const [id, found] of await findAll(ctx, entity, [...new Set(some.map((one) => one.id))]))
      ahead.set(`${name} ${id}`, found)
  }
  return ahead
}

/**
 * Returns a prefetched record, once, and only if the user saw its current fields. The mutation then applies to this
 * version, or is decided again if the record has changed meanwhile. All other mutations read their record themselves.
 */
function takeAhead(
  { entity, fields }: SyncEntity<Ctx>,
  mutation: Mutation,
  ahead?: PrefetchedRecords,
): FoundRecord | undefined {
  const key = `${entity} ${mutation.id}`
  const found = ahead?.get(key)
  if (!found || !ahead?.delete(key) || found.deleted || !found.seen) return undefined
  const { base } = mutation
  const changed = Object.keys(mutation.op === 'delete' ? fields : (mutation.fields ?? {}))
  const isSeen = changed.every((field) => field in fields && equalsBase(found.record[field], base?.[field]))
  return isSeen ? found : undefined
}

async function findLink(
  ctx: Ctx,
  entity: Parameters<typeof readLinks>[1],
  id: string,
): Promise<FoundRecord | undefined> {
  const where = sql`${entity.table.id} = ${id}::uuid`
  const { links, rows } = await readLinks(ctx, entity, { where })
  const [link] = links
  const [container] = link?.containers ?? []
  if (link && container) return { record: link.record, container, deleted: false, seen: true }
  const hidden = { record: { id, version: 1 }, container: 'user:' as Container, deleted: false, seen: false }
  return rows > 0 ? hidden : undefined
}

async function create(ctx: Ctx, entity: SyncEntity<Ctx>, { id, fields = {} }: Mutation): Promise<Verdict> {
  // Pull sends null for a missing value; actions leave such fields out.
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
  const { organizationId, ...own } = given
  const inside = await inNamedTeam(ctx, organizationId, own.projectId)
  for (const name of Object.keys(own))
    if (!(name in entity.fields) && !entity.onCreate?.includes(name)) throw cannotChange(entity, name)
  await entity.create(inside, id, own)
  return { ...appliedVerdict, created: true }
}

async function update(
  ctx: Ctx,
  entity: SyncEntity<Ctx>,
  { mutation, found, budget }: Omit<MutationCase, 'ahead'> & { found: FoundRecord },
): Promise<Verdict> {
  const { record, container } = found
  const set: Record<string, unknown> = {}
  const clashes: FieldConflict[] = []
  let isMerged = false
  for (const [field, mine] of Object.entries(mutation.fields ?? {})) {
    const stored = record[field]
    const kind = entity.fields[field]
    if (!kind) {
      if (equalsBase(stored, mine)) continue
      throw cannotChange(entity, field)
    }
    const base = mutation.base?.[field]
    const result = budget.spend(() => mergeField(kind, base, stored, mine))
    if (result === 'conflict') clashes.push({ kind: 'field', field, base: base ?? null, mine })
    else if (result.how !== 'unchanged') set[field] = result.value
    if (result !== 'conflict' && result.how === 'merged') isMerged = true
  }
  if (Object.keys(set).length > 0) await changeRecord(ctx, entity, record, set)
  if (clashes.length === 0) return isMerged ? mergedVerdict : appliedVerdict
  await requireRight(ctx, entity, found)
  return { status: 'conflict', clashes, container }
}

/** Requires the right to change such records: without it, a person cannot submit a conflict for others either. */
async function requireRight(ctx: Ctx, { entity }: SyncEntity<Ctx>, { record, container }: FoundRecord): Promise<void> {
  const { type, id } = splitContainer(container)
  // Only its owner finds a personal record.
  if (type === 'user') return
  const place = { organizationId: String(record.organizationId), projectId: type === 'project' ? id : null }
  await requireWriter(ctx, place, `Changing this ${entity}`)
}

/** Changes fields of a record. Throws `version_mismatch` if someone else has changed it since it was read. */
export async function changeRecord(
  ctx: Ctx,
  entity: SyncEntity<Ctx>,
  before: StoredRecord,
  set: Fields,
): Promise<void> {
  if (!entity.update) throw invalid('/fields', `A ${entity.entity} cannot be changed.`)
  const inside = inTeamOf(ctx, before)
  await entity.update({ ...inside, expectedVersion: before.version }, before, set)
}

async function remove(
  ctx: Ctx,
  entity: SyncEntity<Ctx>,
  { id, base }: Mutation,
  found: FoundRecord | undefined,
): Promise<Verdict> {
  if (!found?.seen) throw notFound(entity.entity, id)
  if (found.deleted) return mergedVerdict
  const { record, container } = found
  const isChanged = Object.keys(entity.fields).some(
    (field) => !base || !(field in base) || !equalsBase(record[field], base[field]),
  )
  if (isChanged) {
    await requireRight(ctx, entity, found)
    return { status: 'conflict', container, clashes: [{ kind: 'delete', field: null, base: base ?? null, mine: null }] }
  }
  await deleteRecord(ctx, entity, record)
  return appliedVerdict
}

export async function deleteRecord(ctx: Ctx, entity: SyncEntity<Ctx>, record: StoredRecord): Promise<void> {
  if (!entity.remove) throw invalid('/op', `A ${entity.entity} cannot be deleted.`)
  const inside = inTeamOf(ctx, record)
  await entity.remove({ ...inside, ...(isPlaced(entity) && { expectedVersion: record.version }) }, record)
}

const cannotChange = ({ entity }: SyncEntity<Ctx>, field: string): AppError =>
  invalid(`/fields/${field}`, `A device cannot set the field ${field} of a ${entity}.`)

/** Returns the context in the team of a stored record, whose rules apply. A shared record keeps the context. */
export function inTeamOf(ctx: Ctx, { organizationId }: StoredRecord): Ctx {
  const { actor } = ctx
  if (typeof organizationId !== 'string' || !actor.memberships.has(organizationId)) return ctx
  return { ...ctx, actor: { ...actor, organizationId } }
}

/**
 * Returns the context in the team that a new record names. If the user has left that team since they wrote the record
 * offline, it is rejected: it was not written for members of another team.
 */
async function inNamedTeam(ctx: Ctx, organizationId: unknown, projectId: unknown): Promise<Ctx> {
  const { actor } = ctx
  if (organizationId === undefined || organizationId === actor.organizationId) return ctx
  if (typeof organizationId !== 'string') throw invalid('/fields/organizationId', 'organizationId must be an id.')
  if (actor.memberships.has(organizationId)) return { ...ctx, actor: { ...actor, organizationId } }
  // A project that another team shares in a workspace: members of other teams also create records in it.
  const isShared = actor.reach.includes(organizationId) && typeof projectId === 'string'
  if (isShared && (await findProject(ctx, projectId)).organizationId === organizationId) return ctx
  throw new AppError(
    'not_found',
    `You are not in the team ${organizationId.slice(0, 60)}, so the record was not created. ` +
      'Create it again in one of your teams, or ask for an invitation to this one.',
  )
}
