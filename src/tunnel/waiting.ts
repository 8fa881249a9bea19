import { resets } from './frames.ts'
import type { Stream } from './stream.ts'

/** Milliseconds between two looks at the requests that wait. */
const LOOK_MS = 250

interface Waiting {
  readonly stream: Stream
  readonly until: number
  /** The request whose client may leave; undefined once that is watched. */
  request: Request | undefined
}

const waiting = new Set<Waiting>()
let timer: Timer | undefined

/** Resets the stream when the client of the request leaves, also if it has left while the stream was being opened. */
export function cancelWith({ signal }: Request, stream: Stream): void {
  signal.addEventListener('abort', () => stream.reset(resets.cancelled), { once: true })
  if (signal.aborted) stream.reset(resets.cancelled)
}

/**
 * Waits for the head of a response, for at most this many milliseconds, and as long as the client does. One timer looks
 * after all requests, because a timer and a signal for each cost more than most requests need to pass.
 */
export async function responseOf(stream: Stream, most: number, request?: Request) {
  const entry: Waiting = { stream, until: performance.now() + most, request }
  waiting.add(entry)
  timer ??= setInterval(look, LOOK_MS).unref()
  try {
    return await stream.response()
  } finally {
    waiting.delete(entry)
  }
}

function look(): void {
  const now = performance.now()
  for (const entry of waiting) {
    if (now >= entry.until) entry.stream.reset(resets.timeout)
    if (entry.request) cancelWith(entry.request, entry.stream)
    entry.request = undefined
  }
  if (waiting.size > 0) return
  clearInterval(timer)
  timer = undefined
}
