import { Type } from '@sinclair/typebox'
import { check } from '../check.ts'
import {
  array,
  bool,
  id,
  int,
  jsonObject,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  type TSchema,
  text,
} from '../schema.ts'

/**
 * The wire protocol of tunnels: binary messages of whole frames. A frame header has nine bytes: payload length (u24),
 * type, flags, stream (u32), all big-endian.
 */
export const frameTypes = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  action: 9,
  result: 10,
} as const

/** END is for DATA and HEADERS, ACK for PING, the other two for WebSocket messages. */
export const frameFlags = { end: 1, ack: 1, text: 2, messageEnd: 8 } as const

/** Why a stream was reset. */
export const resetCodes = { cancelled: 1, refused: 2, tooLarge: 3, timeout: 4, local: 5, protocol: 6 } as const
export type ResetCode = (typeof resetCodes)[keyof typeof resetCodes]

export const SUBPROTOCOL = 'tutti-tunnel.v1'
export const HEADER_BYTES = 9
/** Bytes of one payload. */
export const MOST_PAYLOAD = 64 << 10
/** Bytes of the JSON of a request's or a response's head. */
export const MOST_HEAD = 32 << 10
/** Bytes of one binary message. */
export const MOST_MESSAGE = 256 << 10

/** The other side violated the protocol; the connection ends. */
export class ProtocolError extends Error {}

export interface Frame {
  type: number
  flags: number
  stream: number
  payload: Uint8Array
}

/** Writes the header of a frame and returns the position after it. */
export function writeFrameHeader(into: Uint8Array, at: number, length: number, frame: Omit<Frame, 'payload'>): number {
  const { type, flags, stream } = frame
  into[at] = length >>> 16
  into[at + 1] = length >>> 8
  into[at + 2] = length
  into[at + 3] = type
  into[at + 4] = flags
  into[at + 5] = stream >>> 24
  into[at + 6] = stream >>> 16
  into[at + 7] = stream >>> 8
  into[at + 8] = stream
  return at + HEADER_BYTES
}

export function encodeFrame({ payload, ...rest }: Frame): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + payload.length)
  bytes.set(payload, writeFrameHeader(bytes, 0, payload.length, rest))
  return bytes
}

/** Calls `take` for each frame of a message, in order. Payloads are views of the message. */
export function decodeFrames(message: Uint8Array, take: (frame: Frame) => void): void {
  if (message.length > MOST_MESSAGE) throw new ProtocolError('a message is too large')
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength)
  for (let at = 0; at < message.length; ) {
    if (message.length - at < HEADER_BYTES) throw new ProtocolError('a header is cut')
    const length = (view.getUint8(at) << 16) | view.getUint16(at + 1)
    const end = at + HEADER_BYTES + length
    if (length > MOST_PAYLOAD) throw new ProtocolError('a frame is too large')
    if (end > message.length) throw new ProtocolError('a frame is cut')
    take({
      type: view.getUint8(at + 3),
      flags: view.getUint8(at + 4),
      stream: view.getUint32(at + 5),
      payload: message.subarray(at + HEADER_BYTES, end),
    })
    at = end
  }
}

export function encodeU32(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}

/** Returns the code of a RESET; one that is not known here counts as `protocol`. */
export function readResetCode(payload: Uint8Array): ResetCode {
  if (payload.length !== 4) throw new ProtocolError('a reset has four bytes')
  const code = new DataView(payload.buffer, payload.byteOffset).getUint32(0)
  return (Object.values(resetCodes) as number[]).includes(code) ? (code as ResetCode) : resetCodes.protocol
}

// ---- JSON payloads

const name = text(30, { minLength: 1 })
const headers = array(Type.Tuple([text(256), text(16 << 10)]), 200)

/** The user of a request; null: an anonymous user of a public service. */
export const TunnelUser = object({
  id: id(),
  email: text(320),
  /** Their role in the team of the tunnel. */
  role: oneOf(['viewer', 'member', 'admin', 'owner']),
})
export type TunnelUser = Static<typeof TunnelUser>

export const RequestHead = object({
  kind: oneOf(['http', 'ws', 'mcp']),
  service: name,
  method: text(20, { pattern: '^[A-Z]+$' }),
  target: text(16 << 10, { pattern: '^/[\\x21-\\x7e]*$' }),
  headers,
  user: nullable(TunnelUser),
})
export type RequestHead = Static<typeof RequestHead>

export const ResponseHead = object({ status: int({ min: 100, max: 599 }), headers })
export type ResponseHead = Static<typeof ResponseHead>

const people = array(text(40), 100)

/** What a machine offers. Only for display, because the machine checks each request itself. */
export const MachineOffer = object({
  services: array(object({ name, who: people }), 50),
  commands: optional(
    array(
      object({
        name,
        description: optional(text(500)),
        who: people,
        confirm: bool({ description: 'A person at the machine is asked each time' }),
        params: jsonObject({ description: 'JSON Schema of the parameters' }),
        secret: optional(array(text(30), 20, { description: 'Parameters whose values are not shown in the history' })),
      }),
      50,
    ),
  ),
  mcp: optional(array(object({ name, who: people }), 20)),
  workspaces: optional(array(object({ name, who: people }), 20)),
  running: optional(array(id(), 16, { description: 'Actions that the machine has not finished' })),
})
export type MachineOffer = Static<typeof MachineOffer>

/** An action for the machine, which decides whether it knows and allows the type. */
export const ActionRequest = object({ id: id(), type: text(40), params: jsonObject(), user: TunnelUser })
export type ActionRequest = Static<typeof ActionRequest>

export const endStates = ['succeeded', 'failed', 'refused', 'cancelled', 'timed_out'] as const
export type EndState = (typeof endStates)[number]

/** Progress of an action: lines of output, parts of a long result, a state. The last state ends the action. */
export const ActionReport = object({
  id: id(),
  lines: optional(array(Type.Tuple([int({ min: 1 }), text(2000)]), 1000)),
  part: optional(text(16 << 10, { description: 'Of the JSON of the result, in order' })),
  state: optional(oneOf(['awaiting_confirmation', 'running', ...endStates])),
  result: optional(Type.Unknown()),
  error: optional(text(1000)),
})
export type ActionReport = Static<typeof ActionReport>

/** Sent by the server after a machine has connected. */
export const Welcome = object({ generation: int({ min: 1 }), tunnelId: id(), ownerId: id(), slug: text(30) })
export type Welcome = Static<typeof Welcome>

export const Goodbye = object({
  reason: oneOf(['drain', 'protocol', 'replaced', 'revoked', 'closing']),
  again: optional(bool({ description: 'Whether the agent may connect again' })),
})
export type Goodbye = Static<typeof Goodbye>

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true })

export function encodeJson(value: unknown, most = MOST_PAYLOAD): Uint8Array {
  const bytes = encoder.encode(JSON.stringify(value))
  if (bytes.length > most) throw new RangeError('too large for a frame')
  return bytes
}

/** Returns the JSON of a payload; throws `ProtocolError` if it does not fit the schema. */
export function decodeJson<T extends TSchema>(schema: T, payload: Uint8Array, most = MOST_PAYLOAD): Static<T> {
  if (payload.length > most) throw new ProtocolError('a JSON payload is too large')
  let value: unknown
  try {
    value = JSON.parse(decoder.decode(payload))
  } catch {
    throw new ProtocolError('a payload is not JSON')
  }
  if (check(schema, value).length > 0) throw new ProtocolError('a JSON payload has another shape')
  return value as Static<T>
}
