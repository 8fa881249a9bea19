import { and, eq, isNull } from 'drizzle-orm'
import { endCredentialsOf } from '../accounts/hooks.ts'
import { apiKeys, mcpTokens } from './table.ts'

export const revokeAll = endCredentialsOf.handle(async (ctx, { userId, keepKeys }) => {
  if (keepKeys) return
  for (const table of [apiKeys, mcpTokens])
    await ctx.db
      .update(table)
      .set({ revokedAt: ctx.now })
      .where(and(eq(table.userId, userId), isNull(table.revokedAt)))
})
