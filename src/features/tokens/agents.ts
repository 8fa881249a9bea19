import { and, eq, gt, isNull, ne } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import type { Rule } from '../../auth/policy.ts'
import { onAgentRemoved, onAgentStopped } from '../agents/hooks.ts'
import { agentOfToken, isUnknown, nameProgram, personOf } from '../agents/of-token.ts'
import { agents } from '../agents/table.ts'
import { mcpTokenIntroduced } from './events.ts'
import { mcpTokens } from './table.ts'

/** For every MCP token, whatever it may do. */
const anyToken: Rule = { kinds: ['mcp_token'], scope: null, role: null }

/**
 * A program uses a token whose agent was created before the program was known: the agent gets its name. If another
 * token shares that agent, this one gets an agent of its own.
 */
export const introduce = write(
  'tokens.introduce',
  anyToken,
  async (ctx, { client }: { client: string }): Promise<void> => {
    const { credentialId, userId, agent } = ctx.actor
    if (!credentialId || !userId || !agent) return
    const [token] = await ctx.db.select().from(mcpTokens).where(eq(mcpTokens.id, credentialId)).for('update')
    if (token?.agentId !== agent.id) return
    const others = await ctx.db.$count(
      mcpTokens,
      and(
        eq(mcpTokens.agentId, agent.id),
        ne(mcpTokens.id, token.id),
        isNull(mcpTokens.revokedAt),
        gt(mcpTokens.expiresAt, ctx.now),
      ),
    )
    if (others > 0) {
      const { organizationId, name } = token
      if (!isUnknown(agent)) return
      const agentId = await agentOfToken(ctx, { organizationId, userId, token: name, client })
      await ctx.db.update(mcpTokens).set({ agentId }).where(eq(mcpTokens.id, token.id))
    } else if (!(await nameProgram(ctx, { id: agent.id, userId, client }))) return
    ctx.emit(mcpTokenIntroduced, { subjectId: token.id, userId, data: { name: token.name, client } })
  },
)

/** Ends what agents work on whose last token was revoked. Agents that people created may have other ways to work. */
export async function stopWithoutToken(ctx: Ctx, agentIds: readonly (string | null)[]): Promise<void> {
  for (const agentId of new Set(agentIds)) {
    if (!agentId || !(await personOf(ctx, agentId))) continue
    const valid = and(eq(mcpTokens.agentId, agentId), isNull(mcpTokens.revokedAt), gt(mcpTokens.expiresAt, ctx.now))
    if ((await ctx.db.$count(mcpTokens, valid)) === 0) await onAgentStopped.call(ctx, { agentId })
  }
}

/** Every token has an agent: those of a deleted one get another, so that what they do keeps a name. */
export const replaceAgent = onAgentRemoved.handle(async (ctx, { agent }) => {
  const [was] = await ctx.db.select({ client: agents.client }).from(agents).where(eq(agents.id, agent.id))
  const orphans = await ctx.db
    .select()
    .from(mcpTokens)
    .where(and(eq(mcpTokens.agentId, agent.id), isNull(mcpTokens.revokedAt), gt(mcpTokens.expiresAt, ctx.now)))
  for (const { id, organizationId, userId, name } of orphans) {
    const client = was?.client ?? undefined
    const agentId = await agentOfToken(ctx, { organizationId, userId, token: name, client })
    await ctx.db.update(mcpTokens).set({ agentId }).where(eq(mcpTokens.id, id))
  }
  return {}
})
