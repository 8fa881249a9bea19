import { type Kernel, startKernel, type Variant } from './kernels.ts'
import { WordPiece } from './tokenizer.ts'

const WIDTH = 384
const INNER = 1536
const LAYERS = 6
const WORDS = 30_522
const TOKENS = 256
/** What the kernel for bytes adds to codes, so that none is negative. */
const ZERO = 8192

interface Tensor {
  bytes: Uint8Array
  /** A byte means `min + scale × byte`. */
  min: number
  scale: number
  /** Value of each of the 256 possible bytes. */
  values: Float32Array
}

interface Header {
  tensors: { n: string; s: number[]; min: number; scale: number }[]
  vocab: string
}

/**
 * all-MiniLM-L6-v2: a text of up to 256 tokens becomes 384 numbers of unit length. Synchronous, so it runs in a Worker.
 */
export class MiniLM {
  readonly #kernel: Kernel
  readonly #memory: Float32Array<ArrayBuffer>
  readonly #addresses = new Map<string, number>()
  readonly #tokenizer: WordPiece
  readonly #words: Tensor
  readonly #positions: Float32Array
  readonly #buffers: Record<'x' | 'qkv' | 'context' | 'y' | 'inner' | 'scratch' | 'codes' | 'steps', number>
  #top = 1024

  constructor(
    asset: Uint8Array,
    private readonly variant: Variant,
  ) {
    const { header, tensors } = unpack(asset)
    this.#tokenizer = new WordPiece(new Map(header.vocab.split('\n').map((word, id) => [word, id])))
    // A kernel may compute one row more, which no one reads.
    const rows = TOKENS + 4
    const bytes = variant.Codes.BYTES_PER_ELEMENT * LAYERS * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER)
    const floats = LAYERS * (4 * (5 * WIDTH + INNER) + 4 * WIDTH) + 2 * WIDTH + rows * (6 * WIDTH + INNER + 68)
    const memory = new WebAssembly.Memory({
      initial: Math.ceil((bytes + floats * 4 + rows * INNER * 2 + 4096 + 16 * 128) / 65_536),
    })
    this.#kernel = startKernel(variant, memory)
    this.#memory = new Float32Array(memory.buffer)
    const get = (name: string): Tensor => {
      const tensor = tensors.get(name)
      if (!tensor) throw new Error(`the embedding model lacks ${name}`)
      return tensor
    }
    this.#loadLayers(get)
    const word = get('word')
    // A copy, so that the rest of the file can be freed.
    this.#words = { ...word, bytes: word.bytes.slice(0, WORDS * WIDTH) }
    const type = plain(get('type'))
    this.#positions = plain(get('pos')).map((value, i) => value + (type[i % WIDTH] as number))
    this.#buffers = {
      x: this.#allocate(rows * WIDTH),
      qkv: this.#allocate(rows * 3 * WIDTH),
      context: this.#allocate(rows * WIDTH),
      y: this.#allocate(rows * WIDTH),
      inner: this.#allocate(rows * INNER),
      scratch: this.#allocate(rows * 65),
      codes: this.#allocate((rows * INNER) / 2),
      steps: this.#allocate(rows * 2),
    }
  }

  #allocate(floats: number): number {
    const at = this.#top
    this.#top = (at + floats * 4 + 15) & ~15
    return at
  }

  #put(name: string, values: Float32Array): void {
    const at = this.#allocate(values.length)
    this.#memory.set(values, at >> 2)
    this.#addresses.set(name, at)
  }

  /**
   * Packs the weights of a product, several tensors side by side, in the layout of the kernel. Each column is followed
   * by its scale, its bias, and what the byte kernel adds to its sums.
   */
  #pack(name: string, sources: Tensor[], biases: Tensor[], rows: number): void {
    const { Codes, panel, group } = this.variant
    const all = sources.reduce((sum, { bytes }) => sum + bytes.length / rows, 0)
    const at = this.#allocate((rows * all * Codes.BYTES_PER_ELEMENT) / 4)
    const packed = new Codes(this.#memory.buffer, at, rows * all)
    const scales = new Float32Array(4 * all)
    const offsets = new Int32Array(scales.buffer, 3 * all * 4)
    let first = 0
    for (const [i, { bytes, min, scale }] of sources.entries()) {
      const width = bytes.length / rows
      for (let column = 0; column < width; column++) {
        const to = first + column
        const start = Math.floor(to / panel) * panel * rows + (to % panel) * group
        let sum = 0
        for (let row = 0; row < rows; row++) {
          const code = (bytes[row * width + column] as number) - 128
          packed[start + (row - (row % group)) * panel + (row % group)] = code
          sum += code
        }
        offsets[to] = -ZERO * sum
      }
      scales.fill(scale, first, first + width)
      scales.fill(min + 128 * scale, all + first, all + first + width)
      scales.set(plain(biases[i] as Tensor), 2 * all + first)
      first += width
    }
    this.#addresses.set(name, at)
    this.#put(`${name} columns`, scales)
  }

  #loadLayers(get: (name: string) => Tensor): void {
    const pack = (name: string, sources: string[], rows: number) =>
      this.#pack(
        name,
        sources.map((source) => get(`${source}/Tensordot`)),
        sources.map((source) => get(`${source}/BiasAdd`)),
        rows,
      )
    const norm = (i: string, name: string) => {
      this.#put(`gain${i}`, plain(get(`${name}/LayerNorm/batchnorm/mul`)))
      this.#put(`bias${i}`, plain(get(`${name}/LayerNorm/batchnorm`)))
    }
    for (let i = 0; i < LAYERS; i++) {
      const self = ['query', 'key', 'value'].map((part) => `${i}/attention/self/${part}`)
      pack(`qkv${i}`, self, WIDTH)
      pack(`out${i}`, [`${i}/attention/output/dense`], WIDTH)
      norm(`1${i}`, `${i}/attention/output`)
      pack(`up${i}`, [`${i}/intermediate/dense`], WIDTH)
      pack(`down${i}`, [`${i}/output/dense`], INNER)
      norm(`2${i}`, `${i}/output`)
    }
    norm('', 'embeddings')
  }

  embed(text: string): Float32Array {
    const memory = this.#memory
    const { gelu, addnorm, attn } = this.#kernel
    const { x, qkv, context, y, inner, scratch } = this.#buffers
    const at = (name: string) => this.#addresses.get(name) as number
    const ids = this.#tokenizer.encode(text, TOKENS)
    const rows = ids.length
    this.#lookUp(ids, x)
    addnorm(x, 0, at('gain'), at('bias'), rows, WIDTH)
    for (let i = 0; i < LAYERS; i++) {
      this.#product(x, `qkv${i}`, qkv, rows, WIDTH, 3 * WIDTH)
      attn(qkv, context, scratch, rows)
      this.#product(context, `out${i}`, y, rows, WIDTH, WIDTH)
      addnorm(x, y, at(`gain1${i}`), at(`bias1${i}`), rows, WIDTH)
      this.#product(x, `up${i}`, inner, rows, WIDTH, INNER)
      gelu(inner, rows * INNER)
      this.#product(inner, `down${i}`, y, rows, INNER, WIDTH)
      addnorm(x, y, at(`gain2${i}`), at(`bias2${i}`), rows, WIDTH)
    }
    return toUnitLength(meanOf(memory.subarray(x >> 2, (x >> 2) + rows * WIDTH)))
  }

  #product(x: number, name: string, out: number, rows: number, inner: number, columns: number): void {
    const { codes, steps } = this.#buffers
    const at = (key: string) => this.#addresses.get(key) as number
    this.#kernel.quantize(x, codes, steps, rows, inner)
    this.#kernel.gemm(codes, steps, at(name), at(`${name} columns`), out, rows, inner, columns)
  }

  #lookUp(ids: number[], x: number): void {
    const { bytes, values } = this.#words
    let out = x >> 2
    for (const [row, id] of ids.entries())
      for (let i = 0; i < WIDTH; i++)
        this.#memory[out++] =
          (values[bytes[id * WIDTH + i] as number] as number) + (this.#positions[row * WIDTH + i] as number)
  }
}

