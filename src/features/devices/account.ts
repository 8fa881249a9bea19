import { and, eq, gt } from 'drizzle-orm'
import { countHoldings, revokeProgramCredentials } from '../accounts/hooks.ts'
import { deviceCodes } from './table.ts'

/** Deletes devices that the user approved and that have not fetched their session yet. */
export const dropApprovedDevices = revokeProgramCredentials.handle(async (ctx, { userId }) => {
  await ctx.db.delete(deviceCodes).where(eq(deviceCodes.claimedById, userId))
})

/** Counts devices that have not fetched their session yet. The others are counted by their session. */
export const countApprovedDevices = countHoldings.handle(async (ctx, { userId }) => {
  const waiting = and(eq(deviceCodes.status, 'approved'), gt(deviceCodes.expiresAt, ctx.now))
  return { devices: await ctx.db.$count(deviceCodes, and(eq(deviceCodes.claimedById, userId), waiting)) }
})
