import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** Where a connection breaks: before the whole request has arrived, or before any of the response comes back. */
export type Cut = 'request' | 'response'

/** A line to a server that breaks when a test wants it to. The server sees what it would see of a lost network. */
export class Line {
  #cut: Cut | undefined

  private constructor(
    private readonly server: Server,
    private port: number,
  ) {
    server.on('connection', (client) => this.#join(client))
  }

  static async to(url: string): Promise<Line> {
    const server = createServer()
    const line = new Line(server, Number(new URL(url).port))
    await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening))
    return line
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Breaks the next request. */
  breakNext(where: Cut): void {
    this.#cut = where
  }

  /** From now on, new connections lead to another server. */
  leadTo(url: string): void {
    this.port = Number(new URL(url).port)
  }

  close(): void {
    this.server.close()
  }

  #join(client: Socket): void {
    const server = connect(this.port, '127.0.0.1')
    const end = () => {
      client.destroy()
      server.destroy()
    }
    for (const side of [client, server]) side.on('error', end).on('close', end)
    client.on('data', (bytes: Buffer) => {
      if (!this.#isBroken('request')) return void server.write(bytes)
      server.end(bytes.subarray(0, bytes.length >> 1))
      client.destroy()
    })
    server.on('data', (bytes: Buffer) => {
      if (this.#isBroken('response')) end()
      else client.write(bytes)
    })
  }

  #isBroken(where: Cut): boolean {
    if (this.#cut !== where) return false
    this.#cut = undefined
    return true
  }
}
