import { eq } from 'drizzle-orm'
import { countHoldings, countSignInMethods, removeSignInMethods } from '../accounts/hooks.ts'
import { passkeys } from './table.ts'

export const signInHooks = [
  countSignInMethods.handle((ctx, { userId }) => ctx.db.$count(passkeys, eq(passkeys.userId, userId))),
  countHoldings.handle(async (ctx, { userId }) => ({
    passkeys: await ctx.db.$count(passkeys, eq(passkeys.userId, userId)),
  })),
  removeSignInMethods.handle(async (ctx, { userId }) => {
    await ctx.db.delete(passkeys).where(eq(passkeys.userId, userId))
  }),
]
