import { AppError } from '../errors.ts'
import type { Connection, Owner } from './connections.ts'

/** What one credential may keep open. Each costs memory for as long as it stays, whatever the protocol. */
const CONNECTIONS_AT_ONCE = 10
const WATCHED_AT_ONCE = 100
/** Bytes. A reader that lets more than this pile up is cut off: memory belongs to those who read. */
export const MOST_QUEUED = 1 << 20

export function requireRoom(connections: Iterable<Connection>, { credentialId }: Owner): void {
  let open = 0
  for (const { owner } of connections) if (owner.credentialId === credentialId) open++
  if (open >= CONNECTIONS_AT_ONCE)
    throw new AppError('rate_limited', `This token has ${open} streams open, the most there may be. Close one first.`, {
      retryAfter: 5,
    })
}

export function requireRoomToWatch(watched: number): void {
  if (watched >= WATCHED_AT_ONCE)
    throw new AppError(
      'rate_limited',
      `This stream watches ${WATCHED_AT_ONCE} resources, the most there may be. Unsubscribe from one first.`,
    )
}
