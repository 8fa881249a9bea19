import { WordPiece } from './tokenizer.ts'

const WIDTH = 384
const INNER = 1536
const LAYERS = 6
const WORDS = 30_522
const TOKENS = 256
/** Tensors are packed for the kernel in panels of this many columns. */
const PANEL = 12

interface Kernel {
  gemm(
    x: number,
    weights: number,
    bias: number,
    out: number,
    scratch: number,
    rows: number,
    inner: number,
    columns: number,
  ): void
  gelu(at: number, count: number): void
  addnorm(x: number, residual: number, gain: number, bias: number, rows: number, width: number): void
  attn(qkv: number, out: number, scratch: number, rows: number): void
}

interface Tensor {
  bytes: Uint8Array
  /** Value of each of the 256 possible bytes. */
  values: Float32Array
}

interface Header {
  tensors: { n: string; s: number[]; min: number; scale: number }[]
  vocab: string
}

const roundUp = (n: number): number => (n + 3) & ~3

/**
 * all-MiniLM-L6-v2: a text of up to 256 tokens becomes 384 numbers of unit length. Synchronous, so it runs in a Worker.
 */
export class MiniLM {
  readonly #kernel: Kernel
  readonly #memory: Float32Array
  readonly #addresses = new Map<string, number>()
  readonly #tokenizer: WordPiece
  readonly #words: Tensor
  readonly #positions: Float32Array
  readonly #buffers: Record<'x' | 'qkv' | 'context' | 'y' | 'inner' | 'scores' | 'scratch', number>
  #top = 1024

  constructor(asset: Uint8Array, wasm: Uint8Array<ArrayBuffer>) {
    const { header, tensors } = unpack(asset)
    this.#tokenizer = new WordPiece(new Map(header.vocab.split('\n').map((word, id) => [word, id])))
    const rows = TOKENS + 4
    const weights =
      LAYERS * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER + 3 * WIDTH + WIDTH + INNER + WIDTH + 4 * WIDTH) + 2 * WIDTH
    const floats = weights + rows * (6 * WIDTH + 2 * INNER) + rows + 8
    const memory = new WebAssembly.Memory({ initial: Math.ceil((floats * 4 + 4096 + 16 * 128) / 65_536) })
    const abort = () => {
      throw new Error('the embedding kernel aborted')
    }
    const instance = new WebAssembly.Instance(new WebAssembly.Module(wasm), { env: { memory, abort } })
    this.#kernel = instance.exports as typeof instance.exports & Kernel
    this.#memory = new Float32Array(memory.buffer)
    const get = (name: string): Tensor => {
      const tensor = tensors.get(name)
      if (!tensor) throw new Error(`the embedding model lacks ${name}`)
      return tensor
    }
    this.#loadLayers(get)
    const { bytes, values } = get('word')
    // A copy, so that the rest of the file can be freed.
    this.#words = { bytes: bytes.slice(0, WORDS * WIDTH), values }
    const type = plain(get('type'))
    this.#positions = plain(get('pos')).map((value, i) => value + (type[i % WIDTH] as number))
    this.#buffers = {
      x: this.#allocate(rows * WIDTH),
      qkv: this.#allocate(rows * 3 * WIDTH),
      context: this.#allocate(rows * WIDTH),
      y: this.#allocate(rows * WIDTH),
      inner: this.#allocate(rows * INNER),
      scores: this.#allocate(rows + 8),
      scratch: this.#allocate(rows * INNER),
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

