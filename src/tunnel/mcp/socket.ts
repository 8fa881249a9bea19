import { MOST_SOCKET_MESSAGE } from '../bridge.ts'
import { frameFlags, resetCodes } from '../frames.ts'
import type { Stream } from '../stream.ts'
import { isRequest, parseRpcMessage, type RpcMessage, rpcError, rpcErrorCodes } from './message.ts'
import type { McpSessions } from './sessions.ts'
import type { LocalMcpTarget } from './streamable.ts'

const encoder = new TextEncoder()

/** Serves a client over a WebSocket, with one JSON-RPC message in each WebSocket message. */
export async function serveMcpSocket(stream: Stream, sessions: McpSessions, asked: LocalMcpTarget): Promise<number> {
  const session = sessions.open(asked.name, asked.server, asked.userId)
  if (!session) {
    stream.respond({ status: 503, headers: [] }, true)
    return 503
  }
  stream.isIdleLimited = false
  stream.onClosed = () => session.close()
  stream.respond({ status: 101, headers: [] })
  const send = (message: RpcMessage) => {
    if (stream.isClosed || stream.isLocallyEnded) return
    stream
      .write(encoder.encode(JSON.stringify(message)), frameFlags.text | frameFlags.messageEnd)
      ?.catch(() => undefined)
  }
  session.listen(send)
  session.whenClosed(() => stream.end(CLOSED))
  try {
    for await (const text of messagesOf(stream)) {
      const message = parseRpcMessage(text)
      if (!message) send(rpcError(null, rpcErrorCodes.parse, 'This is not a JSON-RPC message'))
      else session.send(message, isRequest(message) ? send : undefined)
    }
    stream.end(CLOSED)
  } catch {
    stream.reset(resetCodes.cancelled)
  }
  session.close()
  return 101
}

/** Close code 1000 of a WebSocket. */
const CLOSED = new Uint8Array([0x03, 0xe8])

/** Returns the messages of a WebSocket, until it is closed. */
async function* messagesOf(stream: Stream): AsyncGenerator<string> {
  let parts: Uint8Array[] = []
  let length = 0
  for (let chunk = await stream.read(); chunk; chunk = await stream.read()) {
    if (chunk.flags & frameFlags.end) return
    length += chunk.bytes.length
    if (length > MOST_SOCKET_MESSAGE) throw new RangeError('a message is too large')
    parts.push(chunk.bytes)
    if ((chunk.flags & frameFlags.messageEnd) === 0) continue
    yield Buffer.concat(parts).toString('utf8')
    parts = []
    length = 0
  }
}
