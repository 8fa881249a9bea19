import type { Ctx } from '../../action.ts'
import { limitRefusal } from '../../auth/limit.ts'
import { type Refusal, roleRefusal, ruleRefusal } from '../../auth/policy.ts'
import { tunnelActRule, tunnelWatchRule } from './rules.ts'
import type { Access } from './schema.ts'

/** The facts that decide who may reach a tunnel's services. */
interface Reachable {
  organizationId: string
  ownerId: string
  access: Access
  paused: boolean
}

/** Returns why the caller has no actions on the machine of a tunnel. `public` applies to services only. */
export const actionsRefusal = (ctx: Ctx, tunnel: Reachable): Refusal | undefined =>
  roleRefusal(ctx.actor, tunnel.organizationId, 'member', 'Running an action') ?? reachRefusal(ctx, tunnel)

/** Returns why the caller may not run actions on the machine of a tunnel. */
export const actRefusal = (ctx: Ctx, tunnel: Reachable): Refusal | undefined =>
  ruleRefusal(ctx.actor, tunnelActRule, 'Running an action', ctx.app.clock) ?? actionsRefusal(ctx, tunnel)

type OwnedTunnel = Pick<Reachable, 'ownerId' | 'organizationId'>

/** Returns whether the caller governs a tunnel: they see all of its history and requests, and may cancel actions. */
export const governsTunnel = ({ actor }: Pick<Ctx, 'actor'>, { ownerId, organizationId }: OwnedTunnel): boolean =>
  (ownerId === actor.userId && actor.memberships.has(organizationId)) ||
  roleRefusal(actor, organizationId, 'admin', '') === undefined

/** Returns why the caller may not see the requests through a tunnel. */
export function watchRefusal(ctx: Ctx, tunnel: OwnedTunnel): Refusal | undefined {
  const refused = ruleRefusal(ctx.actor, tunnelWatchRule, 'Watching a tunnel', ctx.app.clock)
  if (refused || governsTunnel(ctx, tunnel)) return refused
  return { code: 'forbidden', detail: 'Only the owner of a tunnel and administrators can see its requests.' }
}

/**
 * Returns why the caller may not reach the services of a tunnel. Viewers may not, because a request can change the
 * machine. The machine itself checks each request again.
 */
export function reachRefusal({ actor, app }: Pick<Ctx, 'actor' | 'app'>, tunnel: Reachable): Refusal | undefined {
  if (tunnel.paused) return { code: 'unavailable', detail: 'This tunnel is paused.', details: { retryAfter: 30 } }
  if (tunnel.access === 'public' && app.config.TUNNEL_PUBLIC === 'on') return undefined
  if (tunnel.access === 'private' && actor.userId !== tunnel.ownerId)
    return { code: 'forbidden', detail: 'This tunnel is private: only its owner can reach it.' }
  return (
    limitRefusal(actor, null, 'Reaching a tunnel') ??
    roleRefusal(actor, tunnel.organizationId, 'member', 'Reaching a tunnel')
  )
}
