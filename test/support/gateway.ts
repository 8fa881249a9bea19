import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP way to a server that can be cut, or made silent, and opened again. */
export class Gateway {
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((client) => this.#accept(client))
  #state: 'open' | 'cut' | 'silent' = 'open'

  private constructor(private readonly to: { host: string; port: number }) {}

  static async to(url: string): Promise<Gateway> {
    const { hostname, port } = new URL(url)
    const gateway = new Gateway({ host: hostname, port: Number(port) })
    await new Promise<void>((resolve) => gateway.#server.listen(0, '127.0.0.1', resolve))
    return gateway
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  open(): void {
    this.#state = 'open'
    for (const socket of this.#sockets) socket.resume()
  }

  /** Ends all connections, and refuses new ones. */
  cut(): void {
    this.#state = 'cut'
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Passes nothing on any more, as if a machine had lost its power. */
  silence(): void {
    this.#state = 'silent'
    for (const socket of this.#sockets) socket.unpipe().pause()
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  #accept(client: Socket): void {
    this.#keep(client)
    if (this.#state === 'cut') client.destroy()
    if (this.#state !== 'open') return
    const server = connect(this.to)
    this.#keep(server)
    client.pipe(server).pipe(client)
    client.once('close', () => server.destroy())
    server.once('close', () => client.destroy())
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => undefined).once('close', () => this.#sockets.delete(socket))
  }
}
