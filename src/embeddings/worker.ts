import { readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import modelPath from '../../models/all-minilm-l6-v2.u8' with { type: 'file' }
import { fastestVariant } from './kernels.ts'
import { MiniLM } from './minilm.ts'

declare const self: {
  onmessage: (event: MessageEvent<string>) => void
  postMessage(message: unknown, transfer?: ArrayBuffer[]): void
}

// On Linux this lowers the priority of the calling thread only, so that requests come first. Elsewhere it would slow
// down the whole server.
if (process.platform === 'linux') setPriority(4)

function load(): MiniLM {
  const file = readFileSync(modelPath)
  return new MiniLM(new Uint8Array(file.buffer, file.byteOffset, file.length), fastestVariant())
}

const model = load()
// Frees the file: embedding leaves so little behind that it would stay in memory.
setTimeout(() => Bun.gc(true))

self.onmessage = ({ data: text }) => {
  try {
    const vector = model.embed(text)
    self.postMessage({ vector }, [vector.buffer as ArrayBuffer])
  } catch (error) {
    self.postMessage({ error: String(error) })
  }
}
