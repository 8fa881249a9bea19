import { type Embedder, type EmbedOptions, TextRefused } from './embedder.ts'
import { LOCAL_ID, LocalEmbedder } from './local.ts'
import { toUnitLength } from './minilm.ts'

const BATCH = 64
const LIMIT_MS = 30_000
/** Enough for 64 vectors with 4,000 numbers each. */
const MOST_BYTES = 16 << 20

/** Any server that speaks OpenAI's `/v1/embeddings`: Ollama, llama.cpp, vLLM, LM Studio. */
export class HttpEmbedder implements Embedder {
  readonly id: string
  readonly ready = true
  #before: Embedder | undefined

  constructor(
    private readonly url: string,
    private readonly model: string,
    readonly dimensions: number,
    private readonly key: string | undefined,
  ) {
    this.id = `http:${model}:${dimensions}`
  }

  async embed(texts: readonly string[], { signal }: EmbedOptions = {}): Promise<Float32Array[]> {
    const vectors: Float32Array[] = []
    for (let from = 0; from < texts.length; from += BATCH)
      vectors.push(...(await this.#ask(texts.slice(from, from + BATCH), signal)))
    return vectors
  }

  async #ask(input: readonly string[], signal: AbortSignal | undefined): Promise<Float32Array[]> {
    const limit = AbortSignal.timeout(LIMIT_MS)
    const response = await fetch(`${this.url.replace(/\/$/, '')}/embeddings`, {
      method: 'POST',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      // The operator trusts this address, but not where it might redirect.
      redirect: 'error',
      headers: { 'content-type': 'application/json', ...(this.key && { authorization: `Bearer ${this.key}` }) },
      body: JSON.stringify({ model: this.model, input, encoding_format: 'float' }),
    })
    const answer = await textOf(response)
    if (!response.ok) {
      const message = `the embedding server returned status ${response.status}: ${answer.slice(0, 200)}`
      throw [400, 413, 422].includes(response.status) ? new TextRefused(message) : new Error(message)
    }
    return this.#read(answer, input.length)
  }

  #read(answer: string, count: number): Float32Array[] {
    const { data } = parse(answer)
    if (!Array.isArray(data)) throw new Error('the embedding server returned no data')
    if (data.length !== count)
      throw new Error(`the embedding server returned ${data.length} vectors for ${count} texts`)
    const vectors: Float32Array[] = new Array(count)
    for (const [position, entry] of data.entries()) {
      const { index = position, embedding } = (entry ?? {}) as { index?: number; embedding?: unknown }
      if (!Number.isInteger(index) || index < 0 || index >= count || vectors[index])
        throw new Error('the embedding server returned vectors that belong to no text')
      if (!Array.isArray(embedding) || embedding.length !== this.dimensions)
        throw new Error(
          `the embedding server returned ${Array.isArray(embedding) ? embedding.length : 'no'} dimensions; EMBEDDINGS_DIMENSIONS says ${this.dimensions}`,
        )
      const vector = Float32Array.from(embedding)
      if (!vector.every(Number.isFinite) || vector.every((value) => value === 0))
        throw new Error('the embedding server returned a vector of length zero')
      vectors[index] = toUnitLength(vector)
    }
    return vectors
  }

  /** The built-in model, or another one of this server, which may still offer it. */
  earlier(id: string): Embedder | undefined {
    if (this.#before?.id === id) return this.#before
    const [, model, dimensions] = /^http:(.+):(\d+)$/.exec(id) ?? []
    this.#before?.close()
    if (id === LOCAL_ID) this.#before = new LocalEmbedder()
    else this.#before = model ? new HttpEmbedder(this.url, model, Number(dimensions), this.key) : undefined
    return this.#before
  }

  close(): void {
    this.#before?.close()
  }
}

function parse(text: string): { data?: unknown } {
  try {
    const answer: unknown = JSON.parse(text)
    if (typeof answer === 'object' && answer !== null) return answer
  } catch {}
  throw new Error(`the embedding server did not return JSON: ${text.slice(0, 100)}`)
}

/** Reads up to a limit: a misbehaving server must not exhaust our memory. */
async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true })
    if (text.length > MOST_BYTES) throw new Error('the embedding server returned too much data')
  }
  return text + decoder.decode()
}
