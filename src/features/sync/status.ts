import { desc } from 'drizzle-orm'
import { read } from '../../action.ts'
import { readEpoch } from '../../events/epoch.ts'
import { sumsOf } from './checks.ts'
import { openConflicts } from './conflicts.ts'
import { readableBy } from './containers.ts'
import { containersFor, deviceOf, isOwnDevice, ownDeviceRule, SCHEMA } from './devices.ts'
import type { Status, StatusQuery } from './schema.ts'
import { syncDevices } from './table.ts'

const deviceColumns = {
  id: syncDevices.id,
  name: syncDevices.name,
  platform: syncDevices.platform,
  schema: syncDevices.schema,
  only: syncDevices.only,
  createdAt: syncDevices.createdAt,
  lastSeenAt: syncDevices.lastSeenAt,
  lastPullAt: syncDevices.lastPullAt,
  lastPushAt: syncDevices.lastPushAt,
}

/** Returns the user's devices, and the checksums of the containers that the user sees. */
export const getSyncStatus = read(
  'sync.status',
  ownDeviceRule,
  async (ctx, { deviceId }: StatusQuery): Promise<Status> => {
    const device = deviceId === undefined ? { only: null } : await deviceOf(ctx, deviceId)
    const devices = await ctx.db
      .select(deviceColumns)
      .from(syncDevices)
      .where(isOwnDevice(ctx))
      .orderBy(desc(syncDevices.lastSeenAt), syncDevices.id)
    return {
      epoch: await readEpoch(ctx.app.driver),
      schema: SCHEMA,
      devices,
      openConflicts: await openConflicts(ctx),
      containers: await sumsOf(ctx, await containersFor(ctx, device), readableBy(ctx)),
    }
  },
)
