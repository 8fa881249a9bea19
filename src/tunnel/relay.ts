import { frameFlags, resetCodes } from './frames.ts'
import { type Stream, StreamReset } from './stream.ts'

/** Copies the request of one stream to another, and the response back. */
export function relayStreams(from: Stream, to: Stream): void {
  // The client may disconnect while the machine sends nothing, for example during a stream of events.
  from.onClosed = () => {
    if (from.failure) to.reset(resetCodes.cancelled)
  }
  void pump(from, to)
  void respond(from, to)
}

async function respond(from: Stream, to: Stream): Promise<void> {
  try {
    const head = await to.response()
    const isEventStream = head.headers.some(
      ([name, value]) => name.toLowerCase() === 'content-type' && value.startsWith('text/event-stream'),
    )
    if (isEventStream || from.request.kind !== 'http') for (const one of [from, to]) one.isIdleLimited = false
    from.respond(head)
  } catch (error) {
    from.reset(codeOf(error))
    return
  }
  await pump(to, from)
}

/** Writes wait for credit, so at most one window is held in memory. */
async function pump(from: Stream, to: Stream): Promise<void> {
  try {
    for (let chunk = await from.read(); chunk; chunk = await from.read()) {
      if (chunk.flags & frameFlags.end) return to.end(chunk.bytes, chunk.flags)
      await to.write(chunk.bytes, chunk.flags)
    }
    to.end()
  } catch (error) {
    to.reset(codeOf(error))
    from.reset(codeOf(error))
  }
}

const codeOf = (error: unknown) => (error instanceof StreamReset ? error.code : resetCodes.local)
