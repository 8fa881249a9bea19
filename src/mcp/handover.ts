import { AppError } from '../errors.ts'
import { readBytes } from '../http/body.ts'
import type { App } from '../services.ts'
import type { MessageSender } from './protocol.ts'

/** The path for messages that arrived at another instance. */
export const HANDOVER_PATH = '/internal/mcp/messages'
const HEADER = 'tutti-handover'
/** Purposes, which separate these sealed values from others with the same key. */
const SESSION = 'mcp session'
const MESSAGE = 'mcp message'
/** Milliseconds that the clocks of two instances may differ. */
const SKEW_MS = 30_000
/** Milliseconds that the other instance may take. It only accepts a message; the response goes to the stream. */
const TIMEOUT_MS = 15_000
/** Headers of the message that the other instance needs, and of its response that the client gets. */
const passedOn = ['authorization', 'content-type', 'user-agent', 'mcp-protocol-version']
const passedBack = ['content-type', 'retry-after', 'x-request-id']

/**
 * HTTP+SSE keeps a session in the process that holds its stream. The id of a session contains the address of that
 * process, encrypted for the credential that opened the stream, so that a proxy may send messages to any instance. No
 * one can read the address or invent another one. Without `INSTANCE_URL` an id is only random, and the proxy has to
 * send the messages of one credential to one instance.
 */
export class Handover {
  constructor(private readonly app: App) {}

  /** Returns the suffix of a session's random id. */
  suffixFor(credentialId: string): string {
    const { INSTANCE_URL } = this.app.config
    return INSTANCE_URL ? `.${this.#close([SESSION, credentialId, INSTANCE_URL])}` : ''
  }

  /** Returns the address of the other instance that holds this session of this credential. */
  #holderOf(sessionId: string, credentialId: string): string | undefined {
    const [, sealed = ''] = sessionId.split('.')
    const [purpose, owner, address] = this.#open(sealed)
    const isOurs = purpose === SESSION && owner === credentialId && address !== this.app.config.INSTANCE_URL
    return isOurs ? address : undefined
  }

  /**
   * Sends a message to the instance that holds its session, and returns that instance's response; undefined if there is
   * no such instance. The credential goes along, so the other instance checks all rights itself.
   */
  async send(
    request: Request,
    sessionId: string,
    { owner, requestId, from }: MessageSender,
  ): Promise<Response | undefined> {
    const address = this.#holderOf(sessionId, owner.credentialId)
    if (!address) return undefined
    const body = await readBytes(request, this.app.config.MAX_BODY_BYTES)
    const now = String(this.app.clock().getTime())
    const headers = new Headers({ 'x-request-id': requestId })
    headers.set(HEADER, this.#close([MESSAGE, sessionId, now, from.ip ?? '']))
    for (const name of passedOn) {
      const value = request.headers.get(name)
      if (value !== null) headers.set(name, value)
    }
    const response = await fetch(`${address}${HANDOVER_PATH}?sessionId=${encodeURIComponent(sessionId)}`, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      // A connection that was kept may be closed on the other side just now, and a message must not be sent twice.
      keepalive: false,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: unknown) => this.#failed(error))
    if (!response) return undefined
    const kept = passedBack.flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value] as [string, string]]
    })
    return new Response(await response.arrayBuffer(), { status: response.status, headers: kept })
  }

  /** Returns the client of a message that another instance handed over; undefined if no instance sent it. */
  received(request: Request, sessionId: string): { ip: string | null } | undefined {
    if (this.app.config.INSTANCE_URL === undefined) return undefined
    const [purpose, session, time, ip] = this.#open(request.headers.get(HEADER) ?? '')
    const isRecent = Math.abs(this.app.clock().getTime() - Number(time)) <= SKEW_MS
    return purpose === MESSAGE && session === sessionId && isRecent ? { ip: ip || null } : undefined
  }

  /** A refused connection means that the process has ended, with its streams. */
  #failed(error: unknown): undefined {
    if ((error as { code?: unknown }).code === 'ECONNREFUSED') return undefined
    this.app.log.warn('the instance that holds a stream cannot be reached', { error })
    throw new AppError('unavailable', 'The instance that holds this session cannot be reached at the moment.', {
      retryAfter: 2,
    })
  }

  #close(parts: string[]): string {
    return this.app.seal.close(JSON.stringify(parts))
  }

  #open(sealed: string): string[] {
    const text = this.app.seal.open(sealed)
    if (text === undefined || !text.startsWith('["mcp ')) return []
    return JSON.parse(text) as string[]
  }
}
