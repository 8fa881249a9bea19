import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { isAtLeast } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { or } from '../../db/conditions.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import type { Container, Fields, SyncEntity } from '../../records/sync.ts'
import { notify } from '../notifications/service.ts'
import { projects } from '../projects/table.ts'
import { containersOf, readableBy } from './containers.ts'
import {
  changeRecord,
  deleteRecord,
  type FieldConflict,
  type FoundRecord,
  findAny,
  inTeamOf,
} from './decide-mutation.ts'
import { type Device, ownDeviceRule } from './devices.ts'
import { syncConflicted, syncResolved } from './events.ts'
import { storageLimits } from './limits.ts'
import type { Conflict, ConflictPage, ConflictQuery, Mutation, Resolve } from './schema.ts'
import { syncConflicts } from './table.ts'

/** Changes of devices with an open conflict. The stored value stays until someone resolves it. */

/** Stores the changes of the device. Returns the ids of the conflicts. */
export async function storeConflicts(
  ctx: Ctx,
  device: Device,
  { mutationId, entity, id: recordId }: Mutation,
  container: Container,
  clashes: readonly FieldConflict[],
): Promise<string[]> {
  if (clashes.length === 0) return []
  const open = await ctx.db.$count(
    syncConflicts,
    and(eq(syncConflicts.userId, device.userId), isNull(syncConflicts.resolvedAt)),
  )
  if (open + clashes.length > storageLimits.openConflicts)
    throw new AppError('conflict', `You have ${open} open conflicts. Resolve some first: tutti sync conflicts`)
  const rows = clashes.map(({ kind, field, base, mine }) => ({
    id: newId(),
    createdAt: ctx.now,
    userId: device.userId,
    deviceId: device.id,
    deviceName: device.name,
    mutationId,
    entity,
    recordId,
    container,
    kind,
    field,
    values: { base, mine },
  }))
  await ctx.db.insert(syncConflicts).values(rows)
  return rows.map(({ id }) => id)
}

/** Notifies the user once for all conflicts of a push. */
export const notifyOfConflicts = write(
  'sync.tellOfConflicts',
  ownDeviceRule,
  async (ctx, { device, conflicts }: { device: Device; conflicts: number }): Promise<void> => {
    const { userId, name } = device
    ctx.emit(syncConflicted, { subjectId: device.id, userId, data: { device: name, conflicts } })
    await notify(ctx, {
      userId,
      type: 'warning',
      reason: 'sync',
      title: conflicts === 1 ? `A change from ${name} conflicts` : `${conflicts} changes from ${name} conflict`,
      message: 'Someone else changed the same field or record. Choose which version to keep: tutti sync conflicts',
      link: '/sync/conflicts',
    })
  },
)

type Row = typeof syncConflicts.$inferSelect

/** SQL condition: the credential may read the kind and place of the conflict. */
async function isReadableConflict(ctx: Ctx): Promise<SQL> {
  const list = (names: readonly string[]) => sql`any(${`{${names.join(',')}}`}::text[])`
  return sql`(${syncConflicts.container} = ${list(await containersOf(ctx))}
    and ${syncConflicts.entity} = ${list(readableBy(ctx).map(({ entity }) => entity))})`
}

/** SQL condition: among the readable conflicts, those of the caller and those of records that the caller may change. */
async function isVisibleConflict(ctx: Ctx): Promise<SQL> {
  const { actor } = ctx
  const writers = [...actor.memberships].filter(([, role]) => isAtLeast(role, 'member')).map(([id]) => id)
  const managers = [...actor.memberships].filter(([, role]) => isAtLeast(role, 'admin')).map(([id]) => id)
  const shared = [...actor.workspaces].filter(([, role]) => isAtLeast(role, 'member')).map(([id]) => id)
  const list = (ids: readonly string[]) => sql`${`{${ids.join(',')}}`}::uuid[]`
  const open = sql`(p.visibility <> 'private' or p.created_by_id = ${actor.userId}::uuid
    or p.organization_id = any(${list(managers)}))`
  const mine = or(
    eq(syncConflicts.userId, userIdOf(actor)),
    sql`${syncConflicts.container} in (select 'organization:' || team from unnest(${list(writers)}) team)`,
    sql`${syncConflicts.container} in (select 'project:' || p.id from ${projects} p where p.deleted_at is null and (
      (p.organization_id = any(${list(writers)}) and ${open})
      or (p.workspace_id = any(${list(shared)}) and p.visibility <> 'private')))`,
  )
  return sql`(${await isReadableConflict(ctx)} and ${mine})`
}

