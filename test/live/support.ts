import type { TestApp } from '../support/app.ts'

export interface Message {
  op?: string
  cursor: string
  type: string
  [field: string]: unknown
}

/** A client of the hub that keeps everything it gets. */
export class LiveClient {
  readonly got: Message[] = []
  closed: { code: number; reason: string } | undefined
  #changed: (() => void)[] = []

  private constructor(readonly socket: WebSocket) {
    socket.onmessage = ({ data }) => {
      this.got.push(JSON.parse(String(data)) as Message)
      this.#wake()
    }
    socket.onclose = ({ code, reason }) => {
      this.closed = { code, reason }
      this.#wake()
    }
  }

  static async open(t: Pick<TestApp, 'url'>, token: string, query = ''): Promise<LiveClient> {
    const headers = query === '' ? { authorization: `Bearer ${token}` } : undefined
    const client = new LiveClient(new WebSocket(`${t.url.replace('http', 'ws')}/api/ws${query}`, { headers } as never))
    await client.until('hello')
    return client
  }

  get events(): Message[] {
    return this.got.filter(({ op }) => op === undefined)
  }

  /** The names of events, and of what else the server said. */
  get names(): string[] {
    return this.got.map(({ op, type }) => op ?? type)
  }

  send(message: object | string): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
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

  async subscribe(topics: string[], more: object = {}): Promise<Message> {
    const nth = this.got.filter(({ op }) => op === 'subscribed').length + 1
    this.send({ op: 'subscribe', topics, ...more })
    return this.until('subscribed', nth)
  }

  async close(): Promise<void> {
    this.socket.close()
    await this.end()
  }

  #wake(): void {
    for (const go of this.#changed.splice(0)) go()
  }
}
