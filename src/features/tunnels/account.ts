import { and, eq, isNotNull, or } from 'drizzle-orm'
import { endCredentialsOf } from '../accounts/hooks.ts'
import { tunnels } from './table.ts'

/** Ends the credentials of a user's machines, and nonces that would give one: the owner lets them claim again. */
export const revokeMachines = endCredentialsOf.handle(async (ctx, { userId, keepKeys }) => {
  if (keepKeys) return
  await ctx.db
    .update(tunnels)
    .set({ tokenHash: null, tokenId: null, claimHash: null })
    .where(and(eq(tunnels.ownerId, userId), or(isNotNull(tunnels.tokenHash), isNotNull(tunnels.claimHash))))
})
