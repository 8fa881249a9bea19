import { and, eq, gt, isNotNull, isNull, ne } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import type { Actor } from '../../auth/actor.ts'
import type { Rule } from '../../auth/policy.ts'
import { agentTokenNames, onAgentRemoved, onAgentStopped } from '../agents/hooks.ts'
import { agents } from '../agents/table.ts'
import { findOrCreateTokenAgent, personOfAgent, setAgentClient } from '../agents/token-agents.ts'
import { hasPlanRoom } from '../organizations/plans.ts'
import { mcpTokenConnected, mcpTokenIntroduced } from './events.ts'
import { mcpTokens } from './table.ts'

/** For every MCP token, whatever its scopes. */
const anyToken: Rule = { kinds: ['mcp_token'], scope: null, role: null, limited: true }

interface Program {
  client?: string
  version?: string
}
type Token = typeof mcpTokens.$inferSelect

const isNew = (token: Token, { client, version }: Program): boolean =>
  token.firstUsedAt === null ||
  (client !== undefined && (token.clientName !== client || token.clientVersion !== (version ?? null)))

/** The agent was created before its program was known. */
const isNameless = ({ agent }: Actor, { client }: Program): boolean =>
  client !== undefined && agent?.forUser === true && agent.client === undefined

/** Stores which program uses a token. Most uses change nothing, so it reads before it writes. */
export const introduceProgram = flow('tokens.introduce', anyToken, async (ctx, program: Program): Promise<void> => {
  const { credentialId } = ctx.actor
  if (!credentialId) return
  const [token] = await ctx.db.select().from(mcpTokens).where(eq(mcpTokens.id, credentialId))
  if (token && (isNew(token, program) || isNameless(ctx.actor, program)))
    // Only the token and its agent change, which belong to no project: a limit to projects must not stop it.
    await storeConnection({ ...ctx, actor: { ...ctx.actor, projects: undefined } }, program)
})

const storeConnection = write('tokens.connected', anyToken, async (ctx, program: Program): Promise<void> => {
  const { credentialId, userId } = ctx.actor
  if (!credentialId || !userId) return
  const [token] = await ctx.db.select().from(mcpTokens).where(eq(mcpTokens.id, credentialId)).for('update')
  if (!token) return
  const { client, version } = program
  if (isNew(token, program)) {
    await ctx.db
      .update(mcpTokens)
      .set({
        firstUsedAt: token.firstUsedAt ?? ctx.now,
        lastUsedAt: ctx.now,
        ...(client !== undefined && { clientName: client, clientVersion: version ?? null }),
      })
      .where(eq(mcpTokens.id, token.id))
    const data = { name: token.name, first: token.firstUsedAt === null, ...program }
    ctx.emit(mcpTokenConnected, { subjectId: token.id, userId, data })
  }
  if (client !== undefined && isNameless(ctx.actor, program)) await storeProgram(ctx, token, client)
})

/** Stores the program of a token's agent. The name of the agent stays, because others may already use it. */
async function storeProgram(ctx: Ctx, token: Token, client: string): Promise<void> {
  const { userId, agent } = ctx.actor
  if (!userId || !agent || token.agentId !== agent.id) return
  const others = await ctx.db.$count(mcpTokens, and(isUsing(ctx, agent.id), ne(mcpTokens.id, token.id)))
  // An agent that several tokens share may run in several programs.
  if (others > 0 || !(await setAgentClient(ctx, { id: agent.id, userId, client }))) return
  ctx.emit(mcpTokenIntroduced, { subjectId: token.id, userId, data: { name: token.name, client } })
}

/** SQL condition: valid tokens of the agent. */
const isUsing = (ctx: Ctx, agentId: string) =>
  and(eq(mcpTokens.agentId, agentId), isNull(mcpTokens.revokedAt), gt(mcpTokens.expiresAt, ctx.now))

/** Returns whether a valid token belongs to the agent. */
export const isAgentUsed = async (ctx: Ctx, agentId: string): Promise<boolean> =>
  (await ctx.db.$count(mcpTokens, isUsing(ctx, agentId))) > 0

/** The owner of a token also finds its agent by the token's name. */
export const nameTokens = agentTokenNames.handle(async (ctx, { organizationId }) => {
  const { userId } = ctx.actor
  if (!userId) return []
  const own = and(eq(mcpTokens.userId, userId), eq(mcpTokens.organizationId, organizationId))
  const valid = and(isNull(mcpTokens.revokedAt), gt(mcpTokens.expiresAt, ctx.now), isNotNull(mcpTokens.agentId))
  const rows = await ctx.db
    .select({ agentId: mcpTokens.agentId, name: mcpTokens.name })
    .from(mcpTokens)
    .where(and(own, valid))
  return rows.map(({ agentId, name }) => ({ agentId: agentId as string, name }))
})

/** Releases the tasks of agents whose last token was revoked. Agents that people created may have other credentials. */
export async function stopWithoutToken(ctx: Ctx, agentIds: readonly (string | null)[]): Promise<void> {
  for (const agentId of new Set(agentIds)) {
    if (!agentId || !(await personOfAgent(ctx, agentId))) continue
    if (!(await isAgentUsed(ctx, agentId))) await onAgentStopped.call(ctx, { agentId })
  }
}

/** Every token has an agent: tokens of a deleted one get another, so that their actions keep a name. Grants end. */
export const replaceAgent = onAgentRemoved.handle(async (ctx, { agent }) => {
  const [was] = await ctx.db.select({ client: agents.client }).from(agents).where(eq(agents.id, agent.id))
  const orphans = await ctx.db
    .select()
    .from(mcpTokens)
    .where(and(isUsing(ctx, agent.id), isNull(mcpTokens.grantId)))
  const replacements = new Map<string, string>()
  for (const { id, organizationId, userId, name } of orphans) {
    const client = was?.client ?? undefined
    // If the plan allows no more agents, the tokens of one person share one.
    const shared = replacements.get(userId)
    const agentId =
      shared && !(await hasPlanRoom(ctx, organizationId, 'agents'))
        ? shared
        : await findOrCreateTokenAgent(ctx, { organizationId, userId, token: name, client, isReplacement: true })
    replacements.set(userId, agentId)
    await ctx.db.update(mcpTokens).set({ agentId }).where(eq(mcpTokens.id, id))
  }
  return {}
})
