import { readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import modelPath from '../../.cache/minilm-l6-v2.u8' with { type: 'file' }
import kernelPath from './kernel.wasm' with { type: 'file' }
import { MiniLM } from './minilm.ts'

declare const self: {
  onmessage: (event: MessageEvent<string>) => void
  postMessage(message: unknown, transfer?: ArrayBuffer[]): void
}

// On Linux this lowers the priority of the calling thread only, so that requests come first. Elsewhere it would slow
// down the whole server.
if (process.platform === 'linux') setPriority(4)

const model = new MiniLM(new Uint8Array(readFileSync(modelPath)), readFileSync(kernelPath))

self.onmessage = ({ data: text }) => {
  try {
    const vector = model.embed(text)
    self.postMessage({ vector }, [vector.buffer as ArrayBuffer])
  } catch (error) {
    self.postMessage({ error: String(error) })
  }
}
