import { eq, gt, isNull } from 'drizzle-orm'
import { and } from '../../db/conditions.ts'
import { countHoldings, revokeProgramCredentials } from '../accounts/hooks.ts'
import { onAgentRemoved } from '../agents/hooks.ts'
import { onMemberLeft } from '../organizations/hooks.ts'
import { endGrants } from './rows.ts'
import { oauthGrants } from './table.ts'

// A grant ends with its account, membership or agent. It also ends if the user chooses to keep their API keys.

export const endGrantsOfAccount = revokeProgramCredentials.handle(async (ctx, { userId }) => {
  await endGrants(ctx, eq(oauthGrants.userId, userId), 'The credentials of the account were ended')
})

export const countGrants = countHoldings.handle(async (ctx, { userId }) => {
  const { revokedAt, expiresAt, idleUntil } = oauthGrants
  const usable = and(isNull(revokedAt), gt(expiresAt, ctx.now), gt(idleUntil, ctx.now))
  return { grants: await ctx.db.$count(oauthGrants, and(eq(oauthGrants.userId, userId), usable)) }
})

export const endGrantsOfMember = onMemberLeft.handle(async (ctx, { organizationId, userId }) => {
  const theirs = and(eq(oauthGrants.userId, userId), eq(oauthGrants.organizationId, organizationId))
  await endGrants(ctx, theirs, 'The user left the team')
})

export const endGrantsOfAgent = onAgentRemoved.handle(async (ctx, { agent }) => {
  await endGrants(ctx, eq(oauthGrants.agentId, agent.id), 'The agent was deleted')
  return {}
})
