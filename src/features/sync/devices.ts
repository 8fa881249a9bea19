import { eq, gt, type SQL } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { NO_USER_ID, userIdOf } from '../../auth/actor.ts'
import { authorize, person, type Rule } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { readEpoch } from '../../events/epoch.ts'
import { daysAfter } from '../../records/days.ts'
import type { Container } from '../../records/sync.ts'
import { revokeSession } from '../accounts/sessions.ts'
import { revokeKey } from '../tokens/keys.ts'
import { users } from '../users/table.ts'
import { containersOf } from './containers.ts'
import { syncRegistered, syncRemoved } from './events.ts'
import { syncLimits } from './limits.ts'
import type { DeviceRegister, Registered } from './schema.ts'
import { syncDevices } from './table.ts'

/** The version of the protocol. A device whose version is more than a year older must be updated. */
export const SCHEMA = '2026-11-16'
const OLDEST_SCHEMA = '2025-11-16'

/**
 * A copy belongs to a person: MCP tokens, and administrators who act as someone else, cannot keep one. No scope is
 * needed, because the scopes of a key decide which entities it gets and may change.
 */
export const ownDeviceRule: Rule = { kinds: ['session', 'api_key'], scope: null, role: null, own: true, limited: true }

/** SQL condition: devices of the caller. A credential limited to projects sees only those that it registered. */
export const isOwnDevice = ({ actor }: Ctx): SQL =>
  and(
    eq(syncDevices.userId, userIdOf(actor)),
    actor.projects && eq(syncDevices.credentialId, actor.credentialId ?? NO_USER_ID),
  )

export type Device = typeof syncDevices.$inferSelect

/** Returns a device of the caller whose protocol version the server still supports. */
export async function deviceOf(ctx: Ctx, id: string): Promise<Device> {
  const found = await findOwnDevice(ctx, id)
  checkSchema(found.schema)
  return found
}

/** Returns a device of the caller. Devices of others are not found; a device that was not seen for 90 days is gone. */
async function findOwnDevice(ctx: Ctx, id: string): Promise<Device> {
  const [found] = await ctx.db
    .select()
    .from(syncDevices)
    .where(and(eq(syncDevices.id, id), isOwnDevice(ctx)))
  if (!found) throw notFound('device', id)
  if (found.lastSeenAt < daysAfter(ctx.now, -syncLimits.days))
    throw new AppError(
      'gone',
      `This device was not seen for ${syncLimits.days} days. Register it again as a new device.`,
      {
        next: [{ route: 'POST /api/sync/devices/register', command: 'tutti sync on' }],
      },
    )
  return found
}

function checkSchema(schema: string): void {
  if (schema < OLDEST_SCHEMA)
    throw new AppError(
      'conflict',
      `This program uses version ${schema} of the sync protocol; the server requires ${OLDEST_SCHEMA} or newer. ` +
        'Install a newer version of Tutti on the device.',
      { next: [{ command: 'tutti upgrade' }] },
    )
}

/** Returns the containers that the device keeps and its user sees now. */
export async function containersFor(ctx: Ctx, { only }: Pick<Device, 'only'>): Promise<Container[]> {
  const all = await containersOf(ctx)
  return only ? all.filter((container) => only.includes(container)) : all
}

/** Registers a device, or changes one of the caller's. */
export const registerDevice = flow(
  'sync.register',
  ownDeviceRule,
  async (ctx, input: DeviceRegister, keyed): Promise<Registered> => {
    const { id, containers } = await enrolDevice(keyed, input)
    return { deviceId: id, epoch: await readEpoch(ctx.app.driver), schema: SCHEMA, containers, limits: syncLimits }
  },
)

const enrolDevice = write(
  'sync.enrol',
  ownDeviceRule,
  async (
    ctx,
    { deviceId, only, publicKey, ...input }: DeviceRegister,
  ): Promise<{ id: string; containers: Container[] }> => {
    checkSchema(input.schema)
    const userId = userIdOf(ctx.actor)
    const values = {
      ...input,
      only: only ? (only as Container[]) : null,
      publicKey: publicKey ?? null,
      credentialKind: ctx.actor.kind,
      credentialId: ctx.actor.credentialId,
      lastSeenAt: ctx.now,
    }
    const id =
      deviceId === undefined
        ? await createDevice(ctx, { ...values, userId, createdAt: ctx.now })
        : await changeDevice(ctx, await findOwnDevice(ctx, deviceId), values)
    ctx.emit(syncRegistered, { subjectId: id, userId, data: { name: input.name, platform: input.platform } })
    return { id, containers: await containersFor(ctx, values) }
  },
)

async function changeDevice(ctx: Ctx, { id }: Device, values: Partial<Device>): Promise<string> {
  await ctx.db.update(syncDevices).set(values).where(eq(syncDevices.id, id))
  return id
}

async function createDevice(ctx: Ctx, values: typeof syncDevices.$inferInsert): Promise<string> {
  // The lock makes concurrent callers count one after another.
  await ctx.db.select({ id: users.id }).from(users).where(eq(users.id, values.userId)).for('no key update')
  const live = and(
    eq(syncDevices.userId, values.userId),
    gt(syncDevices.lastSeenAt, daysAfter(ctx.now, -syncLimits.days)),
  )
  if ((await ctx.db.$count(syncDevices, live)) >= syncLimits.devices)
    throw new AppError(
      'conflict',
      `A user can have ${syncLimits.devices} devices. Remove one that you no longer use.`,
      {
        next: [{ route: 'DELETE /api/sync/devices/{id}', command: 'tutti sync off' }],
      },
    )
  const [made] = await ctx.db.insert(syncDevices).values(values).returning({ id: syncDevices.id })
  if (!made) throw new Error('insert returned nothing')
  return made.id
}

/** Removes a device, and revokes the credential that registered it, unless that is the caller's own. */
export const removeDevice = write(
  'sync.removeDevice',
  ownDeviceRule,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const userId = userIdOf(ctx.actor)
    const [gone] = await ctx.db
      .delete(syncDevices)
      .where(and(eq(syncDevices.id, id), isOwnDevice(ctx)))
      .returning()
    if (!gone) throw notFound('device', id)
    if (gone.credentialId && gone.credentialId !== ctx.actor.credentialId) {
      authorize(ctx.actor, person, 'Removing a device with another credential', ctx.app.clock)
      if (gone.credentialKind === 'session') await revokeSession(ctx, gone.credentialId, userId, 'device removed')
      else await revokeKey(ctx, { id: gone.credentialId })
    }
    ctx.emit(syncRemoved, { subjectId: id, userId, data: { name: gone.name } })
    return { id, deleted: true }
  },
  { destructive: true },
)
