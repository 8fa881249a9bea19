import { Type } from '@sinclair/typebox'
import { check } from '../check.ts'
import { AppError } from '../errors.ts'
import { hubLimits } from '../live/limits.ts'
import { array, bool, jsonObject, object, optional, type Static, type TSchema, text } from '../schema.ts'

const topic = text(200)
const topics = array(topic, hubLimits.topics)
/** The client's own name for the message, which the response repeats. */
const name = Type.Union([text(100), Type.Number()])
const ref = optional(name)

/** What a client may send, by `op`. */
const operations = {
  subscribe: object({
    op: Type.Literal('subscribe'),
    topics,
    cursor: optional(text(2000)),
    records: optional(bool()),
    ref,
  }),
  unsubscribe: object({ op: Type.Literal('unsubscribe'), topics, ref }),
  here: object({ op: Type.Literal('here'), topic, state: optional(jsonObject()), ref }),
  away: object({ op: Type.Literal('away'), topic, ref }),
}

export type Operation = { [K in keyof typeof operations]: Static<(typeof operations)[K]> }[keyof typeof operations]

const decoder = new TextDecoder('utf-8', { fatal: true })
const bad = (detail: string) => new AppError('invalid', detail)

/** Returns the JSON that a client has sent. */
export function parseJsonMessage(message: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof message === 'string' ? message : decoder.decode(message))
  } catch {
    throw bad('A message must be JSON.')
  }
}

const fieldsOf = (value: unknown) =>
  (typeof value === 'object' && value !== null ? value : {}) as { op?: unknown; ref?: unknown }

/** Returns the `ref` of a message that may be no operation, so that its error names it. */
export function messageRef(value: unknown): string | number | undefined {
  const given = fieldsOf(value).ref
  return given !== undefined && check(name, given).length === 0 ? (given as string | number) : undefined
}

/** Returns the operation in a message of a client. */
export function parseOperation(value: unknown): Operation {
  const { op } = fieldsOf(value)
  const schema: TSchema | undefined =
    typeof op === 'string' && Object.hasOwn(operations, op) ? operations[op as keyof typeof operations] : undefined
  if (!schema) throw bad(`A message is a JSON object with an op: ${Object.keys(operations).join(', ')}.`)
  const errors = check(schema, value)
  if (errors.length > 0) throw bad(errors.map((error) => error.message).join(' '))
  return value as Operation
}
