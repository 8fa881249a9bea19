import { request as httpRequest } from 'node:http'
import { SocketBridge } from './bridge.ts'
import { type RequestHead, resetCodes } from './frames.ts'
import { hopByHopHeaders } from './headers.ts'
import { serviceTarget } from './http/service-connections.ts'
import type { Stream } from './stream.ts'

type Pairs = [string, string][]

/** Maximum bytes of a recorded body. */
const MOST_KEPT = 256 << 10

/** A recorded request that can be repeated. */
export class RecordedRequest {
  readonly #chunks: Uint8Array[] = []
  #length = 0

  constructor(
    private readonly url: string,
    private readonly head: RequestHead,
  ) {}

  appendBody(bytes: Uint8Array): void {
    this.#length += bytes.length
    if (this.#length > MOST_KEPT) this.#chunks.length = 0
    else this.#chunks.push(bytes.slice())
  }

  /** The body was too large to be recorded. */
  get isTruncated(): boolean {
    return this.#length > MOST_KEPT
  }

  replay(): Promise<{ status: number; body: string }> {
    const { method, target, headers } = this.head
    const pairs = headers.filter(
      ([name]) => !hopByHopHeaders.has(name.toLowerCase()) && name.toLowerCase() !== 'content-length',
    )
    const body = Buffer.concat(this.#chunks)
    if (body.length > 0) pairs.push(['content-length', String(body.length)])
    const to = serviceTarget(this.url)
    const where = 'unix' in to ? { socketPath: to.unix } : { host: to.hostname, port: to.port }
    return new Promise((resolve, reject) => {
      const options = { ...where, method, path: target, setDefaultHeaders: false, headers: pairs.flat() }
      const request = httpRequest(options, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 502, body: Buffer.concat(chunks).toString().slice(0, MOST_KEPT) }),
        )
      })
      request.on('error', reject)
      request.end(body)
    })
  }
}

/** Opens a WebSocket to a local service and connects it to the stream. */
export function bridgeLocalSocket(stream: Stream, url: string, onHead: (status: number) => void): void {
  if (url.startsWith('unix:')) {
    stream.reset(resetCodes.refused)
    return
  }
  const { target, headers } = stream.request
  const { socket, protocols } = dial(url, target, headers)
  let bridge: SocketBridge | undefined
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => {
    onHead(101)
    const chosen: Pairs = protocols && socket.protocol ? [['sec-websocket-protocol', socket.protocol]] : []
    stream.respond({ status: 101, headers: chosen })
    bridge = new SocketBridge(
      toSocketLike(socket, () => bridge?.onDrain()),
      stream,
    )
    stream.onClosed = () => socket.close()
  }
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) =>
    bridge?.receive(typeof data === 'string' ? data : new Uint8Array(data))
  socket.onclose = ({ code, reason }) => (bridge ? bridge.onClose(code, reason) : stream.reset(resetCodes.local))
  stream.onClosed = () => socket.close()
}

function dial(url: string, target: string, headers: RequestHead['headers']) {
  const protocols = headers.find(([name]) => name === 'sec-websocket-protocol')?.[1]
  const kept = headers.filter(([name]) => !hopByHopHeaders.has(name) && !name.startsWith('sec-websocket-'))
  const socket = new WebSocket(url.replace(/^http/, 'ws') + target, {
    headers: Object.fromEntries(kept),
    ...(protocols && { protocols: protocols.split(',').map((name) => name.trim()) }),
  })
  return { socket, protocols }
}

/** A client socket has no drain event, so its buffer is polled. */
function toSocketLike(socket: WebSocket, drained: () => void) {
  return {
    send: (message: string | Uint8Array) => socket.send(message),
    close: (code: number, reason: string) => socket.close(code, reason),
    waiting: () => {
      if (socket.bufferedAmount > 0) setTimeout(drained, 10)
      return socket.bufferedAmount
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
  }
}

const quiet = { data: () => undefined }

/** Resolves with whether anything listens at the address. */
export async function isListening(url: string): Promise<boolean> {
  const target = serviceTarget(url)
  try {
    const socket = await ('unix' in target
      ? Bun.connect({ unix: target.unix, socket: quiet })
      : Bun.connect({ hostname: target.hostname, port: target.port, socket: quiet }))
    socket.end()
    return true
  } catch {
    return false
  }
}
