import { AppError, type CodeFamily, familyOf } from '../../src/errors.ts'
import type { LiveEvent } from '../../src/features/hub/schema.ts'
import type { Notice } from '../../src/live/messages.ts'
import type { Client } from './client.ts'
import { signedOutError } from './profiles.ts'
import { withQuery } from './reference.ts'

/** A message of the server: an event, which has no `op`, or a notice. */
export type Message = (LiveEvent & { op?: undefined }) | Notice | { op: 'close'; code: number; reason: string }

interface FollowOptions {
  /** Keep trying even if the first connection fails. */
  patient?: true
  /** Called when a connection was lost and another will be tried. */
  onLost?: () => void
}

/** The server sends something every 15 seconds; without it the connection is dead. */
const SILENCE_MS = 60_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

/**
 * Yields the messages of the topics until the signal fires. Reconnects after a lost connection and continues at the
 * last cursor, so that no event is missed or repeated. Throws when another attempt cannot help.
 */
export async function* followEvents(
  client: Client,
  topics: readonly string[],
  signal: AbortSignal,
  { patient, onLost }: FollowOptions = {},
): AsyncGenerator<Message> {
  let cursor: string | undefined
  let failures = 0
  let isConnected = patient === true
  while (!signal.aborted) {
    try {
      for await (const message of readConnection(client, topics, cursor, signal)) {
        isConnected = true
        failures = 0
        cursor = cursorAfter(message, cursor)
        yield message
      }
    } catch (error) {
      if (signal.aborted) return
      if (!isConnected || isFinal(error)) throw error
    }
    if (failures === 0 && !signal.aborted) onLost?.()
    await sleepUnless(Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures++), signal)
  }
}

/** Returns the cursor to continue from. The cursors of other notices could skip events that have not arrived yet. */
function cursorAfter(message: Message, before: string | undefined): string | undefined {
  switch (message.op) {
    case undefined:
    case 'ready':
    case 'reset':
    case 'tick':
      return message.cursor
    case 'subscribed':
      return before ?? message.cursor
    default:
      return before
  }
}

const finalCodes: ReadonlySet<CodeFamily> = new Set(['unauthenticated', 'forbidden', 'not_found', 'invalid'] as const)
const isFinal = (error: unknown): boolean => error instanceof AppError && finalCodes.has(familyOf(error.code))

/** Yields the messages of one connection. */
async function* readConnection(
  client: Client,
  topics: readonly string[],
  cursor: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Message> {
  const ended = new AbortController()
  const path = withQuery('/api/events', { topics: topics.join(',') || undefined, cursor })
  let silence: Timer | undefined
  const heard = () => {
    clearTimeout(silence)
    silence = setTimeout(() => ended.abort(), SILENCE_MS)
  }
  try {
    heard()
    const stream = await client.open(path, 'text/event-stream', AbortSignal.any([signal, ended.signal]))
    for await (const message of messagesIn(stream, heard)) {
      if (message.op === 'close') throw closeError(client, message)
      yield message
    }
  } finally {
    clearTimeout(silence)
    ended.abort()
  }
}

function closeError({ server }: Client, { code, reason }: { code: number; reason: string }): AppError {
  if (code === 4401) return signedOutError(server)
  return new AppError(code === 4403 ? 'forbidden' : 'unavailable', `${reason}.`)
}

/** Parses server-sent events. */
async function* messagesIn(stream: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<Message> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of stream) {
    heard()
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (data !== undefined) yield JSON.parse(data) as Message
    }
  }
}

/** Returns a signal that fires on SIGINT (Ctrl-C) and SIGTERM. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  return stop.signal
}

/** Resolves after this time, or when the signal fires. */
export const sleepUnless = (ms: number, signal: AbortSignal): Promise<void> =>
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
