import { eq, gte, sql } from 'drizzle-orm'
import { checkVersion, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { permissionOf, ruleRefusal, throwIfRefused } from '../../auth/policy.ts'
import { hasAll } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { daysAfter } from '../../records/days.ts'
import { keyset } from '../../records/page.ts'
import { changeTunnel } from './change-tunnel.ts'
import { tunnelDeleted } from './events.ts'
import { changeRefusal, findTunnel, selectTunnels, stateOf, toTunnel, tunnelEvent, visibleTo } from './rows.ts'
import { tunnelActRule, tunnelReadRule, tunnelWriteRule } from './rules.ts'
import type { Tunnel, TunnelPage, TunnelPatch, TunnelQuery, TunnelStatus } from './schema.ts'
import { tunnelHours, tunnelSessions, tunnels } from './table.ts'

const orders = { name: tunnels.name, updatedAt: tunnels.updatedAt, createdAt: tunnels.createdAt }

export const list = read('tunnels.list', tunnelReadRule, async (ctx, query: TunnelQuery): Promise<TunnelPage> => {
  const page = keyset(orders, tunnels.id, query, { sort: 'name', order: 'asc' })
  const filters = and(
    visibleTo(ctx.actor),
    eq(tunnels.organizationId, currentOrganization(ctx.actor)),
    hasAll(tunnels.labels, query.label),
  )
  const rows = await selectTunnels(ctx)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const total = query.total ? await ctx.db.$count(tunnels, filters) : undefined
  const register = permissionOf(ruleRefusal(ctx.actor, tunnelActRule, 'Registering a tunnel', ctx.app.clock))
  return {
    ...page.page(
      rows.map((row) => toTunnel(ctx, row)),
      total,
    ),
    can: { register },
  }
})

export const get = read(
  'tunnels.get',
  tunnelReadRule,
  async (ctx, { ref }: { ref: string }): Promise<Tunnel> => toTunnel(ctx, await findTunnel(ctx, ref)),
)

export const update = write(
  'tunnels.update',
  tunnelWriteRule,
  async (ctx, { ref, ...patch }: TunnelPatch & { ref: string }): Promise<Tunnel> => {
    const before = await findTunnel(ctx, ref)
    throwIfRefused(changeRefusal(ctx, before))
    checkVersion(ctx, before)
    const after = await changeTunnel(ctx, before, patch)
    return toTunnel(ctx, after)
  },
  { versioned: true },
)

/** Deletes a tunnel. Its credential stops working, so its machine is disconnected at once. */
export const remove = write(
  'tunnels.remove',
  tunnelWriteRule,
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const tunnel = await findTunnel(ctx, ref)
    throwIfRefused(changeRefusal(ctx, tunnel))
    checkVersion(ctx, tunnel)
    await ctx.db.update(tunnels).set({ deletedAt: ctx.now, claimHash: null }).where(eq(tunnels.id, tunnel.id))
    ctx.emit(tunnelDeleted, tunnelEvent(tunnel, { userId: tunnel.ownerId }))
    return { id: tunnel.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

export const status = read(
  'tunnels.status',
  tunnelReadRule,
  async (ctx, { ref }: { ref: string }): Promise<TunnelStatus> => {
    const tunnel = await findTunnel(ctx, ref)
    const [session] = await ctx.db.select().from(tunnelSessions).where(eq(tunnelSessions.tunnelId, tunnel.id))
    const dayAgo = daysAfter(ctx.now, -1)
    const [traffic] = await ctx.db
      .select({
        requests: sql<number>`coalesce(sum(${tunnelHours.requests}), 0)::float8`,
        bytes: sql<number>`coalesce(sum(${tunnelHours.bytes}), 0)::float8`,
      })
      .from(tunnelHours)
      .where(and(eq(tunnelHours.tunnelId, tunnel.id), gte(tunnelHours.hour, dayAgo)))
    const here = ctx.app.tunnels.get(tunnel.id)
    return {
      id: tunnel.id,
      status: stateOf(tunnel, ctx.now),
      since: session?.since ?? null,
      generation: session?.generation ?? 0,
      instance: session?.online ? session.instanceId : null,
      rttMs: session?.rttMs == null ? null : Math.round(session.rttMs),
      streams: here?.session.streams ?? null,
      services: session?.services ?? [],
      requests: (traffic?.requests ?? 0) + (here?.traffic.requests ?? 0),
      bytes: (traffic?.bytes ?? 0) + (here?.traffic.bytes ?? 0),
    }
  },
)
