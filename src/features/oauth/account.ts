import { and, eq, inArray } from 'drizzle-orm'
import { connectIdentity, countHoldings, countSignInMethods, removeSignInMethods } from '../accounts/hooks.ts'
import { connectIdentityTo } from './identities.ts'
import { configuredProviders, issuerOf } from './providers.ts'
import { connectedAccounts } from './table.ts'

export const signInHooks = [
  countSignInMethods.handle((ctx, { userId }) => {
    // Identities of a former issuer of the provider cannot sign in.
    const issuers = configuredProviders(ctx.app.config).flatMap((provider) => issuerOf(ctx.app.config, provider) ?? [])
    const usable = inArray(connectedAccounts.issuer, issuers)
    return ctx.db.$count(connectedAccounts, and(eq(connectedAccounts.userId, userId), usable))
  }),
  // Counts identities of all issuers, because removal deletes all: a former issuer may be configured again.
  countHoldings.handle(async (ctx, { userId }) => ({
    identities: await ctx.db.$count(connectedAccounts, eq(connectedAccounts.userId, userId)),
  })),
  connectIdentity.handle(async (ctx, { user, identity }) => {
    await connectIdentityTo(ctx, user, JSON.parse(identity))
  }),
  removeSignInMethods.handle(async (ctx, { userId }) => {
    await ctx.db.delete(connectedAccounts).where(eq(connectedAccounts.userId, userId))
  }),
]
