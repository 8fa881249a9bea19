import { and, eq, isNotNull } from 'drizzle-orm'
import { endCredentialsOf } from '../accounts/hooks.ts'
import { tunnels } from './table.ts'

/** Ends the credentials of a user's machines; their owner has to let them claim their tunnels again. */
export const revokeMachines = endCredentialsOf.handle(async (ctx, { userId, keepKeys }) => {
  if (keepKeys) return
  await ctx.db
    .update(tunnels)
    .set({ tokenHash: null, tokenId: null, claimHash: null })
    .where(and(eq(tunnels.ownerId, userId), isNotNull(tunnels.tokenHash)))
})
