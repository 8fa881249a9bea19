import { eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import type { Actor } from '../../auth/actor.ts'
import { type Permission, permissionOf, person, ruleRefusal } from '../../auth/policy.ts'
import { agents } from '../agents/table.ts'
import { organizations } from '../organizations/table.ts'
import type { McpToken, tokenActions } from './schema.ts'
import { mcpTokens } from './table.ts'

/** The columns of an MCP token in responses, and those that other fields are computed from. */
export const tokenColumns = {
  id: mcpTokens.id,
  createdAt: mcpTokens.createdAt,
  updatedAt: mcpTokens.updatedAt,
  version: mcpTokens.version,
  name: mcpTokens.name,
  scopes: mcpTokens.scopes,
  prefix: mcpTokens.prefix,
  last4: mcpTokens.last4,
  lastUsedAt: mcpTokens.lastUsedAt,
  expiresAt: mcpTokens.expiresAt,
  revokedAt: mcpTokens.revokedAt,
  organizationId: mcpTokens.organizationId,
  kind: mcpTokens.kind,
  toolsets: mcpTokens.toolsets,
  projects: mcpTokens.projects,
  projectId: mcpTokens.projectId,
  agentId: mcpTokens.agentId,
  agentName: sql<string | null>`(select ${agents.name} from ${agents} where ${agents.id} = ${mcpTokens.agentId})`,
  lastUsedIp: mcpTokens.lastUsedIp,
  useCount: mcpTokens.useCount,
  firstUsedAt: mcpTokens.firstUsedAt,
  clientName: mcpTokens.clientName,
  clientVersion: mcpTokens.clientVersion,
  /** A sandbox has no members: the role in its parent organization applies. */
  memberOf: sql<string>`(select coalesce(${organizations.sandboxOf}, ${organizations.id}) from ${organizations}
    where ${eq(organizations.id, mcpTokens.organizationId)})`,
}

type Row = Omit<McpToken, 'client' | 'tools' | 'defaultProject'> & {
  clientName: string | null
  clientVersion: string | null
  memberOf: string
}

/** Adds uses that are not stored yet, and the tools that the token lists now. */
export function toToken({ app, actor }: Ctx, { clientName, clientVersion, memberOf, ...token }: Row): McpToken {
  const recent = app.auth.unwrittenUses(token.id)
  return {
    ...token,
    defaultProject: token.projectId,
    ...(recent && { lastUsedAt: recent.at, useCount: token.useCount + recent.count }),
    client: clientName === null ? null : { name: clientName, version: clientVersion },
    tools: app.toolCosts.forActor(bearerOf(actor, { ...token, memberOf })),
  }
}

/** Returns the actor of the token, as far as lists of tools depend on it. */
function bearerOf(
  actor: Actor,
  {
    scopes,
    toolsets,
    organizationId,
    projects,
    memberOf,
  }: Pick<Row, 'scopes' | 'toolsets' | 'organizationId' | 'projects' | 'memberOf'>,
): Actor {
  const role = actor.memberships.get(memberOf)
  return {
    ...actor,
    kind: 'mcp_token',
    session: undefined,
    organizationId,
    memberships: new Map(role ? [[organizationId, role]] : []),
    scopes,
    toolsets,
    ...(projects && { projects }),
  }
}

export function tokenPermissions({ actor, app }: Ctx): Record<(typeof tokenActions)[number], Permission> {
  return {
    create: permissionOf(ruleRefusal(actor, person, 'Creating a token', app.clock)),
    revoke: permissionOf(ruleRefusal(actor, person, 'Revoking a token', app.clock)),
  }
}
