import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { check } from '../check.ts'
import { int, object, type Static, text } from '../schema.ts'
import { MachineUnreachable } from './connected-tunnels.ts'
import { encodeJson, MOST_HEAD, type RequestHead } from './frames.ts'
import { relayStreams } from './relay.ts'
import { TunnelSession } from './session.ts'
import type { Stream } from './stream.ts'

/** The header with which one process hands a request over to another. */
export const HANDOVER_HEADER = 'tutti-handover'
/** Seconds that the clocks of two processes may differ. */
const SKEW_SECONDS = 30
/** Milliseconds that a nonce is remembered: as long as its timestamp is accepted. */
const NONCE_MS = 2 * SKEW_SECONDS * 1000
/** Nonces of a minute. Further requests are refused, so that no nonce is forgotten. */
const MOST_NONCES = 200_000

/** The signed facts about a request that one process sends to another. */
const HandoverClaim = object({
  generation: int({ min: 1 }),
  /** Empty: an anonymous user of a public service. */
  user: text(36),
  method: text(20),
  /** SHA-256 of the target, and of the whole head. */
  target: text(64),
  head: text(64),
  /** Seconds since 1970. */
  time: int({ max: Number.MAX_SAFE_INTEGER }),
  nonce: text(40, { minLength: 20 }),
})
export type Claim = Static<typeof HandoverClaim>

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

function macOf(key: Uint8Array, tunnelId: string, { generation, user, method, target, head, time, nonce }: Claim) {
  const signed = [method, target, tunnelId, generation, user, head, time, nonce]
  return createHmac('sha256', key).update(JSON.stringify(signed)).digest()
}

/** Signs a request for one generation of a tunnel's connection. */
export function signHandover(
  key: Uint8Array,
  tunnelId: string,
  generation: number,
  head: RequestHead,
  now: number,
): string {
  const claim: Claim = {
    generation,
    user: head.user?.id ?? '',
    method: head.method,
    target: sha256(head.target),
    head: sha256(encodeJson(head, MOST_HEAD)),
    time: Math.floor(now / 1000),
    nonce: crypto.randomUUID(),
  }
  const body = Buffer.from(JSON.stringify(claim)).toString('base64url')
  return `${body}.${macOf(key, tunnelId, claim).toString('base64url')}`
}

/** Checks signatures of other processes. Each is valid once, for half a minute. */
export class HandoverVerifier {
  readonly #nonces = new Map<string, number>()

  constructor(
    private readonly key: Uint8Array,
    private readonly now: () => number,
  ) {}

  /** Returns the claim; undefined if it is forged, too old or already used. */
  verify(header: string | null, tunnelId: string): Claim | undefined {
    const [body = '', mac = ''] = header?.split('.') ?? []
    const claim = parseClaim(body)
    if (!claim) return undefined
    const given = Buffer.from(mac, 'base64url')
    const right = macOf(this.key, tunnelId, claim)
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
    const now = this.now()
    if (Math.abs(now / 1000 - claim.time) > SKEW_SECONDS) return undefined
    return this.#isNew(claim.nonce, now) ? claim : undefined
  }

  #isNew(nonce: string, now: number): boolean {
    // The oldest come first.
    for (const [old, at] of this.#nonces) {
      if (now - at < NONCE_MS) break
      this.#nonces.delete(old)
    }
    if (this.#nonces.has(nonce) || this.#nonces.size >= MOST_NONCES) return false
    this.#nonces.set(nonce, now)
    return true
  }
}

function parseClaim(body: string): Claim | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body, 'base64url').toString())
    return check(HandoverClaim, value).length === 0 ? (value as Claim) : undefined
  } catch {
    return undefined
  }
}

export const matchesClaim = (claim: Claim, head: RequestHead): boolean =>
  claim.method === head.method &&
  claim.target === sha256(head.target) &&
  claim.head === sha256(encodeJson(head, MOST_HEAD)) &&
  claim.user === (head.user?.id ?? '')

interface Receiver {
  send(message: Uint8Array): number
  close(code?: number, reason?: string): void
}

/** Runs in the process that has the machine: accepts the one signed request and forwards it with `open`. */
export function receiveHandover(socket: Receiver, claim: Claim, open: (head: RequestHead, hasBody: boolean) => Stream) {
  const session = new TunnelSession(
    'agent',
    {
      send: (bytes) => socket.send(bytes) >= 0,
      close: (code, reason) => socket.close(code, reason),
    },
    {
      opened: (stream) => {
        if (!matchesClaim(claim, stream.request) || isTaken) return session.close('not what was signed', 1008)
        isTaken = true
        try {
          relayStreams(stream, open(stream.request, !stream.isRemotelyEnded))
        } catch (error) {
          if (error instanceof MachineUnreachable && error.reason !== 'gone') refuse(stream, error)
          else session.close('gone', 1013)
        }
      },
    },
  )
  let isTaken = false
  return session
}

/** Responds for the machine, which has no stream for this request. */
function refuse(stream: Stream, { refusal: [status, detail] }: MachineUnreachable): void {
  stream.respond({ status, headers: [['content-type', 'application/problem+json']] })
  stream.end(encodeJson({ type: 'about:blank', title: 'Tunnel', status, detail }))
}
