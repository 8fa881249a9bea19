import { MOST_HEAD, type RequestHead, type ResetCode, type ResponseHead, resets, type TunnelUser } from './frames.ts'
import { toClient, toService } from './headers.ts'
import type { Place } from './places.ts'
import { type Stream, StreamReset } from './stream.ts'
import type { Connection } from './switchboard.ts'

export const forwardLimits = {
  /** Bytes of a body. */
  body: 1 << 30,
  /** Milliseconds until a service has to begin its response. */
  firstByte: 60_000,
} as const

/** A request that may pass. */
export interface Admitted {
  connection: Connection
  service: string
  user: TunnelUser | null
}

/** Writes a refusal, as the server writes them elsewhere. */
export type Refuse = (status: number, detail: string) => Response

const failures: Record<ResetCode, [number, string]> = {
  [resets.cancelled]: [502, 'The machine cancelled the request.'],
  [resets.refused]: [403, 'The machine does not allow this.'],
  [resets.tooLarge]: [413, 'The body is larger than 1 GiB.'],
  [resets.timeout]: [504, 'The service did not respond in time.'],
  [resets.local]: [502, 'The service or the connection to its machine failed.'],
  [resets.protocol]: [502, 'The machine sent something that cannot be understood.'],
}

/** Opens a stream for the request; a Response if it cannot be. */
export function openStream(request: Request, place: Place, to: Admitted, client: string | null, refuse: Refuse) {
  const isSocket = isUpgrade(request)
  const head: RequestHead = {
    kind: isSocket ? 'ws' : 'http',
    service: to.service,
    method: request.method,
    target: place.target,
    headers: toService(request, place, to.user, client),
    user: to.user,
  }
  const { session, traffic } = to.connection
  if (!session.isOpen) return refuse(503, 'The machine has too many open requests.')
  try {
    const stream = session.open(head, isSocket || request.body !== null)
    traffic.requests++
    return stream
  } catch (error) {
    if (error instanceof RangeError) return refuse(431, `The headers are larger than ${MOST_HEAD} bytes.`)
    throw error
  }
}

export const isUpgrade = ({ headers }: Request): boolean => headers.get('upgrade')?.toLowerCase() === 'websocket'

/** Resolves with the head of the response, or with why there is none. */
export async function headOf(stream: Stream, refuse: Refuse): Promise<ResponseHead | Response> {
  const timer = setTimeout(() => stream.reset(resets.timeout), forwardLimits.firstByte)
  try {
    return await stream.response()
  } catch (error) {
    if (!(error instanceof StreamReset)) throw error
    return refuse(...failures[error.code])
  } finally {
    clearTimeout(timer)
  }
}

const bodiless = new Set([101, 204, 205, 304])

/** Sends a request through a tunnel and returns the response as it comes. */
export async function forward(
  request: Request,
  place: Place,
  to: Admitted,
  client: string | null,
  refuse: Refuse,
): Promise<Response> {
  const stream = openStream(request, place, to, client, refuse)
  if (stream instanceof Response) return stream
  request.signal.addEventListener('abort', () => stream.reset(resets.cancelled), { once: true })
  if (request.body) void sendBody(request.body, stream, to.connection)
  const head = await headOf(stream, refuse)
  if (head instanceof Response) return head
  const headers = toClient(head.headers, place.mode)
  if (headers.get('content-type')?.startsWith('text/event-stream')) stream.isIdleLimited = false
  if (request.method === 'HEAD' || bodiless.has(head.status) || head.status < 200) {
    stream.reset(resets.cancelled)
    // What a body would have. With a body, Bun writes the length, so that a machine cannot contradict it.
    const length = head.headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1]
    if (request.method === 'HEAD' && length && /^\d+$/.test(length)) headers.set('content-length', length)
    return new Response(null, { status: head.status < 200 ? 502 : head.status, headers })
  }
  return new Response(bodyOf(stream, to.connection), { status: head.status, headers })
}

async function sendBody(body: ReadableStream<Uint8Array>, stream: Stream, { traffic }: Connection): Promise<void> {
  let sent = 0
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return stream.end()
      sent += value.length
      traffic.bytes += value.length
      if (sent > forwardLimits.body) return stream.reset(resets.tooLarge)
      await stream.write(value)
    }
  } catch {
    stream.reset(resets.cancelled)
    await reader.cancel().catch(() => undefined)
  }
}

/** The client reads from the stream: what it does not read, the machine does not send. */
function bodyOf(stream: Stream, { traffic }: Connection): ReadableStream<Uint8Array> {
  let received = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = await stream.read()
      if (!chunk) return controller.close()
      received += chunk.bytes.length
      traffic.bytes += chunk.bytes.length
      if (received > forwardLimits.body) {
        stream.reset(resets.tooLarge)
        throw new StreamReset(resets.tooLarge)
      }
      if (chunk.bytes.length > 0) controller.enqueue(chunk.bytes)
    },
    cancel: () => stream.reset(resets.cancelled),
  })
}
