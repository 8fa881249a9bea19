import { and, eq, gt, isNull, ne } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import type { Actor } from '../../auth/actor.ts'
import type { Rule } from '../../auth/policy.ts'
import { onAgentRemoved, onAgentStopped } from '../agents/hooks.ts'
import { agentOfToken, isUnknown, nameProgram, personOf } from '../agents/of-token.ts'
import { agents } from '../agents/table.ts'
import { hasPlanRoom } from '../organizations/plans.ts'
import { mcpTokenConnected, mcpTokenIntroduced } from './events.ts'
import { mcpTokens } from './table.ts'

/** For every MCP token, whatever it may do. */
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

/** Stores which program uses a token. Most uses change nothing, so it looks before it writes. */
export const introduce = flow('tokens.introduce', anyToken, async (ctx, program: Program): Promise<void> => {
  const { credentialId } = ctx.actor
  if (!credentialId) return
  const [token] = await ctx.db.select().from(mcpTokens).where(eq(mcpTokens.id, credentialId))
  if (token && (isNew(token, program) || isNameless(ctx.actor, program)))
    // It changes only the token itself and its agent, which belong to no project: a limit to projects must not stop it.
    await connected({ ...ctx, actor: { ...ctx.actor, projects: undefined } }, program)
})

const connected = write('tokens.connected', anyToken, async (ctx, program: Program): Promise<void> => {
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
  if (client !== undefined && isNameless(ctx.actor, program)) await nameAgent(ctx, token, client)
})

/** The agent of a token gets the program's name. If another token shares that agent, this one gets its own. */
async function nameAgent(ctx: Ctx, token: Token, client: string): Promise<void> {
  const { userId, agent } = ctx.actor
  if (!userId || !agent || token.agentId !== agent.id) return
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
    // Where the plan has no room for another agent, the token keeps the one that it shares.
    if (!(await hasPlanRoom(ctx, organizationId, 'agents'))) return
    const agentId = await agentOfToken(ctx, { organizationId, userId, token: name, client })
    await ctx.db.update(mcpTokens).set({ agentId }).where(eq(mcpTokens.id, token.id))
  } else if (!(await nameProgram(ctx, { id: agent.id, userId, client }))) return
  ctx.emit(mcpTokenIntroduced, { subjectId: token.id, userId, data: { name: token.name, client } })
}

/** Ends what agents work on whose last token was revoked. Agents that people created may have other ways to work. */
export async function stopWithoutToken(ctx: Ctx, agentIds: readonly (string | null)[]): Promise<void> {
  for (const agentId of new Set(agentIds)) {
    if (!agentId || !(await personOf(ctx, agentId))) continue
    const valid = and(eq(mcpTokens.agentId, agentId), isNull(mcpTokens.revokedAt), gt(mcpTokens.expiresAt, ctx.now))
    if ((await ctx.db.$count(mcpTokens, valid)) === 0) await onAgentStopped.call(ctx, { agentId })
  }
}

/** Every token has an agent: those of a deleted one get another, so that what they do keeps a name. Permissions end. */
export const replaceAgent = onAgentRemoved.handle(async (ctx, { agent }) => {
  const [was] = await ctx.db.select({ client: agents.client }).from(agents).where(eq(agents.id, agent.id))
  const orphans = await ctx.db
    .select()
    .from(mcpTokens)
    .where(
      and(
        eq(mcpTokens.agentId, agent.id),
        isNull(mcpTokens.grantId),
        isNull(mcpTokens.revokedAt),
        gt(mcpTokens.expiresAt, ctx.now),
      ),
    )
  const replacements = new Map<string, string>()
  for (const { id, organizationId, userId, name } of orphans) {
    const client = was?.client ?? undefined
    // Without room for more agents, the tokens of one person share one.
    const shared = replacements.get(userId)
    const agentId =
      shared && !(await hasPlanRoom(ctx, organizationId, 'agents'))
        ? shared
        : await agentOfToken(ctx, { organizationId, userId, token: name, client, isReplacement: true })
    replacements.set(userId, agentId)
    await ctx.db.update(mcpTokens).set({ agentId }).where(eq(mcpTokens.id, id))
  }
  return {}
})