function unpack(asset: Uint8Array): { header: Header; tensors: Map<string, Tensor> } {
  const length = new DataView(asset.buffer, asset.byteOffset).getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(asset.subarray(4, 4 + length))) as Header
  const tensors = new Map<string, Tensor>()
  let offset = 4 + length
  for (const { n: name, s: shape, min, scale } of header.tensors) {
    const size = shape.reduce((a, b) => a * b, 1)
    const values = Float32Array.from({ length: 256 }, (_, i) => Math.fround(i * Math.fround(scale)) + Math.fround(min))
    tensors.set(name, { bytes: asset.subarray(offset, offset + size), values, min, scale })
    offset += size
  }
  if (offset !== asset.length) throw new Error('the embedding model is damaged')
  return { header, tensors }
}

const plain = ({ bytes, values }: Tensor): Float32Array => Float32Array.from(bytes, (byte) => values[byte] as number)

/** The vector is scaled later, so the sum serves as the mean. */
function meanOf(rows: Float32Array): Float32Array {
  const sum = new Float32Array(WIDTH)
  for (let row = 0; row < rows.length; row += WIDTH)
    for (let i = 0; i < WIDTH; i++) sum[i] = (sum[i] as number) + (rows[row + i] as number)
  return sum
}

export function toUnitLength(vector: Float32Array): Float32Array {
  let length = 0
  for (const value of vector) length += value * value
  const scale = 1 / (Math.sqrt(length) || 1)
  return vector.map((value) => value * scale)
}
