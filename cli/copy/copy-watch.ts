import { hubLimits } from '../../src/live/limits.ts'
import type { Client } from '../api/client.ts'
import { followEvents, sleepUnless } from '../api/events.ts'
import type { Copy } from './copy.ts'

/** Polling interval for a server that sends no events. */
const POLL_MS = 30_000
/** How often to look for changes that other commands have queued. */
const LOOK_MS = 1000
/** Pause after a change, because changes often come together. */
const SETTLE_MS = 200

/** Yields whenever there may be something to send or to receive, until the signal fires. */
export async function* watchCopy(client: Client, copy: Copy, stop: AbortSignal): AsyncGenerator<void> {
  let heard = false
  let lastPoll = Date.now()
  const hear = () => {
    heard = true
  }
  const listening = listenForEvents(client, copy, hear, stop)
  while (!stop.aborted) {
    await sleepUnless(LOOK_MS, stop)
    if (copy.queue('new').length === 0 && !heard && Date.now() - lastPoll < POLL_MS) continue
    await sleepUnless(SETTLE_MS, stop)
    if (stop.aborted) break
    heard = false
    lastPoll = Date.now()
    yield
  }
  await listening
}

/** Calls `heard` for each message about the containers of the copy. Without a stream of events, polling remains. */
async function listenForEvents(client: Client, copy: Copy, heard: () => void, signal: AbortSignal): Promise<void> {
  const topics = copy.containers.filter((name) => /^(organization|project):/.test(name)).slice(0, hubLimits.topics)
  try {
    for await (const { op } of followEvents(client, topics, signal, { patient: true })) if (op !== 'tick') heard()
  } catch {
    // The credential may not subscribe. The next exchange reports it if it may not read either.
  }
}
