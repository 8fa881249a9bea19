import { and, eq, isNull } from 'drizzle-orm'
import { endCredentialsOf } from '../accounts/hooks.ts'
import { stopWithoutToken } from './agents.ts'
import { apiKeys, mcpTokens } from './table.ts'

export const revokeAll = endCredentialsOf.handle(async (ctx, { userId, keepKeys }) => {
  if (keepKeys) return
  const ended = { revokedAt: ctx.now }
  await ctx.db
    .update(apiKeys)
    .set(ended)
    .where(and(eq(apiKeys.userId, userId), isNull(apiKeys.revokedAt)))
  const tokens = await ctx.db
    .update(mcpTokens)
    .set(ended)
    .where(and(eq(mcpTokens.userId, userId), isNull(mcpTokens.revokedAt)))
    .returning({ agentId: mcpTokens.agentId })
  await stopWithoutToken(
    ctx,
    tokens.map(({ agentId }) => agentId),
  )
})
