import { type RequestHead, type ResponseHead, resetCodes } from '../frames.ts'
import { hopByHopHeaders, tunnelMethods } from '../headers.ts'
import type { RecordedRequest } from '../local-service.ts'
import type { Stream } from '../stream.ts'
import { type BadResponse, ResponseReader } from './response.ts'
import { type ResponseConsumer, ServiceConnection, type ServiceConnectionPool } from './service-connections.ts'

/** Methods of requests that can be repeated without harm. */
const safe = new Set(['GET', 'HEAD', 'OPTIONS'])
/** After this idle time, only a safe request uses a connection, because the service may be closing it. */
const FRESH_MS = 1000

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const forbidden = /[^\t\x20-\x7e\x80-\xff]/

interface Body {
  /** Undefined: it is sent in chunks. */
  length: number | undefined
}

/**
 * Sends the request of a stream to a local service unchanged, with its headers in order. Returns at once; the response
 * goes to the stream. `onHead` is called with its status.
 */
export function callHttp(
  pool: ServiceConnectionPool,
  stream: Stream,
  url: string,
  onHead: (status: number) => void,
  kept?: RecordedRequest,
): void {
  const { method } = stream.request
  if (!tunnelMethods.has(method)) {
    stream.reset(resetCodes.refused)
    return
  }
  const body = stream.isRemotelyEnded ? undefined : { length: undefined }
  const head = headOf(stream.request, body)
  if (head === undefined) {
    stream.reset(resetCodes.protocol)
    return
  }
  const call = new Call(pool, stream, onHead)
  stream.onClosed = () => call.abandon()
  if (body) void call.sendBody(url, head, body, kept)
  else call.send(url, head)
}

/** Returns the head of a request; undefined if HTTP does not allow it. Sets the length of the body. */
function headOf({ method, target, headers }: RequestHead, body: Body | undefined): Buffer | undefined {
  let text = `${method} ${target} HTTP/1.1\r\n`
  let length: string | undefined
  for (const [name, value] of headers) {
    if (!token.test(name) || forbidden.test(value)) return undefined
    const lower = name.toLowerCase()
    if (hopByHopHeaders.has(lower)) continue
    if (lower === 'content-length') {
      if (length !== undefined || !/^\d{1,15}$/.test(value)) return undefined
      length = value
      // The service would wait for a body, and read the next request as the body.
      if (!body && length !== '0') continue
    }
    text += `${name}: ${value}\r\n`
  }
  if (body && length === undefined) text += 'transfer-encoding: chunked\r\n'
  else if (body) body.length = Number(length)
  return Buffer.from(`${text}\r\n`, 'latin1')
}

/** One request and its response. */
class Call implements ResponseConsumer {
  reader: ResponseReader
  #connection: ServiceConnection | undefined
  #isAbandoned = false
  /** The whole request has been written. */
  #isSent: boolean
  /** Sends the request on another connection, while that is allowed. */
  #again: (() => void) | undefined

  constructor(
    private readonly pool: ServiceConnectionPool,
    private readonly stream: Stream,
    private readonly onHead: (status: number) => void,
  ) {
    this.reader = this.#newReader()
    this.#isSent = stream.isRemotelyEnded
  }

  /** Sends a request without a body. */
  send(url: string, head: Buffer): void {
    const connection = this.#kept(url, head)
    if (connection) connection.write(head)
    else void this.#connect(url, head)
  }

  async sendBody(url: string, head: Buffer, body: Body, kept: RecordedRequest | undefined): Promise<void> {
    const connection = this.#kept(url, head)
    connection?.write(head)
    const used = connection ?? (await this.#connect(url, head))
    if (used) await this.#pump(used, body, kept).catch(() => used.destroy())
  }

  /** Takes an idle connection, if the request may use it. */
  #kept(url: string, head: Buffer): ServiceConnection | undefined {
    const { request, isRemotelyEnded } = this.stream
    const isSafe = safe.has(request.method) && isRemotelyEnded
    const connection = this.pool.takeIdle(url, isSafe ? undefined : FRESH_MS)
    if (!connection) return undefined
    // A service may close an idle connection at any time, also while the request is sent.
    if (isSafe) this.#again = () => void this.#connect(url, head)
    this.#use(connection)
    return connection
  }

  async #connect(url: string, head: Buffer): Promise<ServiceConnection | undefined> {
    this.#again = undefined
    this.reader = this.#newReader()
    const connection = await ServiceConnection.connect(url).catch(() => undefined)
    if (!connection || connection.isClosed) {
      this.stream.reset(resetCodes.local)
      return undefined
    }
    if (this.#isAbandoned) {
      connection.destroy()
      return undefined
    }
    this.#use(connection)
    connection.write(head)
    return connection
  }

  #use(connection: ServiceConnection): void {
    this.#connection = connection
    connection.consumer = this
  }

  async #pump(connection: ServiceConnection, body: Body, kept: RecordedRequest | undefined): Promise<void> {
    let left = body.length
    for (let chunk = await this.stream.read(); chunk; chunk = await this.stream.read()) {
      const { bytes } = chunk
      kept?.appendBody(bytes)
      if (left !== undefined) left -= bytes.length
      if (left !== undefined && left < 0) return this.stream.reset(resetCodes.protocol)
      if (bytes.length > 0) await connection.write(left === undefined ? encodeChunk(bytes) : bytes)
    }
    // The service still waits for the rest, and would read the next request as part of it.
    if (left !== undefined && left > 0) return this.stream.reset(resetCodes.protocol)
    if (left === undefined) connection.write(lastChunk)
    this.#isSent = true
    this.onProgress()
  }

  /** The stream has ended. If the service has not finished, its connection is closed. */
  abandon(): void {
    this.#isAbandoned = true
    const connection = this.#connection
    // `onProgress` will be called.
    if (!connection || (this.reader.isDone && this.#isSent)) return
    this.#connection = undefined
    connection.consumer = undefined
    connection.destroy()
  }

  onFailure({ code }: BadResponse): void {
    this.#connection = undefined
    const again = this.reader.hasBegun ? undefined : this.#again
    if (again && !this.#isAbandoned) again()
    else this.stream.reset(code)
  }

  onProgress(): void {
    const connection = this.#connection
    if (!connection || !this.reader.isDone || !this.#isSent) return
    this.#connection = undefined
    connection.consumer = undefined
    if (this.reader.isReusable) this.pool.keepIdle(connection)
    else connection.destroy()
  }

  #newReader(): ResponseReader {
    return new ResponseReader(this.stream.request.method === 'HEAD', {
      head: (head, isEnd) => this.#respond(head, isEnd),
      body: (bytes, isEnd) => this.#pass(bytes, isEnd),
    })
  }

  #respond(head: ResponseHead, isEnd: boolean): void {
    this.onHead(head.status)
    try {
      this.stream.respond(head, isEnd)
    } catch {
      this.stream.reset(resetCodes.tooLarge)
    }
  }

  #pass(bytes: Uint8Array, isEnd: boolean): void {
    const { stream } = this
    if (stream.isClosed) return
    if (isEnd) {
      stream.end(bytes)
      return
    }
    const connection = this.#connection
    const sent = stream.write(bytes)
    if (!sent || !connection) return
    connection.pause()
    sent.then(connection.resume, () => undefined)
  }
}

const lastChunk = Buffer.from('0\r\n\r\n')

function encodeChunk(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}