  /** Packs several tensors side by side, as [columns / 12][rows][12]. */
  #pack(name: string, sources: Tensor[], rows: number, columns: number): void {
    const all = columns * sources.length
    const at = this.#allocate(rows * all)
    let out = at >> 2
    for (let panel = 0; panel < all; panel += PANEL)
      for (let row = 0; row < rows; row++)
        for (let column = panel; column < panel + PANEL; column++) {
          const { bytes, values } = sources[Math.floor(column / columns)] as Tensor
          this.#memory[out++] = values[bytes[row * columns + (column % columns)] as number] as number
        }
    this.#addresses.set(name, at)
  }

  #loadLayers(get: (name: string) => Tensor): void {
    for (let i = 0; i < LAYERS; i++) {
      const self = ['query', 'key', 'value'].map((part) => `${i}/attention/self/${part}/`)
      const bias = new Float32Array(3 * WIDTH)
      for (const [part, name] of self.entries()) bias.set(plain(get(`${name}BiasAdd`)), part * WIDTH)
      this.#pack(
        `qkv${i}`,
        self.map((name) => get(`${name}Tensordot`)),
        WIDTH,
        WIDTH,
      )
      this.#put(`qkvBias${i}`, bias)
      this.#pack(`out${i}`, [get(`${i}/attention/output/dense/Tensordot`)], WIDTH, WIDTH)
      this.#put(`outBias${i}`, plain(get(`${i}/attention/output/dense/BiasAdd`)))
      this.#put(`gain1${i}`, plain(get(`${i}/attention/output/LayerNorm/batchnorm/mul`)))
      this.#put(`bias1${i}`, plain(get(`${i}/attention/output/LayerNorm/batchnorm`)))
      this.#pack(`up${i}`, [get(`${i}/intermediate/dense/Tensordot`)], WIDTH, INNER)
      this.#put(`upBias${i}`, plain(get(`${i}/intermediate/dense/BiasAdd`)))
      this.#pack(`down${i}`, [get(`${i}/output/dense/Tensordot`)], INNER, WIDTH)
      this.#put(`downBias${i}`, plain(get(`${i}/output/dense/BiasAdd`)))
      this.#put(`gain2${i}`, plain(get(`${i}/output/LayerNorm/batchnorm/mul`)))
      this.#put(`bias2${i}`, plain(get(`${i}/output/LayerNorm/batchnorm`)))
    }
    this.#put('gain', plain(get('embeddings/LayerNorm/batchnorm/mul')))
    this.#put('bias', plain(get('embeddings/LayerNorm/batchnorm')))
  }

  embed(text: string): Float32Array {
    const memory = this.#memory
    const { gemm, gelu, addnorm, attn } = this.#kernel
    const { x, qkv, context, y, inner, scores, scratch } = this.#buffers
    const at = (name: string) => this.#addresses.get(name) as number
    const ids = this.#tokenizer.encode(text, TOKENS)
    const rows = ids.length
    const padded = roundUp(rows)
    this.#lookUp(ids, x)
    for (const buffer of [x, context]) memory.fill(0, (buffer >> 2) + rows * WIDTH, (buffer >> 2) + padded * WIDTH)
    addnorm(x, 0, at('gain'), at('bias'), rows, WIDTH)
    for (let i = 0; i < LAYERS; i++) {
      gemm(x, at(`qkv${i}`), at(`qkvBias${i}`), qkv, scratch, padded, WIDTH, 3 * WIDTH)
      attn(qkv, context, scores, rows)
      gemm(context, at(`out${i}`), at(`outBias${i}`), y, scratch, padded, WIDTH, WIDTH)
      addnorm(x, y, at(`gain1${i}`), at(`bias1${i}`), rows, WIDTH)
      gemm(x, at(`up${i}`), at(`upBias${i}`), inner, scratch, padded, WIDTH, INNER)
      gelu(inner, padded * INNER)
      gemm(inner, at(`down${i}`), at(`downBias${i}`), y, scratch, padded, INNER, WIDTH)
      addnorm(x, y, at(`gain2${i}`), at(`bias2${i}`), rows, WIDTH)
    }
    return unit(meanOf(memory.subarray(x >> 2, (x >> 2) + rows * WIDTH)))
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
    tensors.set(name, { bytes: asset.subarray(offset, offset + size), values })
    offset += size
  }
  if (offset !== asset.length) throw new Error('the embedding model is damaged')
  return { header, tensors }
}

const plain = ({ bytes, values }: Tensor): Float32Array => Float32Array.from(bytes, (byte) => values[byte] as number)

/** The vector is scaled later, so the sum serves as the mean. */
function meanOf(rows: Float32Array): Float32Array {
  const sum = new Float32Array(WIDTH)
  for (let i = 0; i < rows.length; i++) sum[i % WIDTH] = (sum[i % WIDTH] as number) + (rows[i] as number)
  return sum
}

export function unit(vector: Float32Array): Float32Array {
  let length = 0
  for (const value of vector) length += value * value
  const scale = 1 / (Math.sqrt(length) || 1)
  return vector.map((value) => value * scale)
}
