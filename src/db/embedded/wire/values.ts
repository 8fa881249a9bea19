/** Encodes a parameter in Postgres text format. Postgres infers the type, so only the JavaScript type matters here. */
export function encodeParam(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'bigint':
      return String(value)
    case 'boolean':
      return value ? 't' : 'f'
    case 'undefined':
      return null
    default:
      if (value === null) return null
      if (value instanceof Date) return value.toISOString()
      if (value instanceof Uint8Array)
        return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
      return JSON.stringify(value)
  }
}

export type Decode = (buffer: Buffer, start: number, end: number) => unknown

const decodeText: Decode = (buffer, start, end) => buffer.toString('utf8', start, end)

/** For types whose text is always ASCII: takes a fifth less time. */
const decodeAscii: Decode = (buffer, start, end) => buffer.toString('latin1', start, end)

const decodeInt: Decode = (buffer, start, end) => {
  const negative = buffer[start] === 0x2d
  let value = 0
  for (let at = negative ? start + 1 : start; at < end; at++) value = value * 10 + (buffer[at] as number) - 0x30
  return negative ? -value : value
}

const decodeFloat: Decode = (buffer, start, end) => Number(buffer.toString('latin1', start, end))

const decodeBool: Decode = (buffer, start) => buffer[start] === 0x74

/** `bytea_output` is hex: a leading \x */
const decodeBytes: Decode = (buffer, start, end) =>
  new Uint8Array(Buffer.from(buffer.toString('latin1', start + 2, end), 'hex'))

const byOid = new Map<number, Decode>([
  [16, decodeBool],
  [17, decodeBytes],
  // int8, date, timestamptz, numeric, uuid
  [20, decodeAscii],
  [1082, decodeAscii],
  [1184, decodeAscii],
  [1700, decodeAscii],
  [2950, decodeAscii],
  [21, decodeInt],
  [23, decodeInt],
  [26, decodeInt],
  [700, decodeFloat],
  [701, decodeFloat],
])

/**
 * int8, numeric, timestamps, json, arrays, uuid, vector and all others stay text: the column types above decode them.
 */
export function decoderFor(oid: number): Decode {
  return byOid.get(oid) ?? decodeText
}
