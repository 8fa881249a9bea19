import { AppError } from '../errors.ts'

/** Limits per credential, because every open connection costs memory. */
const CONNECTIONS_AT_ONCE = 10
const WATCHED_AT_ONCE = 100
/** Bytes that may wait for a client. A client that reads too slowly is disconnected, to free the memory. */
export const MOST_QUEUED_BYTES = 1 << 20

/** Limits of the hub, which `hello` contains. */
export const hubLimits = {
  /** Bytes of a message from a client. */
  message: 64 << 10,
  /** Messages of a client per second, on average and at once. */
  perSecond: 20,
  burst: 60,
  topics: 100,
  /** Bytes of a member's `state`. */
  state: 1024,
  socketsPerCredential: 20,
  sockets: 20_000,
  /** Events and hours that can be replayed. */
  replayEvents: 10_000,
  replayHours: 24,
  /** People and agents listed per topic. */
  present: 500,
} as const

/** `taken`: the credential of every connection, open or being set up. */
export function requireStreamSlot(taken: readonly string[], credentialId: string): void {
  const open = taken.filter((id) => id === credentialId).length
  if (open >= CONNECTIONS_AT_ONCE)
    throw new AppError('rate_limited', `This token already has ${open} open streams, the maximum. Close one first.`, {
      retryAfter: 5,
    })
}

export function requireWatchSlot(watched: number): void {
  if (watched >= WATCHED_AT_ONCE)
    throw new AppError(
      'rate_limited',
      `This stream already watches ${WATCHED_AT_ONCE} resources, the maximum. Unsubscribe from one first.`,
    )
}
