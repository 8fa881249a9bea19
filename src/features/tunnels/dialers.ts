import { and, eq, gt, isNotNull, ne } from 'drizzle-orm'
import { deriveKey } from '../../auth/secrets.ts'
import type { App } from '../../services.ts'
import type { Offer, RequestHead } from '../../tunnel/frames.ts'
import { sign } from '../../tunnel/handover.ts'
import type { Stream } from '../../tunnel/stream.ts'
import { type Dialer, Unreachable } from '../../tunnel/switchboard.ts'
import { tunnelSessions } from './table.ts'

/** The key with which instances sign requests to each other. */
export const handoverKey = ({ secret }: Pick<App, 'secret'>): Buffer => deriveKey(secret, 'tunnel-forward')

/** The path at which another instance accepts requests for the machine of a tunnel. */
export const handoverPath = (tunnelId: string): string => `/internal/tunnels/${tunnelId}`

/** A dialer that opens streams to a machine, with the machine's offer. */
export interface Found {
  dialer: Dialer
  offer: Offer
}

/** Returns the dialer of a tunnel's machine: its connection here, or the instance that has the connection. */
export async function dialerFor(app: App, tunnelId: string): Promise<Found | undefined> {
  const here = app.tunnels.of(tunnelId)
  if (here) return { dialer: here, offer: here.offer }
  const there = await elsewhere(app, tunnelId)
  if (!there) {
    // It may have connected to this instance meanwhile.
    const now = await app.tunnels.soon(tunnelId)
    return now && { dialer: now, offer: now.offer }
  }
  const dialer: Dialer = {
    open: (head, hasBody) => openElsewhere(app, tunnelId, there, head, hasBody),
    // The instance with the connection counts the traffic.
    traffic: { requests: 0, bytes: 0 },
  }
  return { dialer, offer: { ...there.offer, services: there.services } }
}

type Elsewhere = NonNullable<Awaited<ReturnType<typeof elsewhere>>>

/** Returns the other instance that the machine is connected to. */
async function elsewhere({ db, clock, instanceId }: App, tunnelId: string) {
  const [session] = await db
    .select()
    .from(tunnelSessions)
    .where(
      and(
        eq(tunnelSessions.tunnelId, tunnelId),
        eq(tunnelSessions.online, true),
        gt(tunnelSessions.leaseUntil, clock().toISOString()),
        ne(tunnelSessions.instanceId, instanceId),
        isNotNull(tunnelSessions.instanceUrl),
      ),
    )
  return session
}

/** A request is forwarded once: the receiving instance has the machine, or refuses. */
async function openElsewhere(
  app: App,
  tunnelId: string,
  there: Elsewhere,
  head: RequestHead,
  hasBody: boolean,
): Promise<Stream> {
  try {
    return await handOver(app, there, head, hasBody)
  } catch (error) {
    // The machine may have connected to another instance meanwhile. No part of the request has been sent yet.
    if (!(error instanceof Unreachable)) throw error
    const here = await app.tunnels.soon(tunnelId)
    if (here) return here.open(head, hasBody)
    const now = await elsewhere(app, tunnelId)
    if (!now || now.generation === there.generation) throw error
    return handOver(app, now, head, hasBody)
  }
}

function handOver(app: App, { tunnelId, generation, instanceUrl }: Elsewhere, head: RequestHead, hasBody: boolean) {
  const signature = sign(handoverKey(app), tunnelId, generation, head, app.clock().getTime())
  return app.tunnels.openThrough(`${instanceUrl}${handoverPath(tunnelId)}`, signature, head, hasBody)
}
