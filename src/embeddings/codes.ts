import { fastestVariant, type Kernel, startKernel } from './kernels.ts'

const PAGE = 65_536
/** Largest number of a signed byte. */
const BYTE = 127
/** The query vector is rounded to as many bits as fit into sums of 32 bits. */
const FINEST = 8191
/** How finely scores are sorted before the best are taken. */
const BUCKETS = 4096
/** Approximate bytes of an id in the list and in the set, and of each kernel instance. */
const ID_BYTES = 150
const KERNEL_BYTES = 16_384
const roundUp = (n: number, to: number): number => Math.ceil(n / to) * to

/**
 * Unit vectors in memory, each number rounded to a byte, to find the nearest of many in a few milliseconds: 100,000
 * vectors of 384 numbers need 39 MB, and their ids another 15. Rounding changes the order of almost equal distances, so
 * a caller requests more than it needs and compares those exactly.
 */
export class VectorCodes {
  /** Made with the first vector: many owners have none. */
  #kernel: (Pick<Kernel, 'compare'> & { memory: WebAssembly.Memory }) | undefined
  readonly #width: number
  readonly #ids: string[] = []
  readonly #known = new Set<string>()
  /** In vectors; a multiple of 4, because the kernel takes four at a time. */
  #room = 0

  constructor(private readonly dimensions: number) {
    this.#width = roundUp(dimensions, 16)
  }

  get size(): number {
    return this.#ids.length
  }

  /** Memory that the vectors take, with their ids and what the kernel needs for itself. */
  get bytes(): number {
    return KERNEL_BYTES + (this.#kernel?.memory.buffer.byteLength ?? 0) + this.size * ID_BYTES
  }

  get #buffer(): ArrayBuffer {
    this.#kernel ??= begin()
    return this.#kernel.memory.buffer
  }

  has(id: string): boolean {
    return this.#known.has(id)
  }

  add(id: string, vector: Float32Array): void {
    if (this.has(id) || vector.length !== this.dimensions) return
    if (this.size === this.#room) this.#grow()
    const { codes, scales } = this.#layout()
    const most = largest(vector) || 1
    const row = new Int8Array(this.#buffer, codes + this.size * this.#width, this.#width)
    row.fill(0, vector.length)
    for (let i = 0; i < vector.length; i++) row[i] = Math.round(((vector[i] as number) / most) * BYTE)
    new Float32Array(this.#buffer, scales, this.#room)[this.size] = most / BYTE
    this.#ids.push(id)
    this.#known.add(id)
  }

  /** Returns the ids of the `count` nearest vectors or slightly more, unordered. */
  nearest(asked: Float32Array, count: number): string[] {
    if (asked.length !== this.dimensions || count <= 0) return []
    if (this.size <= count) return [...this.#ids]
    const layout = this.#layout()
    const most = largest(asked) || 1
    const finest = Math.min(FINEST, Math.floor(2 ** 31 / (BYTE * this.#width)))
    const rounded = new Int16Array(this.#buffer, layout.asked, this.#width).fill(0)
    for (let i = 0; i < asked.length; i++) rounded[i] = Math.round(((asked[i] as number) / most) * finest)
    this.#kernel?.compare(layout.codes, layout.scales, layout.asked, layout.scores, roundUp(this.size, 4), this.#width)
    return this.#best(new Float32Array(this.#buffer, layout.scores, this.size), count)
  }

  /** Sorts the scores into buckets. Only the last needed bucket may add more ids than requested. */
  #best(scores: Float32Array, count: number): string[] {
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (const score of scores) {
      if (score < low) low = score
      if (score > high) high = score
    }
    const per = (BUCKETS - 1) / (high - low || 1)
    const filled = new Uint32Array(BUCKETS)
    for (const score of scores) filled[((score - low) * per) | 0]!++
    let bucket = BUCKETS
    for (let taken = 0; taken < count && bucket > 0; ) taken += filled[--bucket] as number
    const found: string[] = []
    for (let i = 0; i < scores.length; i++)
      if (((((scores[i] as number) - low) * per) | 0) >= bucket) found.push(this.#ids[i] as string)
    return found
  }

  /** Addresses of: the asked vector, the codes, their scales, the scores. All are a multiple of 16. */
  #layout(room = this.#room): Record<'asked' | 'codes' | 'scales' | 'scores' | 'end', number> {
    const codes = this.#width * 2
    const scales = codes + room * this.#width
    const scores = scales + room * 4
    return { asked: 0, codes, scales, scores, end: scores + room * 4 }
  }

  /** Makes room for half as many again. The scales lie behind the codes, so they move. */
  #grow(): void {
    const before = new Float32Array(this.#buffer, this.#layout().scales, this.size).slice()
    this.#room = roundUp(Math.max(64, this.#room * 1.5), 4)
    const { scales, end } = this.#layout()
    const missing = end - this.#buffer.byteLength
    if (missing > 0) this.#kernel?.memory.grow(Math.ceil(missing / PAGE))
    new Float32Array(this.#buffer, scales, this.#room).set(before)
  }
}

function begin(): Pick<Kernel, 'compare'> & { memory: WebAssembly.Memory } {
  const memory = new WebAssembly.Memory({ initial: 1 })
  return { compare: startKernel(fastestVariant(), memory).compare, memory }
}

function largest(vector: Float32Array): number {
  let most = 0
  for (const value of vector) most = Math.max(most, Math.abs(value))
  return most
}
