import type { Goodbye } from './frames.ts'
import type { Stream } from './stream.ts'

export const sessionLimits = {
  streams: 128,
  /** Credit of a new stream. */
  credit: 64 << 10,
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
