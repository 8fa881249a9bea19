import { workerUrl } from '../worker-url.ts'
import type { Embedder, EmbedOptions } from './embedder.ts'

/**
 * The model takes about 90 MB of memory, so it is loaded when first needed and dropped after a while without requests.
 */
const IDLE_MS = 5 * 60_000
export const LOCAL_ID = 'local:all-MiniLM-L6-v2:u8:1'

interface Waiting {
  text: string
  signal?: AbortSignal
  resolve(vector: Float32Array): void
  reject(error: unknown): void
}

/**
 * Runs offline, inside the binary, in its own thread. Takes one text at a time, so an urgent request waits for at most
 * one.
 */
export class LocalEmbedder implements Embedder {
  readonly id = LOCAL_ID
  readonly dimensions = 384
  readonly sequential = true
  readonly #urgent: Waiting[] = []
  readonly #patient: Waiting[] = []
  #current: Waiting | undefined
  #worker: Worker | undefined
  #idle: Timer | undefined

  constructor(private readonly idleMs = IDLE_MS) {}

  /** Whether the model is in memory. */
  get loaded(): boolean {
    return this.#worker !== undefined
  }

  get ready(): boolean {
    return this.loaded
  }

  embed(texts: readonly string[], { signal, urgent }: EmbedOptions = {}): Promise<Float32Array[]> {
    const vectors = texts.map((text) => {
      const { promise, resolve, reject } = Promise.withResolvers<Float32Array>()
      ;(urgent ? this.#urgent : this.#patient).push({ text, signal, resolve, reject })
      return promise
    })
    this.#next()
    return Promise.all(vectors)
  }

  #next(): void {
    while (!this.#current) {
      const next = this.#urgent.shift() ?? this.#patient.shift()
      if (!next) return
      if (next.signal?.aborted) {
        next.reject(next.signal.reason)
        continue
      }
      clearTimeout(this.#idle)
      this.#current = next
      this.#worker ??= this.#start()
      this.#worker.postMessage(next.text)
    }
  }

  #start(): Worker {
    const worker = new Worker(workerUrl('src/embeddings/worker.ts'))
    worker.onmessage = ({ data }: MessageEvent<{ vector?: Float32Array; error?: string }>) => {
      const done = this.#current
      this.#current = undefined
      if (data.vector) done?.resolve(data.vector)
      else done?.reject(new Error(data.error))
      this.#next()
      if (!this.#current) this.#rest()
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
    for (const { reject } of [this.#current, ...this.#urgent, ...this.#patient].filter((w) => w !== undefined))
      reject(reason)
    this.#current = undefined
    this.#urgent.length = 0
    this.#patient.length = 0
  }

  earlier(): undefined {}

  close(): void {
    clearTimeout(this.#idle)
    this.#drop(new Error('the server is stopping'))
  }
}
