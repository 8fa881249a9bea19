import type { TestApp } from '../support/app.ts'

export interface Message {
  op?: string
  cursor: string
  type: string
  [field: string]: unknown
}

/** All messages that a client of the hub receives. */
class ReceivedMessages {
  readonly got: Message[] = []
  closed: { code: number; reason: string } | undefined
  /** Called with each message. */
  onMessage: (message: Message) => void = () => undefined
  #changed: (() => void)[] = []

  protected receive(json: string): void {
    const message = JSON.parse(json) as Message
    this.got.push(message)
    this.onMessage(message)
    this.#wake()
  }

  protected ended(code: number, reason: string): void {
    this.closed ??= { code, reason }
    this.#wake()
  }

  get events(): Message[] {
    return this.got.filter(({ op }) => op === undefined)
  }

  /** The types of events, and the `op` of other messages. */
  get names(): string[] {
    return this.got.map(({ op, type }) => op ?? type)
  }

  /** Waits for the nth message of this `op` or type of event. */
  async until(name: string, nth = 1): Promise<Message> {
    const found = () => this.got.filter(({ op, type }) => (op ?? type) === name)[nth - 1]
    return this.when(() => found() !== undefined).then(() => found() as Message)
  }

  async when(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.closed) throw new Error(`closed ${this.closed.code} after ${this.names.join(', ')}`)
      await new Promise<void>((go) => void this.#changed.push(go))
    }
  }

  async end(): Promise<{ code: number; reason: string }> {
    while (!this.closed) await new Promise<void>((go) => void this.#changed.push(go))
    return this.closed
  }

  #wake(): void {
    for (const go of this.#changed.splice(0)) go()
  }
}

/** A client of the hub over a WebSocket. */
export class LiveClient extends ReceivedMessages {
  private constructor(readonly socket: WebSocket) {
    super()
    socket.onmessage = ({ data }) => this.receive(String(data))
    socket.onclose = ({ code, reason }) => this.ended(code, reason)
  }

  static async open(t: Pick<TestApp, 'url'>, token: string, query = ''): Promise<LiveClient> {
    const headers = query === '' ? { authorization: `Bearer ${token}` } : undefined
    const client = new LiveClient(new WebSocket(`${t.url.replace('http', 'ws')}/api/ws${query}`, { headers } as never))
    await client.until('hello')
    return client
  }

  send(message: object | string): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  async subscribe(topics: string[], more: object = {}): Promise<Message> {
    const nth = this.got.filter(({ op }) => op === 'subscribed').length + 1
    this.send({ op: 'subscribe', topics, ...more })
    return this.until('subscribed', nth)
  }

  async close(): Promise<void> {
    this.socket.close()
    await this.end()
  }

  /** Like a lost network: the server receives no close. */
  async cut(): Promise<void> {
    this.socket.terminate()
    await this.end()
  }
}

/** A client of the hub that reads server-sent events. */
export class StreamClient extends ReceivedMessages {
  readonly #abort = new AbortController()

  static async open(
    t: Pick<TestApp, 'url'>,
    token: string,
    topics: readonly string[],
    cursor?: string,
  ): Promise<StreamClient> {
    const client = new StreamClient()
    const response = await fetch(`${t.url}/api/events?topics=${topics.join(',')}`, {
      headers: { authorization: `Bearer ${token}`, ...(cursor && { 'last-event-id': cursor }) },
      signal: client.#abort.signal,
    })
    void client.#read(response.body as ReadableStream<Uint8Array>)
    await client.until('subscribed')
    return client
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    let text = ''
    try {
      for await (const chunk of body) {
        text += decoder.decode(chunk, { stream: true })
        const parts = text.split('\n\n')
        text = parts.pop() as string
        for (const part of parts) {
          const data = /^data: (.*)$/m.exec(part)?.[1]
          if (data) this.receive(data)
        }
      }
    } catch {
      // The test has ended it.
    }
    this.ended(1006, '')
  }

  async close(): Promise<void> {
    this.#abort.abort()
    await this.end()
  }

  cut = (): Promise<void> => this.close()
}

/** A frame of a client as bytes: RFC 6455, with a mask of zeros. `claims`: the length that it says it has. */
export function frame(first: number, payload: Uint8Array, claims = payload.length, isMasked = true): Buffer {
  const mask = isMasked ? 0x80 : 0
  const length = Buffer.alloc(9)
  length[0] = mask | 127
  length.writeBigUInt64BE(BigInt(claims), 1)
  return Buffer.concat([Buffer.of(first), length, isMasked ? Buffer.alloc(4) : Buffer.of(), payload])
}
