import { availableParallelism, loadavg } from 'node:os'

/**
 * Returns how many milliseconds something may take here and now that takes at most `ms` on a quiet machine: where ten
 * processes share a core, everything takes ten times as long. The load is that of the last minute, so it is counted
 * twice, and five times the time is allowed when a run has just begun.
 */
export const allowing = (ms: number): number =>
  ms * Math.max(5, (2 * (loadavg()[0] as number)) / availableParallelism())
