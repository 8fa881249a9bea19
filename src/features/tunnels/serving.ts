import { and, eq, lt, sql } from 'drizzle-orm'
import { type Ctx, contextOf, flow, write } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import { machine, tunnelMachine } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import type { AcceptSocket } from '../../live/socket.ts'
import type { App } from '../../services.ts'
import type { ConnectedTunnel, TunnelFacts } from '../../tunnel/connected-tunnels.ts'
import type { MachineOffer } from '../../tunnel/frames.ts'
import { Dispatcher } from './actions/dispatch.ts'
import { tunnelOffline, tunnelOnline } from './events.ts'
import { MachineConnection } from './machine-connection.ts'
import { addressOf, tunnelEvent } from './rows.ts'
import type { Heartbeat, HeartbeatTaken } from './schema.ts'
import { toStorable } from './storable.ts'
import { tunnelHours, tunnelSessions, tunnels } from './table.ts'

/** Seconds without a heartbeat for which a machine counts as connected. */
const LEASE_SECONDS = 45
const leaseFrom = (now: string): string => new Date(Date.parse(now) + LEASE_SECONDS * 1000).toISOString()

const tunnelIdOf = ({ actor }: Ctx): string => {
  if (!actor.tunnelId) throw new AppError('forbidden', 'Only the machine of a tunnel can do this.')
  return actor.tunnelId
}

export const acceptMachine = flow(
  'tunnels.connect',
  tunnelMachine,
  async (
    ctx,
    { upgrade, isOurs }: { upgrade: (data: { accept: AcceptSocket }) => boolean; isOurs: boolean },
  ): Promise<void> => {
    tunnelIdOf(ctx)
    const reported = (connection: ConnectedTunnel, payload: Uint8Array) =>
      Dispatcher.of(ctx.app).report(connection, payload)
    const accept: AcceptSocket = (socket) =>
      new MachineConnection(ctx, socket, {
        opened: recordConnection,
        closed: recordDisconnection,
        offered: handleOffer,
        reported,
      })
    if (isOurs && upgrade({ accept })) return
    throw new AppError(
      'upgrade_required',
      'This is a WebSocket with the subprotocol tutti-tunnel.v1. Run: tutti tunnel up',
    )
  },
)

/** Numbers a new connection, which makes every earlier one invalid. */
export const recordConnection = write(
  'tunnels.opened',
  tunnelMachine,
  async (ctx): Promise<{ generation: number; facts: TunnelFacts }> => {
    const id = tunnelIdOf(ctx)
    const fields = {
      instanceId: ctx.app.instanceId,
      instanceUrl: ctx.app.config.INSTANCE_URL ?? null,
      since: ctx.now,
      leaseUntil: leaseFrom(ctx.now),
      lastSeenAt: ctx.now,
      online: true,
    }
    const [row] = await ctx.db
      .insert(tunnelSessions)
      .values({ tunnelId: id, generation: 1, services: [], ...fields })
      .onConflictDoUpdate({
        target: tunnelSessions.tunnelId,
        set: { ...fields, generation: sql`${tunnelSessions.generation} + 1` },
      })
      .returning({ generation: tunnelSessions.generation })
    const [tunnel] = await ctx.db.select().from(tunnels).where(eq(tunnels.id, id))
    if (!row || !tunnel || tunnel.deletedAt !== null) throw new AppError('unauthenticated', 'This tunnel was deleted.')
    ctx.emit(tunnelOnline, tunnelEvent(tunnel, { generation: row.generation }))
    return { generation: row.generation, facts: tunnel }
  },
)

/** Marks a connection as ended, unless a later one has replaced it. */
const recordDisconnection = write(
  'tunnels.closed',
  machine,
  async (ctx, { facts, generation }: ConnectedTunnel): Promise<void> => {
    const [ended] = await ctx.db
      .update(tunnelSessions)
      .set({ online: false, leaseUntil: ctx.now })
      .where(
        and(
          eq(tunnelSessions.tunnelId, facts.id),
          eq(tunnelSessions.generation, generation),
          eq(tunnelSessions.online, true),
        ),
      )
      .returning({ tunnelId: tunnelSessions.tunnelId })
    if (!ended) return
    const [tunnel] = await ctx.db.select().from(tunnels).where(eq(tunnels.id, facts.id))
    if (tunnel) ctx.emit(tunnelOffline, tunnelEvent(tunnel, { generation }))
  },
)

async function handleOffer({ app }: Ctx, connection: ConnectedTunnel, offer: MachineOffer): Promise<void> {
  await storeOffer(app, { tunnelId: connection.facts.id, generation: connection.generation, offer })
  Dispatcher.of(app).onConnected(connection, offer)
}

