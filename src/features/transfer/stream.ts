/** Bytes that are sent at once. The allocator retains less memory with small chunks than with large ones. */
const CHUNK = 8 << 10
/** Room after a chunk for its last line. */
const ROOM = 4 << 10

const encoder = new TextEncoder()
const NEW_LINE = '\n'

/** Collects texts as bytes. Joining them as strings first would leave several times as much garbage. */
class ByteBuffer {
  #bytes = new Uint8Array(CHUNK + ROOM)
  #length = 0

  get isFull(): boolean {
    return this.#length >= CHUNK
  }

  /** Returns the bytes of the text, which are valid until the next one is added. */
  add(text: string): Uint8Array {
    const needed = this.#length + text.length * 3
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
      larger.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = larger
    }
    const from = this.#length
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(from)).written
    return this.#bytes.subarray(from, this.#length)
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }
}

export interface Source {
  /** Several lines at a time: a promise for each would cost as much as its record. */
  pages: AsyncGenerator<readonly object[]>
  /** Must be called when reading stops, whatever the reason. It may be called again. */
  end(): Promise<void>
}

type Format = 'ndjson' | 'json'

/** Returns the lines as a stream of bytes. The last line contains the count of the others and their SHA-256. */
export function streamOf({ pages, end }: Source, format: Format): ReadableStream<Uint8Array> {
  const hash = new Bun.CryptoHasher('sha256')
  let count = 0
  let [page, at]: [readonly object[], number] = [[], 0]
  const write = (to: ByteBuffer, line: object): Uint8Array => {
    if (format === 'json') to.add(count === 0 ? '[\n' : ',\n')
    return to.add(JSON.stringify(line))
  }
  const next = async (): Promise<{ bytes: Uint8Array; isLast: boolean }> => {
    const gathered = new ByteBuffer()
    while (!gathered.isFull) {
      const line = page[at++]
      if (line) {
        hash.update(write(gathered, line))
        hash.update(NEW_LINE)
        if (format === 'ndjson') gathered.add(NEW_LINE)
        count++
        continue
      }
      const { value, done } = await pages.next()
      if (done) {
        write(gathered, { end: { count, sha256: hash.digest('hex') } })
        gathered.add(format === 'json' ? '\n]\n' : NEW_LINE)
        return { bytes: gathered.bytes, isLast: true }
      }
      page = value
      at = 0
    }
    return { bytes: gathered.bytes, isLast: false }
  }
  return new ReadableStream({
    async pull(controller) {
      try {
        // A fast reader would otherwise block the event loop for a whole page of records.
        await new Promise(setImmediate)
        const { bytes, isLast } = await next()
        // After the last line the user may start another export.
        if (isLast) await end()
        controller.enqueue(bytes)
        if (isLast) controller.close()
      } catch (error) {
        await end().catch(() => undefined)
        controller.error(error)
      }
    },
    cancel: end,
  })
}
