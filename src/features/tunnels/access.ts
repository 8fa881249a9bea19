import type { Ctx } from '../../action.ts'
import { type Refusal, roleRefusal } from '../../auth/policy.ts'
import type { Access } from './schema.ts'

/** What decides who may reach a tunnel's services. */
export interface Reachable {
  organizationId: string
  ownerId: string
  access: Access
  paused: boolean
}

/**
 * Returns why the caller may not reach the services of a tunnel. Viewers may not, because a request can change
 * something on the machine. The machine itself checks each request once more.
 */
export function reachRefusal({ actor, app }: Ctx, tunnel: Reachable): Refusal | undefined {
  if (tunnel.paused) return { code: 'unavailable', detail: 'This tunnel is paused.', details: { retryAfter: 30 } }
  if (tunnel.access === 'public' && app.config.TUNNEL_PUBLIC === 'on') return undefined
  if (tunnel.access === 'private' && actor.userId !== tunnel.ownerId)
    return { code: 'forbidden', detail: 'This tunnel is private: only its owner can reach it.' }
  return roleRefusal(actor, tunnel.organizationId, 'member', 'Reaching a tunnel')
}
