import type { Server } from 'bun'

/** What a chat server was asked: the body that it got, and whether the caller hung up. */
export interface Asked {
  authorization: string | null
  body: {
    model: string
    stream?: boolean
    messages: { role: string; content: string; tool_calls?: unknown[]; tool_call_id?: string }[]
    tools?: { function: { name: string } }[]
    max_tokens?: number
  }
  hungUp: Promise<void>
}

type Step = (asked: Asked) => Response | Promise<Response>

const encoder = new TextEncoder()
const line = (data: unknown): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
const delta = (part: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: part, finish_reason: finish }],
})
const ended = (reason = 'stop') => [delta({}, reason), '[DONE]']
const events = { headers: { 'content-type': 'text/event-stream' } }

/** A server that speaks OpenAI's `/v1/chat/completions`, and replies as each test scripts it, step by step. */
export class ChatServer {
  readonly asked: Asked[] = []
  /** The replies, in turn; the last one is repeated. */
  #script: Step[] = [ChatServer.says('Nothing.')]
  readonly #server: Server<undefined>

  constructor() {
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 60,
      fetch: async (request): Promise<Response> => {
        const hungUp = Promise.withResolvers<void>()
        request.signal.addEventListener('abort', () => hungUp.resolve())
        const body = (await request.json()) as Asked['body']
        const asked = { authorization: request.headers.get('authorization'), body, hungUp: hungUp.promise }
        this.asked.push(asked)
        const step = this.#script.length > 1 ? (this.#script.shift() as Step) : (this.#script[0] as Step)
        return step(asked)
      },
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }

  script(...steps: Step[]): void {
    this.asked.length = 0
    this.#script = steps
  }

  close = (): Promise<void> => this.#server.stop(true)

  /** A stream of these pieces of text. */
  static says(...pieces: string[]): Step {
    return () => ChatServer.streamOf([...pieces.map((content) => delta({ content })), ...ended()])
  }

  /** Likewise, with what it cost. */
  static saysWithUsage(text: string, prompt: number, completion: number): Step {
    const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
    return () => ChatServer.streamOf([delta({ content: text }), delta({}, 'stop'), { choices: [], usage }, '[DONE]'])
  }

  /** Calls of tools, whose arguments come in two pieces. */
  static calls(...calls: [name: string, given: object | string][]): Step {
    const pieces = calls.flatMap(([name, given], index) => {
      const text = typeof given === 'string' ? given : JSON.stringify(given)
      const half = Math.ceil(text.length / 2)
      return [
        delta({ tool_calls: [{ index, id: `call-${index}`, type: 'function', function: { name, arguments: '' } }] }),
        delta({ tool_calls: [{ index, function: { arguments: text.slice(0, half) } }] }),
        delta({ tool_calls: [{ index, function: { arguments: text.slice(half) } }] }),
      ]
    })
    return () => ChatServer.streamOf([...pieces, ...ended('tool_calls')])
  }

  /** The pieces, and then nothing more until the caller hangs up. */
  static saysAndWaits(...pieces: string[]): Step {
    return ({ hungUp }) => {
      const stream = new ReadableStream<Uint8Array>({
        async start(controller) {
          for (const content of pieces) controller.enqueue(encoder.encode(line(delta({ content }))))
          await hungUp
        },
      })
      return new Response(stream, events)
    }
  }

  /** A stream that ends in the middle. */
  static cutOff(text: string): Step {
    return () => ChatServer.streamOf([delta({ content: text })])
  }

  static streamOf(parts: readonly unknown[]): Response {
    return new Response(parts.map(line).join(''), events)
  }
}
