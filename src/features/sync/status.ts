import { desc } from 'drizzle-orm'
import { read } from '../../action.ts'
import { epochOf } from '../../events/epoch.ts'
import { sumsOf } from './checks.ts'
import { openConflicts } from './conflicts.ts'
import { readableBy } from './containers.ts'
import { containersFor, deviceOf, isOwnDevice, ownCopy, SCHEMA } from './devices.ts'
import type { Status, StatusQuery } from './schema.ts'
import { syncDevices } from './table.ts'

const shown = {
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
export const status = read('sync.status', ownCopy, async (ctx, { deviceId }: StatusQuery): Promise<Status> => {
  const device = deviceId === undefined ? { only: null } : await deviceOf(ctx, deviceId)
  const devices = await ctx.db
    .select(shown)
    .from(syncDevices)
    .where(isOwnDevice(ctx))
    .orderBy(desc(syncDevices.lastSeenAt), syncDevices.id)
  return {
    epoch: await epochOf(ctx.app.driver),
    schema: SCHEMA,
    devices,
    openConflicts: await openConflicts(ctx),
    containers: await sumsOf(ctx, await containersFor(ctx, device), readableBy(ctx)),
  }
})
