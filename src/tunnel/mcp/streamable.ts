import { resetCodes } from '../frames.ts'
import type { McpServer } from '../machine-config.ts'
import type { Stream } from '../stream.ts'
import { isRequest, type MessageId, parseRpcMessage, type RpcMessage, rpcError, rpcErrorCodes } from './message.ts'
import type { McpSession } from './session.ts'
import type { McpSessions } from './sessions.ts'

/** Bytes of one message of a client. */
const MOST_BODY = 4 << 20
/** Milliseconds until a slow response becomes a stream of events, and between the comments of the stream. */
const PATIENCE_MS = 15_000

type Pairs = [string, string][]
const encoder = new TextEncoder()

export interface LocalMcpTarget {
  name: string
  server: McpServer
  userId: string
}

/** Serves one Streamable HTTP request to a local MCP server. Resolves with the status. */
export async function serveMcpHttp(stream: Stream, sessions: McpSessions, asked: LocalMcpTarget): Promise<number> {
  const { method, headers } = stream.request
  const id = headers.find(([name]) => name === 'mcp-session-id')?.[1]
  const session = id === undefined ? undefined : sessions.find(id, asked.name, asked.userId)
  if (method === 'POST') return post(stream, sessions, asked, { id, session })
  if (method !== 'GET' && method !== 'DELETE') return refuse(stream, 405, rpcErrorCodes.server, 'Method not allowed')
  if (id === undefined) return refuse(stream, 400, rpcErrorCodes.server, 'Bad Request: Mcp-Session-Id is required')
  if (!session) return refuse(stream, 404, rpcErrorCodes.server, 'Session not found')
  if (method === 'GET') return listen(stream, session)
  session.close()
  stream.respond({ status: 204, headers: [] }, true)
  return 204
}

interface Named {
  id: string | undefined
  session: McpSession | undefined
}

async function post(
  stream: Stream,
  sessions: McpSessions,
  asked: LocalMcpTarget,
  { id, session }: Named,
): Promise<number> {
  const message = parseRpcMessage(await bodyOf(stream))
  if (!message) return refuse(stream, 400, rpcErrorCodes.parse, 'This is not a JSON-RPC message')
  if (message.method === 'initialize' && isRequest(message)) return beginSession(stream, sessions, asked, message)
  if (id === undefined)
    return refuse(stream, 400, rpcErrorCodes.server, 'Bad Request: Mcp-Session-Id is required', message.id)
  if (!session) return refuse(stream, 404, rpcErrorCodes.server, 'Session not found', message.id)
  if (isRequest(message)) return respond(stream, session, message)
  session.send(message)
  stream.respond({ status: 202, headers: [] }, true)
  return 202
}

function beginSession(
  stream: Stream,
  sessions: McpSessions,
  { name, server, userId }: LocalMcpTarget,
  message: RpcMessage,
) {
  const session = sessions.open(name, server, userId)
  if (!session)
    return refuse(
      stream,
      503,
      rpcErrorCodes.server,
      'The machine has reached its limit of sessions. Try again later.',
      message.id,
    )
  return respond(stream, session, message, (response) => {
    // The server refused `initialize`, so the session is useless.
    if (response.error) session.close()
    return [['mcp-session-id', session.id]]
  })
}

/**
 * Sends a request and its response: as JSON if the response comes first and soon, as a stream of events if the server
 * sends other messages before, or takes long.
 */
function respond(
  stream: Stream,
  session: McpSession,
  message: RpcMessage,
  more: (response: RpcMessage) => Pairs = () => [],
): Promise<number> {
  stream.isIdleLimited = false
  const { promise, resolve } = Promise.withResolvers<number>()
  let events: Events | undefined
  const begun = () => {
    events ??= new Events(stream, [])
    return events
  }
  // The response to `initialize` has the session id in its head, which a stream of events would send too early.
  const isIntroduction = message.method === 'initialize'
  const timer = isIntroduction ? undefined : setTimeout(() => begun().comment(), PATIENCE_MS)
  stream.onClosed = () => {
    clearTimeout(timer)
    events?.stop()
    session.forget(message.id as MessageId)
    resolve(events ? 200 : 499)
  }
  session.send(message, (received) => {
    const isLast = received.method === undefined
    if (!isLast) {
      if (!isIntroduction) begun().send(received)
      return
    }
    clearTimeout(timer)
    resolve(200)
    if (events) {
      events.send(received)
      events.end()
    } else json(stream, 200, received, more(received))
  })
  return promise
}

function listen(stream: Stream, session: McpSession): Promise<number> {
  stream.isIdleLimited = false
  const events = new Events(stream, [['mcp-session-id', session.id]])
  events.comment()
  const leave = session.listen((message) => events.send(message))
  const forget = session.whenClosed(() => events.end())
  stream.onClosed = () => {
    events.stop()
    forget()
    leave()
  }
  return Promise.resolve(200)
}

/** A response of server-sent events, one for each message. Comments keep proxies from closing it. */
class Events {
  readonly #timer: Timer

  constructor(
    private readonly stream: Stream,
    headers: Pairs,
  ) {
    const type: Pairs = [
      ['content-type', 'text/event-stream'],
      ['cache-control', 'no-store'],
    ]
    stream.respond({ status: 200, headers: [...type, ...headers] })
    this.#timer = setInterval(() => this.comment(), PATIENCE_MS)
  }

  send(message: RpcMessage): void {
    this.#write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
  }

  comment(): void {
    this.#write(':\n\n')
  }

  end(): void {
    this.stop()
    this.stream.end()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #write(text: string): void {
    if (this.stream.isClosed || this.stream.isLocallyEnded) return
    const bytes = encoder.encode(text)
    // Messages of a client that does not read must not fill the memory.
    if (this.stream.waiting + bytes.length > MOST_WAITING) this.stream.reset(resetCodes.tooLarge)
    else this.stream.write(bytes)?.catch(() => undefined)
  }
}

/** Bytes that may wait for a client. */
const MOST_WAITING = 16 << 20

function json(stream: Stream, status: number, message: RpcMessage, more: Pairs = []): number {
  stream.respond({ status, headers: [['content-type', 'application/json'], ...more] })
  stream.end(encoder.encode(JSON.stringify(message)))
  return status
}

const refuse = (stream: Stream, status: number, code: number, text: string, id?: RpcMessage['id']): number =>
  json(stream, status, rpcError(id, code, text))

async function bodyOf(stream: Stream): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for (let chunk = await stream.read(); chunk; chunk = await stream.read()) {
    length += chunk.bytes.length
    if (length > MOST_BODY) {
      stream.reset(resetCodes.tooLarge)
      return ''
    }
    parts.push(chunk.bytes)
  }
  return Buffer.concat(parts).toString('utf8')
}
