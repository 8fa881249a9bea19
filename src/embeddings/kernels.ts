import { readFileSync } from 'node:fs'
import pairsPath from './kernel.wasm' with { type: 'file' }
import bytesPath from './kernel-bytes.wasm' with { type: 'file' }

/** Numbers are addresses in the memory of the kernel, and sizes. */
export interface Kernel {
  /** Rounds each row to 14 bits, because products of whole numbers take half as long. */
  quantize(x: number, codes: number, steps: number, rows: number, inner: number): void
  gemm(
    codes: number,
    steps: number,
    weights: number,
    columns: number,
    out: number,
    rows: number,
    inner: number,
    columnCount: number,
  ): void
  gelu(at: number, count: number): void
  addnorm(x: number, residual: number, gain: number, bias: number, rows: number, width: number): void
  attn(qkv: number, out: number, scratch: number, rows: number): void
  /** Changes what lies at `asked`. */
  compare(codes: number, scales: number, asked: number, scores: number, count: number, width: number): void
}

/** A kernel, and how it wants weights: [columns / panel][rows / group][panel][group] whole numbers. */
export interface Variant {
  module: WebAssembly.Module
  panel: number
  group: number
  Codes: Int8ArrayConstructor | Int16ArrayConstructor
}

const PAIRS = { path: pairsPath, panel: 16, group: 2, Codes: Int16Array }
const BYTES = { path: bytesPath, panel: 32, group: 4, Codes: Int8Array }
function variant({ path, ...layout }: typeof PAIRS | typeof BYTES): Variant[] {
  const wasm = readFileSync(path)
  return WebAssembly.validate(wasm) ? [{ module: new WebAssembly.Module(wasm), ...layout }] : []
}

/**
 * Returns the kernels that run here, the fastest first. Their results are the same, to the last bit. arm64 is four
 * times as fast with products of bytes, whose instructions not every engine has; x64 is faster with pairs of 16 bits.
 */
export const kernelVariants = (arch: NodeJS.Architecture = process.arch): Variant[] =>
  (arch === 'arm64' ? [BYTES, PAIRS] : [PAIRS, BYTES]).flatMap(variant)

let chosen: Variant | undefined
export function fastestVariant(): Variant {
  chosen ??= kernelVariants()[0]
  if (!chosen) throw new Error('this machine lacks the instructions that embeddings need')
  return chosen
}

/** The kernel calls this only where it has a defect. */
const abort = () => {
  throw new Error('the embedding kernel aborted')
}

export function startKernel({ module }: Variant, memory: WebAssembly.Memory): Kernel {
  const { exports } = new WebAssembly.Instance(module, { env: { memory, abort } })
  return exports as typeof exports & Kernel
}
