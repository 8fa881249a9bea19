import { workerUrl } from '../worker-url.ts'
import type { Embedder } from './embedder.ts'

/** The model is about 130 MB of memory, so it is loaded when first needed and dropped when nobody has asked for a while. */
const IDLE_MS = 5 * 60_000

interface Waiting {
  resolve(vectors: Float32Array[]): void
  reject(error: Error): void
}

/** Offline, inside the binary, on a thread of its own. */
export class LocalEmbedder implements Embedder {
  readonly id = 'local:all-MiniLM-L6-v2:u8:1'
  readonly dimensions = 384
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #last = 0
  #idle: Timer | undefined

  constructor(private readonly idleMs = IDLE_MS) {}

  /** Whether the model is in memory. */
  get loaded(): boolean {
    return this.#worker !== undefined
  }

  async embed(texts: readonly string[]): Promise<Float32Array[]> {
    if (texts.length === 0) return []
    clearTimeout(this.#idle)
    this.#worker ??= this.#start()
    const id = ++this.#last
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array[]>()
    this.#waiting.set(id, { resolve, reject })
    this.#worker.postMessage({ id, texts })
    return promise
  }

  #start(): Worker {
    const worker = new Worker(workerUrl('src/embeddings/worker.ts'))
    worker.onmessage = ({ data }: MessageEvent<{ id: number; vectors?: Float32Array[]; error?: string }>) => {
      const waiting = this.#waiting.get(data.id)
      this.#waiting.delete(data.id)
      if (data.vectors) waiting?.resolve(data.vectors)
      else waiting?.reject(new Error(data.error))
      if (this.#waiting.size === 0) this.#rest()
    }
    worker.onerror = (event) => this.#drop(new Error(event.message))
    return worker
  }

  #rest(): void {
    this.#idle = setTimeout(() => this.#drop(new Error('the embedding model was idle')), this.idleMs)
    this.#idle.unref()
  }

  #drop(reason: Error): void {
    this.#worker?.terminate()
    this.#worker = undefined
    for (const { reject } of this.#waiting.values()) reject(reason)
    this.#waiting.clear()
  }

  close(): void {
    clearTimeout(this.#idle)
    this.#drop(new Error('the server is stopping'))
  }
}