export const listConflicts = read(
  'sync.conflicts',
  ownDeviceRule,
  async (ctx, { resolved, entity, recordId, ...query }: ConflictQuery): Promise<ConflictPage> => {
    const page = keyset({ createdAt: syncConflicts.createdAt }, syncConflicts.id, query, { sort: 'createdAt' })
    const where = and(
      await isVisibleConflict(ctx),
      resolved ? undefined : isNull(syncConflicts.resolvedAt),
      entity === undefined ? undefined : eq(syncConflicts.entity, entity),
      recordId === undefined ? undefined : eq(syncConflicts.recordId, recordId),
    )
    const rows = await ctx.db
      .select()
      .from(syncConflicts)
      .where(page.where(where))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(syncConflicts, where) : undefined
    const { items, nextCursor } = page.page(rows, total)
    return {
      items: await Promise.all(items.map((row) => toConflict(ctx, row))),
      nextCursor,
      ...(total !== undefined && { total }),
    }
  },
)

/** Returns how many readable conflicts of the user are open. */
export async function openConflicts(ctx: Ctx): Promise<number> {
  const own = eq(syncConflicts.userId, userIdOf(ctx.actor))
  return ctx.db.$count(syncConflicts, and(own, isNull(syncConflicts.resolvedAt), await isReadableConflict(ctx)))
}

/** Adds the stored value; null if the record is deleted or invisible to the caller. */
async function toConflict(ctx: Ctx, row: Row): Promise<Conflict> {
  const { deviceId, deviceName, values, resolvedById: _, ...rest } = row
  const entity = ctx.app.records.synced.find((one) => one.entity === row.entity)
  const found = entity && (await findAny(ctx, entity, row.recordId))
  const record = found?.seen && !found.deleted ? found.record : null
  const title = found?.seen ? titleOf(found.record) : null
  const server = row.kind === 'field' && row.field ? (record?.[row.field] ?? null) : record
  return { ...rest, title, device: { id: deviceId, name: deviceName }, base: values.base, mine: values.mine, server }
}

/** Returns the title or name of a record, otherwise the beginning of its text. */
const titleOf = ({ title, name, body, content }: Fields): string =>
  String([title, name, body, content].find((text) => typeof text === 'string' && text !== '') ?? '').slice(0, 500)

/** Resolves a conflict. The rules of the web API apply to the resulting change. */
export const resolveConflict = write(
  'sync.resolve',
  ownDeviceRule,
  async (ctx, { id, choice, value }: Resolve & { id: string }): Promise<Conflict> => {
    const [row] = await ctx.db
      .select()
      .from(syncConflicts)
      .where(and(eq(syncConflicts.id, id), await isVisibleConflict(ctx)))
      .for('update')
    const entity = row && readableBy(ctx).find((one) => one.entity === row.entity)
    if (!row || !entity) throw notFound('conflict', id)
    if (row.resolvedAt) throw new AppError('conflict', 'This conflict is already resolved.')
    if (choice === 'value' && row.kind !== 'field')
      throw invalid('/choice', 'Only a field conflict can be resolved with a value. Choose server or mine.')
    if (choice === 'value' && value === undefined) throw invalid('/value', 'Send the value of the field.', 'required')
    if (choice !== 'server') await applyResolution(ctx, entity, row, choice === 'mine' ? row.values.mine : value)
    const resolved = { resolvedAt: ctx.now, resolvedById: ctx.actor.userId, choice }
    await ctx.db.update(syncConflicts).set(resolved).where(eq(syncConflicts.id, id))
    const data = { entity: row.entity, recordId: row.recordId, choice, ...(row.field && { field: row.field }) }
    ctx.emit(syncResolved, { subjectId: id, userId: row.userId, data })
    return toConflict(ctx, { ...row, ...resolved })
  },
)

async function applyResolution(ctx: Ctx, entity: SyncEntity<Ctx>, row: Row, wanted: unknown): Promise<void> {
  const found = await findAny(ctx, entity, row.recordId)
  if (!found?.seen) throw notFound(entity.entity, row.recordId)
  if (row.kind === 'delete') {
    if (!found.deleted) await deleteRecord(ctx, entity, found.record)
    return
  }
  const fields: Fields = row.kind === 'field' && row.field ? { [row.field]: wanted } : (wanted as Fields)
  const there = found.deleted ? await restoreRecord(ctx, entity, found) : found
  const changeable = Object.entries(fields).filter(([name]) => name in entity.fields)
  if (changeable.length > 0) await changeRecord(ctx, entity, there.record, Object.fromEntries(changeable))
}

async function restoreRecord(ctx: Ctx, entity: SyncEntity<Ctx>, { record }: FoundRecord): Promise<FoundRecord> {
  if (!entity.restore) throw new AppError('conflict', `A deleted ${entity.entity} cannot be restored.`)
  await entity.restore(inTeamOf(ctx, record), record)
  const back = await findAny(ctx, entity, record.id)
  if (!back) throw notFound(entity.entity, record.id)
  return back
}
