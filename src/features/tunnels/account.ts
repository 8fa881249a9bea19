import { and, eq, isNotNull, or } from 'drizzle-orm'
import { countHoldings, revokeProgramCredentials } from '../accounts/hooks.ts'
import { tunnels } from './table.ts'

/** Machines of the user with a credential, or with a nonce to claim one. */
const withCredential = (userId: string) =>
  and(eq(tunnels.ownerId, userId), or(isNotNull(tunnels.tokenHash), isNotNull(tunnels.claimHash)))

export const countMachines = countHoldings.handle(async (ctx, { userId }) => ({
  tunnels: await ctx.db.$count(tunnels, withCredential(userId)),
}))

/** Revokes the credentials and nonces of a user's machines; the owner can let them claim again. */
export const revokeMachines = revokeProgramCredentials.handle(async (ctx, { userId, keepKeys }) => {
  if (keepKeys) return
  await ctx.db.update(tunnels).set({ tokenHash: null, tokenId: null, claimHash: null }).where(withCredential(userId))
})
