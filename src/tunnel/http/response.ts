import { MOST_HEAD, type ResponseHead, resetCodes } from '../frames.ts'

type Pairs = [string, string][]

/** The service sent an invalid response, or one that a tunnel does not support. */
export class BadResponse extends Error {
  constructor(
    message: string,
    readonly code: typeof resetCodes.local | typeof resetCodes.tooLarge = resetCodes.local,
  ) {
    super(message)
  }
}

interface ResponseEvents {
  /** `isEnd`: no body follows. */
  head(head: ResponseHead, isEnd: boolean): void
  /** A part of the body, maybe an empty one at its end. */
  body(bytes: Uint8Array, isEnd: boolean): void
}

/** Headers of a response, as many as a frame carries. */
const MOST_HEADERS = 200
const MOST_NAME = 256
const MOST_VALUE = 16 << 10
/** Bytes of a line between the chunks of a body. */
const MOST_LINE = 4 << 10

const nothing = new Uint8Array(0)
const LF = 10

/**
 * Reads one HTTP/1.1 response from the bytes of a connection and passes it on as it arrives. Headers keep their order
 * and repetitions, which `fetch` and `node:http` of Bun do not do at this speed.
 */
export class ResponseReader {
  #state: 'head' | 'length' | 'size' | 'data' | 'after' | 'trailer' | 'close' | 'done' = 'head'
  /** Bytes left of the body, or of its current chunk. */
  #left = 0
  #trailerBytes = 0
  /** Bytes of an incomplete part. */
  #held: Buffer | undefined
  #mayStay = false
  hasBegun = false

  /** `isHead`: the response to a HEAD request, which has no body. */
  constructor(
    private readonly isHead: boolean,
    private readonly events: ResponseEvents,
  ) {}

  get isDone(): boolean {
    return this.#state === 'done'
  }

  /** The connection can carry another request. */
  get isReusable(): boolean {
    return this.isDone && this.#mayStay
  }

  /** Throws `BadResponse`. */
  feed(bytes: Buffer): void {
    this.hasBegun = true
    let rest = this.#held ? Buffer.concat([this.#held, bytes]) : bytes
    this.#held = undefined
    while (rest.length > 0) {
      // Bytes after the response belong to no request and are dropped.
      if (this.#state === 'done') {
        this.#mayStay = false
        return
      }
      const taken = this.#take(rest)
      if (taken === 0) {
        this.#held = rest
        return
      }
      rest = rest.subarray(taken)
    }
  }

