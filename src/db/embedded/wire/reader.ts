import { DbError, type Result } from '../../driver.ts'
import type { Prepared } from './statements.ts'
import { decoderFor } from './values.ts'

/** One statement of a trip, in the order sent. */
export interface Step {
  readonly prepared: Prepared
  readonly isNew: boolean
}

export interface Reply {
  /** Transaction state after the trip: none, open or failed. */
  state: 'idle' | 'open' | 'failed'
  /** Result of the last statement that completed. */
  result?: Result
  tag: string
  error?: DbError
  /** How many statements completed. If one failed, it is the next one. */
  completed: number
  /** How many steps the backend parsed. */
  parsed: number
  /** Postgres reported more than an error, so its state can no longer be trusted. */
  broken: boolean
}

const code = (letter: string) => letter.charCodeAt(0)
const PARSE_COMPLETE = code('1')
const ROW_DESCRIPTION = code('T')
const DATA_ROW = code('D')
const COMMAND_COMPLETE = code('C')
const EMPTY_QUERY = code('I')
const ERROR = code('E')
const READY = code('Z')

/** Reads the reply to one trip. `steps` is empty for a simple query, whose rows are not needed. */
export function readReply(bytes: Uint8Array, steps: readonly Step[]): Reply {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const reply: Reply = { state: 'idle', tag: '', completed: 0, parsed: 0, broken: false }
  let rows: unknown[][] = []
  let ready = false
  for (let at = 0; at < buffer.length; ) {
    const type = buffer[at]
    const body = at + 5
    at += 1 + buffer.readInt32BE(at + 1)
    const prepared = steps[reply.completed]?.prepared
    switch (type) {
      case DATA_ROW:
        if (prepared) rows.push(readRow(buffer, body, prepared))
        break
      case COMMAND_COMPLETE:
        reply.tag = buffer.toString('latin1', body, at - 1)
        reply.result = { columns: prepared?.columns ?? [], rows, count: countOf(reply.tag) }
        reply.completed++
        rows = []
        break
      case EMPTY_QUERY:
        reply.tag = ''
        reply.result = { columns: [], rows: [], count: 0 }
        reply.completed++
        break
      case PARSE_COMPLETE:
        reply.parsed = reply.completed + 1
        break
      case ROW_DESCRIPTION:
        if (prepared) readColumns(buffer, body, prepared)
        break
      case ERROR:
        readError(buffer, body, reply)
        break
      case READY:
        reply.state = stateOf(buffer[body])
        ready = true
        break
    }
  }
  if (!ready || (!reply.error && reply.completed < steps.length)) reply.broken = true
  return reply
}

function readRow(buffer: Buffer, body: number, { decoders }: Prepared): unknown[] {
  const size = buffer.readUInt16BE(body)
  const row = new Array<unknown>(size)
  let at = body + 2
  for (let i = 0; i < size; i++) {
    const length = buffer.readInt32BE(at)
    at += 4
    if (length < 0) row[i] = null
    else {
      row[i] = decoders[i]?.(buffer, at, at + length)
      at += length
    }
  }
  return row
}

function readColumns(buffer: Buffer, body: number, prepared: Prepared): void {
  const size = buffer.readUInt16BE(body)
  let at = body + 2
  for (let i = 0; i < size; i++) {
    const end = buffer.indexOf(0, at)
    prepared.columns[i] = buffer.toString('utf8', at, end)
    prepared.decoders[i] = decoderFor(buffer.readUInt32BE(end + 7)) // after table oid (4) and column number (2)
    at = end + 19
  }
}

function readError(buffer: Buffer, body: number, reply: Reply): void {
  const fields = new Map<string, string>()
  for (let at = body; buffer[at] !== 0; ) {
    const end = buffer.indexOf(0, at + 1)
    fields.set(String.fromCharCode(buffer[at] as number), buffer.toString('utf8', at + 1, end))
    at = end + 1
  }
  if (fields.get('V') !== 'ERROR') reply.broken = true
  const state = fields.get('C') ?? 'XX000'
  reply.error ??= new DbError(
    state === '53100' ? 'disk_full' : state,
    fields.get('M') ?? 'unknown database error',
    fields.get('n'),
  )
}

function stateOf(status: number | undefined): Reply['state'] {
  if (status === code('I')) return 'idle'
  return status === code('T') ? 'open' : 'failed'
}

/** "INSERT 0 5", "SELECT 3", "UPDATE 2", "BEGIN" */
function countOf(tag: string): number {
  const count = Number(tag.slice(tag.lastIndexOf(' ') + 1))
  return Number.isNaN(count) ? 0 : count
}
