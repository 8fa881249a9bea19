import type { ServerWebSocket, WebSocketHandler } from 'bun'

/** Bytes that may wait on one side before the other has to wait too. */
const MOST_WAITING = 1 << 20
/** Milliseconds between two checks of a WebSocket client, which has no drain event. */
const LOOK_MS = 5

type Message = string | Uint8Array

export interface JoinedSocket {
  upstream: WebSocket
  /** Messages of the service that came before the client's socket was open. */
  early: Message[]
}

interface Wanted {
  url: string
  headers: Record<string, string>
  protocols: string[]
}

/** Connects to the service first, to pass its subprotocol on to the client. Returns undefined if it refuses. */
export async function connectUpstream({ url, headers, protocols }: Wanted): Promise<JoinedSocket | undefined> {
  const upstream = new WebSocket(url, { headers, ...(protocols.length > 0 && { protocols }) })
  upstream.binaryType = 'arraybuffer'
  const joined: JoinedSocket = { upstream, early: [] }
  upstream.onmessage = ({ data }) => void joined.early.push(messageOf(data))
  const { promise, resolve } = Promise.withResolvers<boolean>()
  upstream.onopen = () => resolve(true)
  upstream.onclose = () => resolve(false)
  return (await promise) ? joined : undefined
}

const messageOf = (data: string | ArrayBuffer): Message => (typeof data === 'string' ? data : new Uint8Array(data))

/** Joins the socket of a client with that of the service. */
export const socketHandlers: WebSocketHandler<JoinedSocket> = {
  maxPayloadLength: 1 << 20,
  open(socket) {
    const { upstream, early } = socket.data
    for (const message of early.splice(0)) socket.send(message)
    upstream.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      socket.send(messageOf(data))
      if (socket.getBufferedAmount() > MOST_WAITING) upstream.pause()
    }
    upstream.onclose = ({ code, reason }) => socket.close(sendableCode(code), reason)
    if (upstream.readyState !== WebSocket.OPEN) socket.close(1001)
  },
  message(socket, message) {
    const { upstream } = socket.data
    if (upstream.readyState !== WebSocket.OPEN) return
    upstream.send(message)
    if (upstream.bufferedAmount <= MOST_WAITING) return
    socket.pause()
    resumeWhenSent(socket)
  },
  drain: ({ data: { upstream } }) => void upstream.resume(),
  close: ({ data: { upstream } }, code, reason) => upstream.close(sendableCode(code), reason),
}

function resumeWhenSent(socket: ServerWebSocket<JoinedSocket>): void {
  setTimeout(() => {
    const { upstream } = socket.data
    if (socket.readyState !== WebSocket.OPEN) return
    if (upstream.readyState === WebSocket.OPEN && upstream.bufferedAmount > MOST_WAITING) resumeWhenSent(socket)
    else socket.resume()
  }, LOOK_MS)
}

/** Replaces the reserved close codes, which cannot be sent. */
const sendableCode = (code: number): number => (code === 1005 ? 1000 : code === 1006 || code === 1015 ? 1001 : code)
