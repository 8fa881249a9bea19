import { eq } from 'drizzle-orm'
import type { Actor } from '../../auth/actor.ts'
import { ruleRefusal } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { watchable } from '../../live-hooks.ts'
import { governsTunnel } from './access.ts'
import { visibleTo } from './rows.ts'
import { tunnelWatchRule } from './rules.ts'
import { tunnelActions, tunnels } from './table.ts'

/** The owner and administrators can watch a tunnel; its caller can also watch an action. */
export const watchTunnels = watchable.handle(async ({ app, db }, { actor, ids }) => {
  if (ruleRefusal(actor, tunnelWatchRule, 'Watching a tunnel', app.clock)) return []
  const wanted = idList(ids)
  const rows = await db
    .select({
      id: tunnels.id,
      ownerId: tunnels.ownerId,
      organizationId: tunnels.organizationId,
      actionId: tunnelActions.id,
      callerId: tunnelActions.callerId,
    })
    .from(tunnels)
    .leftJoin(tunnelActions, and(eq(tunnelActions.tunnelId, tunnels.id), anyOf(tunnelActions.id, wanted)))
    .where(and(visibleTo(actor), or(anyOf(tunnels.id, wanted), anyOf(tunnelActions.id, wanted))))
  return rows.flatMap((row) => {
    const isGoverned = governsTunnel({ actor }, row)
    const isOwn = row.callerId !== null && row.callerId === actor.userId && isMember(actor, row.organizationId)
    return [...(isGoverned ? [row.id] : []), ...(row.actionId && (isGoverned || isOwn) ? [row.actionId] : [])]
  })
})

const isMember = ({ memberships }: Actor, organizationId: string): boolean =>
  (memberships.get(organizationId) ?? 'viewer') !== 'viewer'
