import type { Client } from '../api/client.ts'
import type { Copy } from './copy.ts'

/** How often to ask a server that does not say when something changes. */
const POLL_MS = 30_000
/** How often to look for changes that other commands have queued. */
const LOOK_MS = 1000
/** Changes often come together. */
const SETTLE_MS = 200

/** Yields whenever there may be something to send or to receive, until the process is told to stop. */
export async function* changesAt(client: Client, copy: Copy): AsyncGenerator<void> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  let heard = false
  let lastPoll = Date.now()
  const hear = () => {
    heard = true
  }
  const listening = listen(client, hear, stop.signal)
  while (!stop.signal.aborted) {
    await pause(LOOK_MS, stop.signal)
    if (copy.queue('new').length === 0 && !heard && Date.now() - lastPoll < POLL_MS) continue
    await pause(SETTLE_MS, stop.signal)
    if (stop.signal.aborted) break
    heard = false
    lastPoll = Date.now()
    yield
  }
  await listening
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })

/** Calls `heard` for each event of the server. Reconnects; where there is no stream of events, polling remains. */
async function listen(client: Client, heard: () => void, signal: AbortSignal): Promise<void> {
  for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, POLL_MS)) {
    const stream = await client.open('/api/events', 'text/event-stream', signal).catch(() => undefined)
    if (stream) {
      wait = 1000
      // What changed while nobody listened.
      heard()
      await read(stream, heard).catch(() => undefined)
    }
    await pause(wait, signal)
  }
}

async function read(stream: ReadableStream<Uint8Array>, heard: () => void): Promise<void> {
  const decoder = new TextDecoder()
  for await (const chunk of stream) if (/^data:/m.test(decoder.decode(chunk, { stream: true }))) heard()
}
