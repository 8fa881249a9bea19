import { and, eq, inArray } from 'drizzle-orm'
import { countSignInMethods, removeSignInMethods } from '../accounts/hooks.ts'
import { configured } from './providers.ts'
import { connectedAccounts } from './table.ts'

export const signInHooks = [
  countSignInMethods.handle((ctx, { userId }) => {
    const usable = inArray(connectedAccounts.provider, configured(ctx.app.config))
    return ctx.db.$count(connectedAccounts, and(eq(connectedAccounts.userId, userId), usable))
  }),
  removeSignInMethods.handle(async (ctx, { userId }) => {
    await ctx.db.delete(connectedAccounts).where(eq(connectedAccounts.userId, userId))
  }),
]
