import { type Goodbye, MOST_PAYLOAD } from './frames.ts'
import type { Stream } from './stream.ts'

export const sessionLimits = {
  streams: 128,
  /** Credit of a new stream. */
  credit: 256 << 10,
  /** Credit that one stream can grow to. */
  mostCredit: 2 << 20,
  /** Credit that all streams together can grow by. */
  growth: 8 << 20,
  /** Milliseconds without a byte that end a stream. */
  idle: 300_000,
  /** Milliseconds without a byte until a ping is sent, and until the other side counts as gone. */
  quiet: 15_000,
  gone: 45_000,
} as const

/** Bytes read before credit is returned: a small part of the window, so that the sender seldom has to wait. */
export const creditReturnThreshold = (window: number): number => Math.min(window / 4, MOST_PAYLOAD)

/** Events of a session. An error that a handler throws ends the session. */
export interface SessionEvents {
  /** The server opened a stream. Only called on the agent's side. */
  opened?(stream: Stream): void
  /** A payload of SETTINGS, ACTION or RESULT. */
  settings?(payload: Uint8Array): void
  action?(payload: Uint8Array): void
  result?(payload: Uint8Array): void
  /** The other side will open or accept no more streams. */
  goaway?(goodbye: Goodbye): void
  closed?(reason: string): void
}
