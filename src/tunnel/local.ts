import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { SocketBridge } from './bridge.ts'
import { type RequestHead, resets } from './frames.ts'
import { ofOneHop } from './headers.ts'
import type { Stream } from './stream.ts'

type Pairs = [string, string][]

/** Where a local service listens. */
function targetOf(url: string): { socketPath: string } | { host: string; port: number } {
  if (url.startsWith('unix:')) return { socketPath: url.slice('unix:'.length) }
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }
}

/** Names that a request to a service may have: CONNECT and TRACE are for proxies. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/**
 * Sends a request of a stream to a local service. With `node:http`, because `fetch` adds headers of its own and joins
 * repeated ones. Returns at once; the response goes to the stream. `onHead` hears of its status.
 */
export function callHttp(stream: Stream, url: string, onHead: (status: number) => void): void {
  const { method, target, headers } = stream.request
  if (!methods.has(method)) {
    stream.reset(resets.refused)
    return
  }
  const hasBody = !stream.isRemotelyEnded
  const pairs = headers.filter(([name]) => !ofOneHop.has(name.toLowerCase()))
  if (hasBody && !pairs.some(([name]) => name.toLowerCase() === 'content-length'))
    pairs.push(['transfer-encoding', 'chunked'])
  let request: ClientRequest
  try {
    request = httpRequest({ ...targetOf(url), method, path: target, setDefaultHeaders: false, headers: pairs.flat() })
  } catch {
    // A header or a path that HTTP does not allow.
    stream.reset(resets.protocol)
    return
  }
  stream.onClosed = () => void request.destroy()
  request.on('error', () => stream.reset(resets.local))
  request.on('response', (response) => {
    onHead(response.statusCode ?? 502)
    receive(stream, response)
  })
  if (hasBody) void sendBody(stream, request)
  else request.end()
}

async function sendBody(stream: Stream, request: ClientRequest): Promise<void> {
  try {
    for (let chunk = await stream.read(); chunk; chunk = await stream.read())
      if (!request.write(chunk.bytes)) await new Promise((resolve) => request.once('drain', resolve))
    request.end()
  } catch {
    request.destroy()
  }
}

function receive(stream: Stream, response: IncomingMessage): void {
  const { rawHeaders: raw } = response
  const headers: Pairs = []
  for (let i = 0; i + 1 < raw.length; i += 2) headers.push([raw[i] as string, raw[i + 1] as string])
  try {
    stream.respond({ status: response.statusCode ?? 502, headers })
  } catch {
    stream.reset(resets.tooLarge)
    return
  }
  response.on('data', (chunk: Buffer) => {
    if (stream.isClosed) return
    const sent = stream.write(chunk)
    if (!sent) return
    response.pause()
    sent.then(
      () => response.resume(),
      () => response.destroy(),
    )
  })
  response.on('end', () => stream.end())
  response.on('error', () => stream.reset(resets.local))
  response.on('aborted', () => stream.reset(resets.local))
}

/** Opens a WebSocket to a local service and joins it with the stream. */
export function callSocket(stream: Stream, url: string, onHead: (status: number) => void): void {
  if (url.startsWith('unix:')) {
    stream.reset(resets.refused)
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
      over(socket, () => bridge?.drained()),
      stream,
    )
    stream.onClosed = () => socket.close()
  }
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) =>
    bridge?.receive(typeof data === 'string' ? data : new Uint8Array(data))
  socket.onclose = ({ code, reason }) => (bridge ? bridge.left(code, reason) : stream.reset(resets.local))
  stream.onClosed = () => socket.close()
}

function dial(url: string, target: string, headers: RequestHead['headers']) {
  const protocols = headers.find(([name]) => name === 'sec-websocket-protocol')?.[1]
  const kept = headers.filter(([name]) => !ofOneHop.has(name) && !name.startsWith('sec-websocket-'))
  const socket = new WebSocket(url.replace(/^http/, 'ws') + target, {
    headers: Object.fromEntries(kept),
    ...(protocols && { protocols: protocols.split(',').map((name) => name.trim()) }),
  })
  return { socket, protocols }
}

/** A client's socket tells nothing when its bytes have left, so it is asked until they have. */
function over(socket: WebSocket, drained: () => void) {
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

/** Resolves with whether somebody listens there. */
export async function isListening(url: string): Promise<boolean> {
  const target = targetOf(url)
  try {
    const socket =
      'socketPath' in target
        ? await Bun.connect({ unix: target.socketPath, socket: quiet })
        : await Bun.connect({ hostname: target.host, port: target.port, socket: quiet })
    socket.end()
    return true
  } catch {
    return false
  }
}
