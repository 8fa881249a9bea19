import { expect, spyOn, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import modelPath from '../../models/all-minilm-l6-v2.u8' with { type: 'file' }
import { fastestVariant, kernelVariants, startKernel } from '../../src/embeddings/kernels.ts'
import { MiniLM } from '../../src/embeddings/minilm.ts'

const all = kernelVariants()
const groups = (of = all): number[] => of.map(({ group }) => group)
/** The same numbers in every run, from -1 to 1. */
const number = (i: number): number => Math.sin(i * 12.9898) * Math.cos(i * 78.233)

test('the weights match the checksum', async () => {
  const [expected] = (await Bun.file('models/SHA256SUMS').text()).split(' ')
  expect(new Bun.CryptoHasher('sha256').update(readFileSync(modelPath)).digest('hex')).toBe(expected as string)
})

test('each machine gets its fastest kernel, and one without byte instructions if the engine lacks them', () => {
  expect(groups(kernelVariants('arm64'))).toEqual([4, 2])
  expect(groups(kernelVariants('x64'))).toEqual([2, 4])
  expect(fastestVariant().group).toBe(process.arch === 'arm64' ? 4 : 2)
  const validate = spyOn(WebAssembly, 'validate').mockReturnValueOnce(false)
  expect(groups(kernelVariants('arm64'))).toEqual([2])
  validate.mockRestore()
})

test('every kernel computes bit-identical vectors', () => {
  const asset = new Uint8Array(readFileSync(modelPath))
  // The longest comes first, so that the others find what it left behind.
  const texts = [
    'word '.repeat(50),
    'one',
    'two words',
    '',
    'the nightly backup job, moved from cron to a timer: 2026!',
  ]
  const [first, ...others] = all.map((variant) => {
    const model = new MiniLM(asset, variant)
    return texts.map((text) => model.embed(text))
  })
  expect(others).toEqual([first as Float32Array[]])
})

test.each(all)('the kernel for groups of $group compares exactly, even the largest numbers', (variant) => {
  const [count, width] = [8, 48]
  const [codes, scales, scores] = [1024, 4096, 8192]
  const asked = Int16Array.from({ length: width }, (_, i) => 8191 * (i < 4 ? 1 : i < 8 ? -1 : number(i)))
  const rows = Int8Array.from(
    { length: count * width },
    (_, i) => 127 * (i < width ? 1 : i < 2 * width ? -1 : number(i)),
  )
  const memory = new WebAssembly.Memory({ initial: 1 })
  new Int16Array(memory.buffer).set(asked)
  new Int8Array(memory.buffer).set(rows, codes)
  new Float32Array(memory.buffer, scales).fill(1, 0, count)
  startKernel(variant, memory).compare(codes, scales, 0, scores, count, width)
  const right = Array.from({ length: count }, (_, row) =>
    Math.fround(asked.reduce((sum, value, i) => sum + value * (rows[row * width + i] as number), 0)),
  )
  expect([...new Float32Array(memory.buffer, scores, count)]).toEqual(right)
})

test.each(['kernel', 'kernel-bytes'])('the source of %s.wasm names the hash of its build', (name) => {
  const at = (ending: string) => readFileSync(`${import.meta.dir}/../../src/embeddings/${name}${ending}`)
  const said = /sha256 ([0-9a-f]{8})…/.exec(at('.as.ts').toString())?.[1]
  expect(new Bun.CryptoHasher('sha256').update(at('.wasm')).digest('hex').slice(0, 8)).toBe(said as string)
})
