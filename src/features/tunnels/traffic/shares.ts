import { networkOf } from '../../../auth/limits.ts'
import type { RequestHead } from '../../../tunnel/frames.ts'
import type { TunnelSession } from '../../../tunnel/session.ts'

/** How many of a machine's 128 streams some callers may hold at once, so that others can still reach it. */
export const streamShares = {
  /** One member of the team. */
  user: 96,
  /** One network of visitors: an IPv4 address, or an IPv6 /64. */
  network: 32,
  /** All visitors together. The rest is for members. */
  visitors: 96,
} as const

const VISITOR = 'network '

/**
 * Returns the holder of a stream: a member of the team, or the network of a visitor. The listener wrote the address
 * into the head, so the same visitor counts once on every instance.
 */
export function holderOf({ user, headers }: Pick<RequestHead, 'user' | 'headers'>): string {
  if (user) return `user ${user.id}`
  return VISITOR + networkOf(headers.find(([name]) => name === 'x-forwarded-for')?.[1] ?? null)
}

/** Returns whether a caller holds the maximum of streams. */
export function isShareTaken(session: TunnelSession, holder: string): boolean {
  const isVisitor = holder.startsWith(VISITOR)
  const own = session.streamsOf((other) => other === holder)
  if (own >= (isVisitor ? streamShares.network : streamShares.user)) return true
  return isVisitor && session.streamsOf((other) => other.startsWith(VISITOR)) >= streamShares.visitors
}
