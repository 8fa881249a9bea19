/** The first waits after a connection was lost: a server that restarts is back within a second or two. */
const FIRST_MS = [250, 500, 1000]
/** How long a visible page tries about every second. */
const EAGER_FOR_MS = 120_000
const EAGER_MS = 1000
const LONGEST_MS = 15_000

interface Outage {
  /** Attempts that failed since the connection was lost. */
  failures: number
  /** How long ago it was lost. */
  ms: number
  isVisible: boolean
}

/** Returns how long to wait before the next attempt. The jitter spreads the pages of a server that restarts. */
export function reconnectDelay({ failures, ms, isVisible }: Outage, random = Math.random): number {
  const first = FIRST_MS[failures]
  if (first !== undefined) return first / 2 + random() * (first / 2)
  const eager = isVisible && ms < EAGER_FOR_MS
  if (eager) return EAGER_MS / 2 + random() * EAGER_MS
  return random() * Math.min(LONGEST_MS, 1000 * 2 ** (failures - FIRST_MS.length + 1))
}
