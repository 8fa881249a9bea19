import { and, eq, isNotNull, or } from 'drizzle-orm'
import { countHoldings, endCredentialsOf } from '../accounts/hooks.ts'
import { tunnels } from './table.ts'

/** Machines of the user that have a credential, or may claim one. */
const withCredential = (userId: string) =>
  and(eq(tunnels.ownerId, userId), or(isNotNull(tunnels.tokenHash), isNotNull(tunnels.claimHash)))

export const countMachines = countHoldings.handle(async (ctx, { userId }) => ({
  tunnels: await ctx.db.$count(tunnels, withCredential(userId)),
}))

/** Ends the credentials of a user's machines, and nonces that would give one: the owner lets them claim again. */
export const revokeMachines = endCredentialsOf.handle(async (ctx, { userId, keepKeys }) => {
  if (keepKeys) return
  await ctx.db.update(tunnels).set({ tokenHash: null, tokenId: null, claimHash: null }).where(withCredential(userId))
})
