import type { AppEvent } from '../../events/event.ts'
import type { App } from '../../services.ts'
import { openRemoteStream } from '../../tunnel/instance-dial.ts'
import { startTunnelListener } from '../../tunnel/listener.ts'
import { tunnelAddressOf } from '../../tunnel/tunnel-address.ts'
import { Dispatcher, expireActions } from './actions/dispatch.ts'
import { tunnelDeleted, tunnelOnline, tunnelUpdated } from './events.ts'
import { actorOf, endConnection } from './machine-connection.ts'
import { retryWork } from './retrying.ts'
import { expireIfAny, factsOf, writeTraffic } from './serving.ts'
import { createGate } from './traffic/gateway.ts'
import { OpenStreams } from './traffic/open-streams.ts'

const TICK_MS = 5000
/** Number of ticks between two rounds of maintenance. */
const SELDOM = 4

/** Runs the background work of tunnels: the listener, and the end of connections that lost their rights. */
export function serveTunnels(app: App): () => Promise<void> {
  const listener = startListener(app)
  app.tunnels.openRemotely = openRemoteStream
  const streams = OpenStreams.of(app)
  const unwatch = app.auth.watch((concerns) => {
    streams.rightsChanged(concerns)
    for (const connection of app.tunnels.all) if (concerns(actorOf(connection))) void recheckCredential(app, connection)
  })
  // Also counts streams to machines of other instances: they also end when their caller loses access.
  const leave = app.bus.pollWhile(() => app.tunnels.size > 0 || streams.size > 0)
  const unsubscribe = app.bus.subscribe((event) => {
    Dispatcher.of(app).onEvent(event)
    const { type, subjectId } = event
    const isChange = type === tunnelUpdated.name || type === tunnelDeleted.name
    if (isChange && subjectId !== null) streams.tunnelChanged(subjectId)
    onEvent(app, event).catch((error: unknown) => app.log.warn('a change of a tunnel was not applied', { error }))
  })
  let ticks = 0
  const timer = setInterval(() => {
    for (const { session } of app.tunnels.all) session.tick()
    if (++ticks % SELDOM === 0) void maintainTunnels(app)
  }, TICK_MS).unref()
  return async () => {
    clearInterval(timer)
    unwatch()
    leave()
    unsubscribe()
    for (const connection of [...app.tunnels.all]) endConnection(connection, 'drain')
    await writeTraffic(app).catch(() => undefined)
    await listener?.stop()
  }
}

async function maintainTunnels(app: App): Promise<void> {
  // Covers a lost event: a queued action would otherwise wait until it expires.
  for (const { facts } of app.tunnels.all) Dispatcher.of(app).wake(facts.id)
  try {
    await writeTraffic(app)
    await expireIfAny(app)
    await expireActions(app)
  } catch (error) {
    app.log.debug('tunnel maintenance failed', { error })
  }
}

/** The API's port serves no tunnels, so without TUNNEL_PORT services cannot be opened. */
function startListener(app: App) {
  const { TUNNEL_PORT, TUNNEL_PROXY_PORT, TUNNEL_DOMAIN, HOST, APP_URL } = app.config
  if (TUNNEL_PORT === undefined) return undefined
  const domain = TUNNEL_DOMAIN ?? 'localhost'
  const byPath = TUNNEL_DOMAIN === undefined
  const listener = startTunnelListener({ host: HOST, port: TUNNEL_PORT, domain, byPath }, createGate(app))
  const isSecure = TUNNEL_DOMAIN !== undefined && APP_URL?.startsWith('https:')
  const port = TUNNEL_PROXY_PORT ?? (isSecure ? 443 : listener.port)
  app.tunnels.listenerPort = listener.port
  app.tunnels.activeRequests = listener.activeRequests
  app.tunnels.originOf = (hostname) => new URL(`${isSecure ? 'https' : 'http'}://${hostname}:${port}`).origin
  app.tunnels.addressOf = (slug, service) => app.tunnels.originOf(`${service}--${slug}.${domain}`)
  app.tunnels.tunnelAddressOf = (request) => tunnelAddressOf(request, domain, byPath)
  return listener
}

type HeldConnection = Parameters<typeof endConnection>[0]

async function recheckCredential(app: App, connection: HeldConnection): Promise<void> {
  const renewed = await app.auth.renew(actorOf(connection)).catch(() => undefined)
  if (renewed && 'ended' in renewed) endConnection(connection, 'revoked')
}

async function onEvent(app: App, { type, subjectId, data }: AppEvent): Promise<void> {
  const connection = subjectId === null ? undefined : app.tunnels.get(subjectId)
  if (!connection) return
  // The machine has connected again, maybe to another process.
  if (type === tunnelOnline.name && Number(data.generation) > connection.generation) {
    // A machine that was asked to move has done so: its old connection may end.
    if (app.tunnels.isDraining) app.tunnels.retire(connection, () => endConnection(connection, 'replaced'))
    else endConnection(connection, 'replaced')
  }
  if (type !== tunnelUpdated.name) return
  const facts = await retryWork(() => factsOf(app, connection.facts.id))
  if (facts) app.tunnels.updateFacts(connection, facts)
  // Sends the actions that waited while the tunnel was paused.
  Dispatcher.of(app).wake(connection.facts.id)
}
