import type { Server } from 'bun'

export interface Asked {
  method: string
  path: string
  headers: Record<string, string>
  body: string
}

/** What a chat server says; `hang` until it is closed. */
export type Reply = Response | 'hang' | ((asked: Asked) => Response)

const DIMENSIONS = 32
/** Words that mean the same to this model. */
const synonyms: Record<string, string> = { car: 'automobile', vehicle: 'automobile', purchase: 'buy', bought: 'buy' }

/** Returns a simple vector: equal words and known synonyms are close. */
function vectorOf(text: string): number[] {
  const vector = Array<number>(DIMENSIONS).fill(0.001)
  for (const word of text.toLowerCase().match(/[a-z]{3,}/g) ?? []) {
    const slot = Number(Bun.hash(synonyms[word] ?? word) % BigInt(DIMENSIONS))
    vector[slot] = (vector[slot] as number) + 1
  }
  return vector
}

/** A server that speaks OpenAI's protocol for embeddings and chat, and writes down what it is sent. */
export class ModelServer {
  readonly asked: Asked[] = []
  reply: Reply = ModelServer.says('Nothing.')
  embeddings = true
  readonly #held: PromiseWithResolvers<Response>[] = []
  readonly #server: Server<undefined>

  constructor() {
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 60,
      fetch: async (request): Promise<Response> => {
        const url = new URL(request.url)
        const body = await request.text()
        if (url.pathname === '/v1/embeddings') return this.#embed(body)
        const asked = { method: request.method, path: url.pathname, headers: Object.fromEntries(request.headers), body }
        this.asked.push(asked)
        if (this.reply === 'hang') {
          const held = Promise.withResolvers<Response>()
          this.#held.push(held)
          return held.promise
        }
        return typeof this.reply === 'function' ? this.reply(asked) : (this.reply.clone() as Response)
      },
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }

  get settings(): Record<string, string> {
    return { EMBEDDINGS_URL: this.url, EMBEDDINGS_MODEL: 'child', EMBEDDINGS_DIMENSIONS: String(DIMENSIONS) }
  }

  #embed(body: string): Response {
    if (!this.embeddings) return new Response('gone fishing', { status: 503 })
    const { input } = JSON.parse(body) as { input: string[] }
    return Response.json({ data: input.map((text, index) => ({ index, embedding: vectorOf(text) })) })
  }

  static says(content: unknown): Response {
    return Response.json({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] })
  }

  async close(): Promise<void> {
    for (const held of this.#held) held.resolve(new Response())
    await this.#server.stop(true)
  }
}