interface ConnectionOffer {
  tunnelId: string
  generation: number
  offer: MachineOffer
}

/** Stores the offer of a machine. No audit entry: the machine sends it with each connection. */
export async function storeOffer({ db }: App, { tunnelId, generation, offer }: ConnectionOffer): Promise<void> {
  const { services, commands, mcp, workspaces } = toStorable(offer) as MachineOffer
  await db
    .update(tunnelSessions)
    .set({ services: services.map((service) => ({ ...service, ok: null })), offer: { commands, mcp, workspaces } })
    .where(and(eq(tunnelSessions.tunnelId, tunnelId), eq(tunnelSessions.generation, generation)))
}

/** A flow, because heartbeats every 15 seconds must not leave audit entries. */
export const recordHeartbeat = flow(
  'tunnels.heartbeat',
  tunnelMachine,
  async (ctx, { generation, rttMs, services }: Heartbeat): Promise<HeartbeatTaken> => {
    const mine = and(eq(tunnelSessions.tunnelId, tunnelIdOf(ctx)), eq(tunnelSessions.generation, generation))
    const [session] = await ctx.db
      .select({ services: tunnelSessions.services, slug: tunnels.slug })
      .from(tunnelSessions)
      .innerJoin(tunnels, eq(tunnels.id, tunnelSessions.tunnelId))
      .where(mine)
    const states = new Map(services.map(({ name, ok }) => [name, ok]))
    const leaseUntil = leaseFrom(ctx.now)
    const known = session?.services.map((service) => ({ ...service, ok: states.get(service.name) ?? service.ok }))
    const renewed =
      known &&
      (await ctx.db
        .update(tunnelSessions)
        .set({ leaseUntil, lastSeenAt: ctx.now, rttMs: rttMs ?? null, services: known })
        .where(and(mine, eq(tunnelSessions.online, true)))
        .returning({ tunnelId: tunnelSessions.tunnelId }))
    if (!renewed?.length)
      throw new AppError('conflict', 'This connection was replaced by a later one, or has ended. Connect again.')
    const addresses = services.map(({ name }) => ({ name, url: addressOf(ctx.app, session?.slug ?? '', name) }))
    return { leaseUntil, drain: ctx.app.tunnels.isDraining, services: addresses }
  },
)

/** Marks machines as offline whose server process has died, so that no one renews their lease. */
const expireConnections = write('tunnels.expire', machine, async (ctx): Promise<void> => {
  const ended = await ctx.db
    .update(tunnelSessions)
    .set({ online: false })
    .where(and(eq(tunnelSessions.online, true), lt(tunnelSessions.leaseUntil, ctx.now)))
    .returning({ tunnelId: tunnelSessions.tunnelId, generation: tunnelSessions.generation })
  for (const { tunnelId, generation } of ended) {
    const [tunnel] = await ctx.db.select().from(tunnels).where(eq(tunnels.id, tunnelId))
    if (tunnel) ctx.emit(tunnelOffline, tunnelEvent(tunnel, { generation }))
  }
})

export async function factsOf({ db }: App, id: string): Promise<TunnelFacts | undefined> {
  const [tunnel] = await db.select().from(tunnels).where(eq(tunnels.id, id))
  return tunnel?.deletedAt === null ? tunnel : undefined
}

/** Adds the traffic since the last call to the sums of the hour. */
export async function writeTraffic(app: App): Promise<void> {
  const hour = `${app.clock().toISOString().slice(0, 13)}:00:00.000Z`
  for (const { facts, traffic } of app.tunnels.all) {
    const { requests, bytes } = traffic
    if (requests === 0 && bytes === 0) continue
    traffic.requests = 0
    traffic.bytes = 0
    await app.db
      .insert(tunnelHours)
      .values({ tunnelId: facts.id, hour, requests, bytes })
      .onConflictDoUpdate({
        target: [tunnelHours.tunnelId, tunnelHours.hour],
        set: {
          requests: sql`${tunnelHours.requests} + ${requests}`,
          bytes: sql`${tunnelHours.bytes} + ${bytes}`,
        },
      })
  }
}

const hasExpired = async ({ db, clock }: App): Promise<boolean> =>
  (await db.$count(
    tunnelSessions,
    and(eq(tunnelSessions.online, true), lt(tunnelSessions.leaseUntil, clock().toISOString())),
  )) > 0

/** Marks expired leases. Writes only if there is one, because every write leaves an audit entry. */
export const expireIfAny = async (app: App): Promise<void> => {
  if (await hasExpired(app)) await expireConnections(contextOf(app, system), undefined)
}
