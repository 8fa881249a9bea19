import { eq } from 'drizzle-orm'
import { endCredentialsOf } from '../accounts/hooks.ts'
import { deviceCodes } from './table.ts'

/** Drops devices that the user approved and that have not fetched their session yet. */
export const dropApproved = endCredentialsOf.handle(async (ctx, { userId }) => {
  await ctx.db.delete(deviceCodes).where(eq(deviceCodes.claimedById, userId))
})
