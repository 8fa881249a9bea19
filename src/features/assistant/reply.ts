import type { StartedAnswer } from './asking.ts'
import type { AnswerEvent, AnswerListener } from './schema.ts'

const encoder = new TextEncoder()
/** Keeps proxies, and our own limit for idle connections, from ending a quiet answer. */
const QUIET_MS = 10_000

type Begin = (emit: AnswerListener, signal: AbortSignal) => Promise<StartedAnswer>

const wantsEvents = ({ headers }: Request): boolean => headers.get('accept')?.includes('text/event-stream') ?? false

/**
 * Sends an answer while it is written: as server-sent events if the caller accepts them, otherwise as JSON at the end.
 * A caller who disconnects stops the model. Errors that refuse the question are thrown before anything is sent.
 */
export async function streamAnswer(request: Request, begin: Begin): Promise<Response> {
  const body = wantsEvents(request) ? new EventBody() : new JsonBody()
  const signal = AbortSignal.any([request.signal, body.gone.signal])
  const { answer, path } = await begin((happening) => body.add(happening), signal)
  body.stayOpen()
  answer.then(
    () => body.end(),
    (error: unknown) => body.fail(error),
  )
  return new Response(body.stream, body.init(path))
}

abstract class AnswerBody {
  readonly gone = new AbortController()
  readonly stream: ReadableStream<Uint8Array>
  protected abstract readonly quiet: string
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #timer: Timer | undefined

  constructor() {
    this.stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller
      },
      cancel: () => this.#stop(),
    })
  }

  /** Sends keep-alives until the end. Call it once the question is accepted: before, nothing reads the stream. */
  stayOpen(): void {
    this.#timer = setInterval(() => this.write(this.quiet), QUIET_MS)
  }

  abstract init(path: string): ResponseInit
  abstract add(happening: AnswerEvent): void

  protected write(text: string): void {
    if (this.gone.signal.aborted) return
    try {
      this.#controller.enqueue(encoder.encode(text))
    } catch {
      this.#stop()
    }
  }

  end(): void {
    clearInterval(this.#timer)
    if (!this.gone.signal.aborted) this.#controller.close()
  }

  fail(error: unknown): void {
    clearInterval(this.#timer)
    if (!this.gone.signal.aborted) this.#controller.error(error)
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.gone.abort()
  }
}

class EventBody extends AnswerBody {
  init = (): ResponseInit => ({
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    },
  })
  protected readonly quiet = ': keep-alive\n\n'

  add({ type, ...data }: AnswerEvent): void {
    this.write(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
  }
}

/** Sends spaces as keep-alives: before JSON they have no meaning. */
class JsonBody extends AnswerBody {
  init = (path: string): ResponseInit => ({
    status: 201,
    headers: { 'content-type': 'application/json', location: path },
  })
  protected readonly quiet = ' '

  add(happening: AnswerEvent): void {
    if (happening.type === 'done') this.write(JSON.stringify(happening.message))
  }
}
