import { and, eq, gt, isNotNull, ne } from 'drizzle-orm'
import { deriveKey } from '../../auth/secrets.ts'
import type { App } from '../../services.ts'
import { type Dialer, MachineUnreachable } from '../../tunnel/connected-tunnels.ts'
import type { MachineOffer, RequestHead } from '../../tunnel/frames.ts'
import { signHandover } from '../../tunnel/handover.ts'
import type { Stream } from '../../tunnel/stream.ts'
import { tunnelSessions } from './table.ts'

/** The key with which instances sign requests to each other. */
export const handoverKey = ({ secret }: Pick<App, 'secret'>): Buffer => deriveKey(secret, 'tunnel-forward')

/** The path at which another instance accepts requests for the machine of a tunnel. */
export const handoverPath = (tunnelId: string): string => `/internal/tunnels/${tunnelId}`

/** A dialer that opens streams to a machine, with the machine's offer. */
export interface FoundMachine {
  dialer: Dialer
  offer: MachineOffer
}

/** Returns the dialer of a tunnel's machine: its connection here, or the instance that has the connection. */
export async function dialerFor(app: App, tunnelId: string): Promise<FoundMachine | undefined> {
  const here = app.tunnels.get(tunnelId)
  if (here) return { dialer: here, offer: here.offer }
  const there = await findOtherInstance(app, tunnelId)
  if (!there) {
    // It may have connected to this instance meanwhile.
    const now = await app.tunnels.whenConnected(tunnelId)
    return now && { dialer: now, offer: now.offer }
  }
  const dialer: Dialer = {
    open: (head, hasBody) => openElsewhere(app, tunnelId, there, head, hasBody),
    // The instance with the connection counts the traffic.
    traffic: { requests: 0, bytes: 0 },
  }
  return { dialer, offer: { ...there.offer, services: there.services } }
}

type Elsewhere = NonNullable<Awaited<ReturnType<typeof findOtherInstance>>>

/** Returns the other instance that the machine is connected to. */
async function findOtherInstance({ db, clock, instanceId }: App, tunnelId: string) {
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
    if (!(error instanceof MachineUnreachable)) throw error
    const here = await app.tunnels.whenConnected(tunnelId)
    if (here) return here.open(head, hasBody)
    const now = await findOtherInstance(app, tunnelId)
    if (!now || now.generation === there.generation) throw error
    return handOver(app, now, head, hasBody)
  }
}

function handOver(app: App, { tunnelId, generation, instanceUrl }: Elsewhere, head: RequestHead, hasBody: boolean) {
  const signature = signHandover(handoverKey(app), tunnelId, generation, head, app.clock().getTime())
  return app.tunnels.openRemotely(`${instanceUrl}${handoverPath(tunnelId)}`, signature, head, hasBody)
}
