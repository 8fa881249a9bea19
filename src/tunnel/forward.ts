import { check } from '../check.ts'
import { Upload, uploadLimits } from './actions/upload.ts'
import { type Dialer, MachineUnreachable, type Traffic } from './connected-tunnels.ts'
import { MOST_HEAD, RequestHead, type ResetCode, type ResponseHead, resetCodes, type TunnelUser } from './frames.ts'
import { allowOwnReferrer, clientHeaders, serviceHeaders } from './headers.ts'
import { awaitResponse, cancelWhenClientLeaves } from './response-timeout.ts'
import { type Stream, StreamReset } from './stream.ts'
import type { TunnelAddress } from './tunnel-address.ts'

export const forwardLimits = {
  /** Milliseconds that a service has to begin its response. */
  firstByte: 60_000,
  /** The same for an MCP server, whose tools may run for minutes. */
  firstByteOfMcp: 300_000,
} as const

/** A request that was allowed. */
export interface AdmittedRequest {
  dialer: Dialer
  service: string
  user: TunnelUser | null
  /** Called with the stream, which must end when its caller loses access. */
  onOpened(stream: Stream): void
}

/** Creates the response of a refused request. */
export type RefusalWriter = (status: number, detail: string) => Response

const failures: Record<ResetCode, [number, string]> = {
  [resetCodes.cancelled]: [502, 'The machine cancelled the request.'],
  [resetCodes.refused]: [403, 'The machine does not allow this.'],
  [resetCodes.tooLarge]: [413, 'The body is larger than 1 GiB.'],
  [resetCodes.timeout]: [504, 'The service did not respond in time.'],
  [resetCodes.local]: [502, 'The service or the connection to its machine failed.'],
  [resetCodes.protocol]: [502, 'The machine sent an invalid message.'],
}

/** Opens a stream for the request, or returns the refusal. */
export async function openStream(
  request: Request,
  address: TunnelAddress,
  to: AdmittedRequest,
  client: string | null,
  refuse: RefusalWriter,
) {
  const isSocket = isUpgrade(request)
  const head: RequestHead = {
    kind: isSocket ? 'ws' : 'http',
    service: to.service,
    method: request.method,
    target: address.target,
    headers: serviceHeaders(request, address, to.user, client),
    user: to.user,
  }
  const stream = await openCountedStream(to.dialer, head, isSocket || request.body !== null, refuse)
  if (!(stream instanceof Response)) to.onOpened(stream)
  return stream
}

/** Opens a stream through a dialer and counts it, or returns the refusal. */
export async function openCountedStream(dialer: Dialer, head: RequestHead, hasBody: boolean, refuse: RefusalWriter) {
  // The machine would treat it as a protocol error and close its connection, with the requests of others.
  if (check(RequestHead, head).length > 0)
    return refuse(400, 'A tunnel does not accept this method, or the address or a header is too long.')
  try {
    const stream = await dialer.open(head, hasBody)
    dialer.traffic.requests++
    return stream
  } catch (error) {
    if (error instanceof RangeError)
      return refuse(431, `There are more than 200 headers, or they are larger than ${MOST_HEAD} bytes.`)
    if (!(error instanceof MachineUnreachable)) throw error
    return refuse(...error.refusal)
  }
}

/** Reports a request to the log of the tunnel. */
export function reportForwarded(
  { method }: Request,
  { target }: TunnelAddress,
  to: AdmittedRequest,
  status: number,
  started: number,
): void {
  const { dialer, service, user } = to
  const ms = performance.now() - started
  dialer.onForwarded?.({ service, method, target, status, ms, user: user?.email ?? null })
}

export const isUpgrade = ({ headers }: Request): boolean => headers.get('upgrade')?.toLowerCase() === 'websocket'

/**
 * Resolves with the head of the response, or with the refusal. `request`: its client may disconnect in the meantime.
 * `upload`: the body, for which the service may have to wait.
 */
export async function awaitResponseHead(
  stream: Stream,
  refuse: RefusalWriter,
  request?: Request,
  upload?: Upload,
): Promise<ResponseHead | Response> {
  const { firstByte, firstByteOfMcp } = forwardLimits
  try {
    return await awaitResponse(stream, stream.request.kind === 'mcp' ? firstByteOfMcp : firstByte, request, upload)
  } catch (error) {
    if (!(error instanceof StreamReset)) throw error
    if (!upload?.isLate) return refuse(...failures[error.code])
    return refuse(408, `The body stopped arriving for ${uploadLimits.idle / 1000} seconds.`)
  }
}

const bodiless = new Set([101, 204, 205, 304])

interface Ends {
  refuse: RefusalWriter
  /** Called when the response is complete. */
  onEnd(): void
}

/** Sends a request through a tunnel and returns the response as it comes. */
export async function forwardRequest(
  request: Request,
  address: TunnelAddress,
  to: AdmittedRequest,
  client: string | null,
  { refuse: write, onEnd }: Ends,
): Promise<Response> {
  const refuse: RefusalWriter = (status, detail) => {
    onEnd()
    return write(status, detail)
  }
  const started = performance.now()
  const stream = await openStream(request, address, to, client, refuse)
  if (stream instanceof Response) return stream
  const { traffic } = to.dialer
  const upload = request.body ? new Upload(request.body, stream, traffic) : undefined
  const head = await awaitResponseHead(stream, refuse, request, upload)
  reportForwarded(request, address, to, head.status, started)
  if (head instanceof Response) return head
  const headers = clientHeaders(head.headers, address.mode)
  if (!request.headers.has('sec-fetch-site')) allowOwnReferrer(headers)
  if (headers.get('content-type')?.startsWith('text/event-stream')) stream.isIdleLimited = false
  if (request.method === 'HEAD' || bodiless.has(head.status) || head.status < 200) {
    stream.reset(resetCodes.cancelled)
    // The length that a body would have. With a body, Bun sets the length, so that a machine cannot contradict it.
    const length = head.headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1]
    if (request.method === 'HEAD' && length && /^\d+$/.test(length)) headers.set('content-length', length)
    onEnd()
    return new Response(null, { status: head.status < 200 ? 502 : head.status, headers })
  }
  // A complete response needs no stream, which would cost more than everything else here.
  const whole = stream.takeAll()
  if (whole) {
    traffic.bytes += whole.length
    onEnd()
  } else cancelWhenClientLeaves(request, stream)
  return new Response(whole ?? streamBody(stream, traffic, onEnd), { status: head.status, headers })
}

/** The machine sends only as fast as the client reads. */
export function streamBody(stream: Stream, traffic: Traffic, onEnd = () => {}): ReadableStream<Uint8Array> {
  let received = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = await stream.read()
      if (!chunk) {
        onEnd()
        return controller.close()
      }
      received += chunk.bytes.length
      traffic.bytes += chunk.bytes.length
      if (received > uploadLimits.body) {
        stream.reset(resetCodes.tooLarge)
        throw new StreamReset(resetCodes.tooLarge)
      }
      if (chunk.bytes.length > 0) controller.enqueue(chunk.bytes)
    },
    cancel: () => stream.reset(resetCodes.cancelled),
  })
}
