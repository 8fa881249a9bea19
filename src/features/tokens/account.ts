import { and, eq, gt, isNull } from 'drizzle-orm'
import { countHoldings, revokeProgramCredentials } from '../accounts/hooks.ts'
import { stopWithoutToken } from './agents.ts'
import { apiKeys, mcpTokens } from './table.ts'

export const revokeKeysAndTokens = revokeProgramCredentials.handle(async (ctx, { userId, keepKeys }) => {
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

/** Without the tokens of programs that signed in, which end with their permission. */
export const countSecrets = countHoldings.handle(async (ctx, { userId }) => {
  const usable = (table: typeof apiKeys | typeof mcpTokens) =>
    and(eq(table.userId, userId), isNull(table.revokedAt), gt(table.expiresAt, ctx.now))
  return {
    keys: await ctx.db.$count(apiKeys, usable(apiKeys)),
    tokens: await ctx.db.$count(mcpTokens, and(usable(mcpTokens), isNull(mcpTokens.grantId))),
  }
})
