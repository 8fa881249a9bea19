import type { Socket } from 'bun'
import { BadResponse, type ResponseReader } from './response.ts'

export function serviceTarget(url: string): { unix: string } | { hostname: string; port: number } {
  if (url.startsWith('unix:')) return { unix: url.slice('unix:'.length) }
  const { hostname, port } = new URL(url)
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) }
}

/** Receives the response of a request that was sent over a connection. */
export interface ResponseConsumer {
  readonly reader: ResponseReader
  /** The response is incomplete, and the rest will not arrive. */
  onFailure(error: BadResponse): void
  /** Bytes arrived, or the connection ended properly. */
  onProgress(): void
}

/** A connection to a local service. It sends one request at a time. */
export class ServiceConnection {
  consumer: ResponseConsumer | undefined
  idleSince = 0
  readonly #unsent: Uint8Array[] = []
  #drained: PromiseWithResolvers<void> | undefined
  #socket: Socket<ServiceConnection> | undefined
  isClosed = false

  private constructor(readonly url: string) {}

  /** Rejects if nothing listens at the address. */
  static async connect(url: string): Promise<ServiceConnection> {
    const connection = new ServiceConnection(url)
    const to = serviceTarget(url)
    connection.#socket = await ('unix' in to
      ? Bun.connect<ServiceConnection>({ unix: to.unix, data: connection, socket: handlers })
      : Bun.connect<ServiceConnection>({ ...to, data: connection, socket: handlers }))
    return connection
  }

  /** Returns a promise if the sender should wait before it sends more. */
  write(bytes: Uint8Array): Promise<void> | undefined {
    if (this.isClosed) return undefined
    this.#unsent.push(bytes)
    this.flush()
    if (this.#unsent.length === 0 || this.isClosed) return undefined
    this.#drained ??= Promise.withResolvers<void>()
    return this.#drained.promise
  }

  flush(): void {
    while (this.#unsent.length > 0 && !this.isClosed) {
      const next = this.#unsent[0] as Uint8Array
      const sent = this.#socket?.write(next) ?? -1
      if (sent < 0) {
        this.destroy()
        return
      }
      if (sent < next.length) {
        this.#unsent[0] = next.subarray(sent)
        return
      }
      this.#unsent.shift()
    }
    this.#wake()
  }

  pause = (): void => void this.#socket?.pause()
  resume = (): void => void (this.isClosed || this.#socket?.resume())

  onData(bytes: Buffer): void {
    const { consumer: caller } = this
    // Bytes without a request would become part of the next response.
    if (!caller) {
      this.destroy()
      return
    }
    try {
      caller.reader.feed(bytes)
      caller.onProgress()
    } catch (error) {
      this.#fail(caller, error)
    }
  }

  destroy(): void {
    if (this.isClosed) return
    this.onClose()
    this.#socket?.terminate()
  }

  onClose(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#unsent.length = 0
    this.#wake()
    const { consumer: caller } = this
    if (!caller) return
    try {
      caller.reader.close()
      caller.onProgress()
    } catch (error) {
      this.#fail(caller, error)
    }
  }

  #fail(caller: ResponseConsumer, error: unknown): void {
    this.consumer = undefined
    this.destroy()
    if (!(error instanceof BadResponse)) throw error
    caller.onFailure(error)
  }

  #wake(): void {
    const drained = this.#drained
    this.#drained = undefined
    drained?.resolve()
  }
}

const handlers: Bun.SocketHandler<ServiceConnection> = {
  data: ({ data: connection }, bytes) => connection.onData(bytes),
  drain: ({ data: connection }) => connection.flush(),
  close: ({ data: connection }) => connection.onClose(),
  end: ({ data: connection }) => connection.onClose(),
  error: ({ data: connection }) => connection.onClose(),
}

/** Milliseconds that an idle connection is kept: less than the five seconds after which Node closes one. */
const IDLE_MS = 4000
const MOST_IDLE = 64

/** Connections to local services that are kept between requests. */
export class ServiceConnectionPool {
  /** By service; the one that was used last is at the end. */
  readonly #idle = new Map<string, ServiceConnection[]>()
  #timer: Timer | undefined
  #isStopped = false

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Returns a connection that was idle for no longer than these milliseconds. */
  takeIdle(url: string, most = IDLE_MS): ServiceConnection | undefined {
    const idle = this.#idle.get(url)
    for (let connection = idle?.at(-1); idle && connection; connection = idle.at(-1)) {
      if (!connection.isClosed && this.now() - connection.idleSince > most) return undefined
      idle.pop()
      if (!connection.isClosed) return connection
    }
    return undefined
  }

  keepIdle(connection: ServiceConnection): void {
    connection.consumer = undefined
    const idle = this.#idle.get(connection.url) ?? []
    if (this.#isStopped || idle.length >= MOST_IDLE) {
      connection.destroy()
      return
    }
    connection.idleSince = this.now()
    idle.push(connection)
    this.#idle.set(connection.url, idle)
    this.#timer ??= setInterval(() => this.#sweep(), IDLE_MS / 4).unref()
  }

  stop(): void {
    this.#isStopped = true
    this.#sweep(Number.POSITIVE_INFINITY)
  }

  #sweep(before = this.now() - IDLE_MS): void {
    for (const [url, idle] of this.#idle) {
      while (idle[0] && (idle[0].isClosed || idle[0].idleSince < before)) idle.shift()?.destroy()
      if (idle.length === 0) this.#idle.delete(url)
    }
    if (this.#idle.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
