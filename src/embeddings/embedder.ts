import type { Config } from '../config.ts'
import { LocalEmbedder } from './local.ts'
import { unit } from './minilm.ts'

/** Turns texts into vectors of unit length. */
export interface Embedder {
  /** Stored with every vector: vectors of different models must not be compared. */
  readonly id: string
  readonly dimensions: number
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>
  close(): void
}

export function createEmbedder({ EMBEDDINGS_URL, EMBEDDINGS_MODEL, EMBEDDINGS_KEY, EMBEDDINGS_DIMENSIONS }: Config): Embedder {
  if (!EMBEDDINGS_URL) return new LocalEmbedder()
  return new HttpEmbedder(EMBEDDINGS_URL, EMBEDDINGS_MODEL as string, EMBEDDINGS_DIMENSIONS as number, EMBEDDINGS_KEY)
}

const BATCH = 64
const LIMIT_MS = 30_000

interface Answer {
  data: { index: number; embedding: number[] }[]
}

/** Any server that speaks OpenAI's `/v1/embeddings`: Ollama, llama.cpp, vLLM, LM Studio. */
class HttpEmbedder implements Embedder {
  readonly id: string

  constructor(
    private readonly url: string,
    private readonly model: string,
    readonly dimensions: number,
    private readonly key: string | undefined,
  ) {
    this.id = `http:${model}:${dimensions}`
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const vectors: Float32Array[] = []
    for (let from = 0; from < texts.length; from += BATCH) vectors.push(...(await this.#ask(texts.slice(from, from + BATCH), signal)))
    return vectors
  }

  async #ask(input: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const limit = AbortSignal.timeout(LIMIT_MS)
    const response = await fetch(`${this.url.replace(/\/$/, '')}/embeddings`, {
      method: 'POST',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      headers: { 'content-type': 'application/json', ...(this.key && { authorization: `Bearer ${this.key}` }) },
      body: JSON.stringify({ model: this.model, input, encoding_format: 'float' }),
    })
    if (!response.ok) throw new Error(`the embedding server answered ${response.status}: ${(await response.text()).slice(0, 200)}`)
    const { data } = (await response.json()) as Answer
    if (data.length !== input.length) throw new Error(`the embedding server answered ${data.length} vectors for ${input.length} texts`)
    return data
      .toSorted((a, b) => a.index - b.index)
      .map(({ embedding }) => {
        if (embedding.length !== this.dimensions)
          throw new Error(`the embedding server answered ${embedding.length} dimensions; EMBEDDINGS_DIMENSIONS says ${this.dimensions}`)
        return unit(Float32Array.from(embedding))
      })
  }

  close(): void {}
}
