/** A server that speaks OpenAI's `/v1/embeddings`, on this machine. Tests define its responses. */
type Entry = { index: number; embedding: number[] }
interface Asked {
  path: string
  headers: Headers
  body: { model: string; input: string[]; encoding_format?: string }
}

export class EmbeddingServer {
  readonly requests: Asked[] = []
  vectors: (text: string, model: string) => number[] = () => [1, 0, 0]
  /** Changes the list of vectors before it is sent. */
  change: ((data: Entry[]) => unknown) | undefined
  /** Replaces the usual response. */
  answer: ((asked: Asked) => Response | Promise<Response>) | undefined
  readonly #server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const asked = {
        path: new URL(request.url).pathname,
        headers: request.headers,
        body: (await request.json()) as Asked['body'],
      }
      this.requests.push(asked)
      if (this.answer) return this.answer(asked)
      const data = asked.body.input.map((text, index) => ({ index, embedding: this.vectors(text, asked.body.model) }))
      return Response.json({ object: 'list', model: asked.body.model, data: this.change ? this.change(data) : data })
    },
  })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }
  last(): Asked {
    return this.requests.at(-1) as Asked
  }
  /** How often it was asked for exactly this text. */
  count(text: string): number {
    return this.requests.filter(({ body }) => body.input.includes(text)).length
  }
  async stop(): Promise<void> {
    await this.#server.stop(true)
  }
}
