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
  /** Milliseconds without a byte after which the other side is asked, and after which it counts as gone. */
  quiet: 15_000,
  gone: 45_000,
} as const

/** How much of its window a stream takes before it gets credit back: little, so that the sender seldom has to wait. */
export const returnedAt = (window: number): number => Math.min(window / 4, MOST_PAYLOAD)

/** What the owner of a session is told. Errors that handlers throw end the session. */
export interface SessionEvents {
  /** A stream was opened by the server. Only on the side of the agent. */
  opened?(stream: Stream): void
  /** A payload of SETTINGS, ACTION or RESULT. */
  settings?(payload: Uint8Array): void
  action?(payload: Uint8Array): void
  result?(payload: Uint8Array): void
  /** The other side will open or accept no more streams. */
  goaway?(goodbye: Goodbye): void
  closed?(reason: string): void
}
