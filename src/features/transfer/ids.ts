const WORDS = 4
const FIRST = 64
const DASH = 45
const DIGITS = Buffer.from('0123456789abcdef')
/** Characters of an id. */
const LENGTH = 36

/**
 * A set of ids in insertion order. It takes about 30 bytes for each, where strings in a `Set` take 130: an export keeps
 * the ids of all its records.
 */
export class Ids {
  /** The 128 bits of each id. */
  #words = new Uint32Array(FIRST * WORDS)
  /** By hash: the number of an id, counted from 1; 0 for a free slot. At least half of them are free. */
  #slots = new Int32Array(FIRST * 2)
  #size = 0
  readonly #asked = new Uint32Array(WORDS)

  get size(): number {
    return this.#size
  }

  add(id: string): void {
    if (!this.#read(id)) throw new Error(`${id} is no id`)
    if (this.#slots[this.#slotOf(this.#asked)] !== 0) return
    if ((this.#size + 1) * WORDS > this.#words.length) this.#grow()
    this.#words.set(this.#asked, this.#size * WORDS)
    this.#size++
    this.#slots[this.#slotOf(this.#asked)] = this.#size
  }

  has(id: string): boolean {
    return this.#read(id) && this.#slots[this.#slotOf(this.#asked)] !== 0
  }

  /** Returns all ids as Postgres arrays, `{a,b}`, of at most `size` ids each. */
  *lists(size: number): Generator<string> {
    const bytes = Buffer.allocUnsafe(size * (LENGTH + 1) + 1)
    for (let from = 0; from < this.#size; from += size) {
      let at = bytes.write('{', 'latin1')
      for (let i = from; i < Math.min(from + size, this.#size); i++) {
        if (i > from) at += bytes.write(',', at, 'latin1')
        at = this.#write(bytes, at, i)
      }
      at += bytes.write('}', at, 'latin1')
      yield bytes.toString('latin1', 0, at)
    }
  }

  /** Writes the text of an id, and returns its end. */
  #write(bytes: Buffer, at: number, index: number): number {
    let end = at
    for (let digit = 0; digit < 32; digit++) {
      if (digit === 8 || digit === 12 || digit === 16 || digit === 20) bytes[end++] = DASH
      const word = this.#words[index * WORDS + (digit >> 3)] as number
      bytes[end++] = DIGITS[(word >>> (28 - (digit & 7) * 4)) & 15] as number
    }
    return end
  }

  /** Reads an id into `asked`. Returns false if the text is not an id. */
  #read(id: string): boolean {
    if (id.length !== LENGTH) return false
    this.#asked.fill(0)
    let digits = 0
    for (let i = 0; i < id.length; i++) {
      const code = id.charCodeAt(i)
      const isDash = i === 8 || i === 13 || i === 18 || i === 23
      const digit = digitOf(code)
      if (isDash ? code !== DASH : digit < 0) return false
      if (isDash) continue
      const word = digits++ >> 3
      this.#asked[word] = ((this.#asked[word] as number) << 4) | digit
    }
    return true
  }

  /** Returns the slot of an id, or the free slot for it. */
  #slotOf(words: Uint32Array): number {
    const [a = 0, b = 0, c = 0, d = 0] = words
    const mask = this.#slots.length - 1
    // The first half of our ids is a time, which neighbours share.
    let slot = Math.imul(d ^ (c << 7) ^ b, 0x9e3779b1) >>> 7
    for (; ; slot++) {
      const found = this.#slots[slot & mask] as number
      if (found === 0) return slot & mask
      const at = (found - 1) * WORDS
      const known = this.#words
      if (known[at] === a && known[at + 1] === b && known[at + 2] === c && known[at + 3] === d) return slot & mask
    }
  }

  #grow(): void {
    const words = new Uint32Array(this.#words.length * 2)
    words.set(this.#words)
    this.#words = words
    this.#slots = new Int32Array(this.#slots.length * 2)
    for (let i = 0; i < this.#size; i++) this.#slots[this.#slotOf(words.subarray(i * WORDS, (i + 1) * WORDS))] = i + 1
  }
}

/** Returns the value of a hexadecimal digit; -1 for other characters. Postgres writes ids in lower case. */
function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  return code >= 97 && code <= 102 ? code - 87 : -1
}
