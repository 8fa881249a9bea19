import { MachineUnreachable } from './connected-tunnels.ts'
import type { RequestHead } from './frames.ts'
import { HANDOVER_HEADER } from './handover.ts'
import { TunnelSession } from './session.ts'
import type { Stream } from './stream.ts'

/** Milliseconds that the other process has to accept. */
const CONNECT_MS = 5000
/** Buffered bytes above which the stream has to wait. */
const HIGH_WATER = 512 << 10

/**
 * Opens a stream through another process: a WebSocket for this one request, with the same frames as the connection of a
 * machine. Throws `MachineUnreachable` if the other process refuses it; then nothing of the request was sent.
 */
export async function openRemoteStream(
  address: string,
  signature: string,
  head: RequestHead,
  hasBody: boolean,
): Promise<Stream> {
  // Not `new`: the dashboard is checked with the browser's WebSocket type, which has no headers.
  const socket = Reflect.construct(WebSocket, [
    address.replace(/^http/, 'ws'),
    { headers: { [HANDOVER_HEADER]: signature } },
  ]) as WebSocket
  socket.binaryType = 'arraybuffer'
  const opened = Promise.withResolvers<void>()
  const timer = setTimeout(() => opened.reject(new MachineUnreachable('gone')), CONNECT_MS)
  const session = new TunnelSession(
    'server',
    { send: (bytes) => sendOver(socket, session, bytes), close: () => socket.close() },
    { closed: () => undefined },
  )
  socket.onopen = () => opened.resolve()
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data !== 'string') session.receive(new Uint8Array(data))
  }
  socket.onclose = () => {
    opened.reject(new MachineUnreachable('gone'))
    session.onConnectionLost()
  }
  try {
    await opened.promise
  } catch (error) {
    socket.close()
    throw error
  } finally {
    clearTimeout(timer)
  }
  const stream = session.open(head, hasBody)
  stream.onClosed = () => session.close('done')
  return stream
}

/** Sends over a client socket. Returns false if the session has to wait for `onDrain`, which is then called. */
export function sendOver(socket: WebSocket, session: TunnelSession, bytes: Uint8Array): boolean {
  socket.send(bytes as Uint8Array<ArrayBuffer>)
  if (socket.bufferedAmount < HIGH_WATER) return true
  // A client socket has no drain event, so its buffer is polled.
  const ask = () => {
    if (session.isClosed) return
    if (socket.bufferedAmount < HIGH_WATER / 2) session.onDrain()
    else setTimeout(ask, 2)
  }
  setTimeout(ask, 2)
  return false
}
