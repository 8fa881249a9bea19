const ascii = (letter: string) => letter.charCodeAt(0)
const PARSE = ascii('P')
const BIND = ascii('B')
const DESCRIBE = ascii('D')
const EXECUTE = ascii('E')
const CLOSE = ascii('C')
const SYNC = ascii('S')
const QUERY = ascii('Q')
const STATEMENT = ascii('S')

/** Encodes the frontend half of the wire protocol into one buffer, until `take()`. */
export class Writer {
  #buffer = Buffer.allocUnsafe(16 * 1024)
  #at = 0
  #start = 0

  get length(): number {
    return this.#at
  }

  parse(name: string, text: string): void {
    this.#open(PARSE)
    this.#cstring(name)
    this.#cstring(text)
    this.#int16(0) // parameter types: inferred
    this.#end()
  }

  describe(name: string): void {
    this.#open(DESCRIBE)
    this.#byte(STATEMENT)
    this.#cstring(name)
    this.#end()
  }

  bind(name: string, params: readonly (string | null)[]): void {
    this.#open(BIND)
    this.#cstring('') // unnamed portal
    this.#cstring(name)
    this.#int16(0) // parameters as text
    this.#int16(params.length)
    for (const param of params) this.#value(param)
    this.#int16(0) // results as text
    this.#end()
  }

  execute(): void {
    this.#open(EXECUTE)
    this.#cstring('')
    this.#int32(0) // all rows
    this.#end()
  }

  close(name: string): void {
    this.#open(CLOSE)
    this.#byte(STATEMENT)
    this.#cstring(name)
    this.#end()
  }

  sync(): void {
    this.#open(SYNC)
    this.#end()
  }

  query(sql: string): void {
    this.#open(QUERY)
    this.#cstring(sql)
    this.#end()
  }

  take(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#at)
    bytes.set(this.#buffer.subarray(0, this.#at))
    this.#at = 0
    // One huge statement must not keep its buffer forever.
    if (this.#buffer.length > 1024 * 1024) this.#buffer = Buffer.allocUnsafe(16 * 1024)
    return bytes
  }

  clear(): void {
    this.#at = 0
  }

  #open(type: number): void {
    this.#reserve(5)
    this.#buffer[this.#at] = type
    this.#start = this.#at + 1
    this.#at += 5
  }

  #end(): void {
    this.#buffer.writeInt32BE(this.#at - this.#start, this.#start)
  }

  #value(text: string | null): void {
    if (text === null) {
      this.#int32(-1)
      return
    }
    this.#reserve(4 + text.length * 3)
    const size = this.#buffer.write(text, this.#at + 4)
    this.#buffer.writeInt32BE(size, this.#at)
    this.#at += 4 + size
  }

  #cstring(text: string): void {
    this.#reserve(text.length * 3 + 1)
    this.#at += this.#buffer.write(text, this.#at)
    this.#buffer[this.#at++] = 0
  }

  #byte(value: number): void {
    this.#reserve(1)
    this.#buffer[this.#at++] = value
  }

  #int16(value: number): void {
    this.#reserve(2)
    this.#at = this.#buffer.writeUInt16BE(value, this.#at)
  }

  #int32(value: number): void {
    this.#reserve(4)
    this.#at = this.#buffer.writeInt32BE(value, this.#at)
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + bytes))
    grown.set(this.#buffer.subarray(0, this.#at))
    this.#buffer = grown
  }
}
