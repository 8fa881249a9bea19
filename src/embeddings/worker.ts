import { readFileSync } from 'node:fs'
import modelPath from '../../.cache/minilm-l6-v2.u8' with { type: 'file' }
import kernelPath from './kernel.wasm' with { type: 'file' }
import { MiniLM } from './minilm.ts'

declare const self: {
  onmessage: (event: MessageEvent<{ id: number; texts: string[] }>) => void
  postMessage(message: unknown, transfer?: ArrayBuffer[]): void
}

const model = new MiniLM(new Uint8Array(readFileSync(modelPath)), readFileSync(kernelPath))

self.onmessage = ({ data: { id, texts } }) => {
  try {
    const vectors = texts.map((text) => model.embed(text))
    self.postMessage(
      { id, vectors },
      vectors.map((vector) => vector.buffer as ArrayBuffer),
    )
  } catch (error) {
    self.postMessage({ id, error: String(error) })
  }
}
