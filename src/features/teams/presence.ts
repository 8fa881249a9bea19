import { sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { byRow } from '../../auth/policy.ts'
import { idList, toIso } from '../../db/columns.ts'
import { oauthGrants } from '../grants/table.ts'
import { listMembers } from '../organizations/members.ts'
import type { MemberQuery } from '../organizations/schema.ts'
import { apiKeys, mcpTokens } from '../tokens/table.ts'
import { loginSessions } from '../users/table.ts'
import type { PresencePage } from './schema.ts'

const ONLINE_MS = 2 * 60_000
const AWAY_MS = 15 * 60_000

interface LastSeen {
  at: string
  /** MCP tokens that were used in the last two minutes. */
  agents: Set<string>
}

/**
 * Returns which members are online, by the last use of their credentials. Ignores credentials that are bound to another
 * team, and impersonation.
 */
export const getPresence = read(
  'teams.presence',
  byRow('organizations:read'),
  async (ctx, { id, ...query }: MemberQuery & { id: string }): Promise<PresencePage> => {
    const { can: _, gives: __, ...page } = await listMembers(ctx, { ...query, id })
    const now = Date.parse(ctx.now)
    const online = (at: string) => now - Date.parse(at) <= ONLINE_MS
    const seen = await readLastSeen(
      ctx,
      id,
      idList(page.items.map((m) => m.id)),
      new Date(now - ONLINE_MS).toISOString(),
    )
    for (const { actor, at } of ctx.app.auth.unwritten()) {
      if (!actor.userId || actor.session?.impersonatorId || (actor.bound && actor.organizationId !== id)) continue
      const known = seen.get(actor.userId) ?? { at, agents: new Set() }
      if (at > known.at) known.at = at
      if (actor.kind === 'mcp_token' && online(at)) known.agents.add(actor.credentialId as string)
      seen.set(actor.userId, known)
    }
    return {
      ...page,
      here: await ctx.app.live.presence.listPresent(id),
      items: page.items.map(({ id: userId, name, handle, avatarUrl, role }) => {
        const { at = null, agents } = seen.get(userId) ?? {}
        const status = !at || now - Date.parse(at) > AWAY_MS ? 'offline' : online(at) ? 'online' : 'away'
        return { id: userId, name, handle, avatarUrl, role, status, lastSeenAt: at, agents: agents?.size ?? 0 }
      }),
    }
  },
)

async function readLastSeen(ctx: Ctx, id: string, people: string, since: string): Promise<Map<string, LastSeen>> {
  const { rows } = await ctx.db.execute<{ user_id: string; at: string | Date; agents: string | null }>(sql`
    select user_id, max(at) as at, string_agg(token::text, ',') filter (where at >= ${since}::timestamptz) as agents
    from (
      select user_id, last_seen_at as at, null::uuid as token from ${loginSessions}
        where user_id = any(${people}::uuid[]) and impersonator_id is null
      union all select user_id, last_used_at, null from ${apiKeys}
        where user_id = any(${people}::uuid[]) and last_used_at is not null
          and (organization_id is null or organization_id = ${id})
      union all select user_id, last_used_at, id from ${mcpTokens}
        where user_id = any(${people}::uuid[]) and last_used_at is not null and organization_id = ${id}
      union all select user_id, last_used_at, id from ${oauthGrants}
        where user_id = any(${people}::uuid[]) and last_used_at is not null and organization_id = ${id}
    ) uses group by user_id`)
  return new Map(rows.map((r) => [r.user_id, { at: toIso(r.at), agents: new Set(r.agents?.split(',')) }]))
}