  /** The connection has ended. Throws `BadResponse` if the response is incomplete. */
  close(): void {
    this.#mayStay = false
    if (this.#state === 'done') return
    if (this.#state !== 'close') throw new BadResponse('the connection ended within the response')
    this.#end()
  }

  /** Returns how many bytes were used; 0 if more are needed. */
  #take(bytes: Buffer): number {
    switch (this.#state) {
      case 'head':
        return this.#head(bytes)
      case 'length':
        return this.#length(bytes)
      case 'size':
        return this.#line(bytes, (line) => this.#size(line))
      case 'data':
        return this.#data(bytes)
      case 'after':
        return this.#line(bytes, (line) => {
          if (line !== '') throw new BadResponse('a chunk is longer than it says')
          this.#state = 'size'
        })
      case 'trailer':
        return this.#line(bytes, (line) => this.#trailer(line))
      default:
        this.events.body(bytes, false)
        return bytes.length
    }
  }

  #head(bytes: Buffer): number {
    const end = endOfHead(bytes)
    if ((end < 0 ? bytes.length : end) > MOST_HEAD) throw new BadResponse('the head is too large', resetCodes.tooLarge)
    if (end < 0) return 0
    const { isOld, head } = parseHead(bytes.toString('latin1', 0, end))
    // The request did not ask for an upgrade. Other 1xx responses are skipped.
    if (head.status === 101) throw new BadResponse('an upgrade that nobody asked for')
    if (head.status >= 200) this.#begin(head, isOld)
    return end
  }

  #begin(head: ResponseHead, isOld: boolean): void {
    const { length, encoding, connection } = framingOf(head.headers)
    this.#mayStay = !isOld && !connection.includes('close') && (length === undefined || encoding === undefined)
    const isEmpty = this.isHead || head.status === 204 || head.status === 304 || (!encoding && length === 0)
    if (isEmpty) this.#state = 'done'
    else if (encoding !== undefined) this.#state = /(^|[\s,])chunked$/i.test(encoding) ? 'size' : 'close'
    else if (length !== undefined) this.#state = 'length'
    else this.#state = 'close'
    this.#left = length ?? 0
    if (this.#state === 'close') this.#mayStay = false
    this.events.head(head, isEmpty)
  }

  #length(bytes: Buffer): number {
    const count = Math.min(this.#left, bytes.length)
    this.#left -= count
    if (this.#left === 0) this.#state = 'done'
    this.events.body(count === bytes.length ? bytes : bytes.subarray(0, count), this.#left === 0)
    return count
  }

  #data(bytes: Buffer): number {
    const count = Math.min(this.#left, bytes.length)
    this.#left -= count
    if (this.#left === 0) this.#state = 'after'
    this.events.body(bytes.subarray(0, count), false)
    return count
  }

  #line(bytes: Buffer, take: (line: string) => void): number {
    const end = bytes.indexOf(LF)
    if ((end < 0 ? bytes.length : end) > MOST_LINE) throw new BadResponse('a line of a chunk is too long')
    if (end < 0) return 0
    take(bytes.toString('latin1', 0, end).replace(/\r$/, ''))
    return end + 1
  }

  #size(line: string): void {
    const size = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?$/i.exec(line)?.[1]
    if (size === undefined) throw new BadResponse('a chunk has no size')
    this.#left = Number.parseInt(size, 16)
    this.#state = this.#left === 0 ? 'trailer' : 'data'
  }

  #trailer(line: string): void {
    this.#trailerBytes += line.length
    if (this.#trailerBytes > MOST_HEAD) throw new BadResponse('the trailer is too large')
    if (line === '') this.#end()
  }

  #end(): void {
    this.#state = 'done'
    this.events.body(nothing, true)
  }
}

/** Returns the position after the empty line; -1 without one. A service may end its lines without CR. */
function endOfHead(bytes: Buffer): number {
  const first = bytes.indexOf(LF)
  const isUsual = first < 1 || bytes[first - 1] === 13
  const empty = isUsual ? '\r\n\r\n' : '\n\n'
  const at = bytes.indexOf(empty)
  return at < 0 ? -1 : at + empty.length
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: what a value of a header must not have
const forbidden = /[\0-\x08\x0a-\x1f\x7f]/

function parseHead(text: string): { isOld: boolean; head: ResponseHead } {
  const [first = '', ...lines] = text.trimEnd().split(/\r?\n/)
  const [, minor, status] = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: .*)?$/.exec(first) ?? []
  if (!status) throw new BadResponse('no status line of HTTP/1.1')
  const headers: Pairs = []
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon)
    const value = line.slice(colon + 1).trim()
    if (colon < 1 || !token.test(name) || forbidden.test(value)) throw new BadResponse('a header is wrong')
    if (name.length > MOST_NAME || value.length > MOST_VALUE || headers.length === MOST_HEADERS)
      throw new BadResponse('too many or too long headers', resetCodes.tooLarge)
    headers.push([name, value])
  }
  return { isOld: minor === '0', head: { status: Number(status), headers } }
}

/** Returns the headers that decide where a response ends. Throws `BadResponse` if they contradict each other. */
function framingOf(headers: Pairs): { length?: number; encoding?: string; connection: string } {
  let length: number | undefined
  let encoding: string | undefined
  let connection = ''
  for (const [given, value] of headers) {
    const name = given.toLowerCase()
    if (name === 'transfer-encoding') encoding = encoding === undefined ? value : `${encoding}, ${value}`
    else if (name === 'connection') connection += value.toLowerCase()
    else if (name === 'content-length') {
      const next = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
      if (Number.isNaN(next) || (length !== undefined && length !== next))
        throw new BadResponse('its length is not clear')
      length = next
    }
  }
  return { length, encoding, connection }
}
