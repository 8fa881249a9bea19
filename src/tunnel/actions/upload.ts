import type { ReadableStreamDefaultReader } from 'node:stream/web'
import type { Traffic } from '../connected-tunnels.ts'
import { resetCodes } from '../frames.ts'
import type { Stream } from '../stream.ts'

export const uploadLimits = {
  /** Bytes of a body. */
  body: 1 << 30,
  /** Milliseconds without a byte from the client, while the service waits for the body. */
  idle: 30_000,
}

/**
 * Sends the body of a request as it arrives. A body may take hours as long as bytes arrive. A stalled body is
 * cancelled, because it would occupy a stream of the machine.
 */
export class Upload {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  /** Since when the client's bytes are awaited; undefined while the service has unread bytes. */
  #awaitedSince: number | undefined
  #arrivedAt = performance.now()
  /** The body did not arrive in time. */
  isLate = false
  isDone = false

  constructor(
    body: ReadableStream<Uint8Array>,
    private readonly stream: Stream,
    private readonly traffic: Traffic,
  ) {
    this.#reader = body.getReader()
    void this.#send()
  }

  /** Since when the service has all received bytes; undefined while the client sends more. */
  get handedOverAt(): number | undefined {
    return this.#awaitedSince === undefined ? this.#arrivedAt : undefined
  }

  /** Cancels a body that stalls or whose stream has closed. Must be called regularly. */
  checkProgress(now: number): void {
    const { stream } = this
    if (stream.isClosed) {
      this.#stop()
      return
    }
    // Once the service has responded, only the idle limit of the stream applies.
    const isAwaited = !stream.hasHead || stream.isRemotelyEnded
    if (!isAwaited || this.#awaitedSince === undefined || now - this.#awaitedSince < uploadLimits.idle) return
    this.isLate = true
    stream.reset(resetCodes.cancelled)
    this.#stop()
  }

  #stop(): void {
    if (this.isDone) return
    this.isDone = true
    this.#reader.cancel().catch(() => undefined)
  }

  async #send(): Promise<void> {
    const { stream, traffic } = this
    let sent = 0
    try {
      for (;;) {
        this.#awaitedSince = performance.now()
        const { done, value } = await this.#reader.read()
        this.#arrivedAt = performance.now()
        this.#awaitedSince = undefined
        if (done) break
        sent += value.length
        traffic.bytes += value.length
        if (sent > uploadLimits.body) stream.reset(resetCodes.tooLarge)
        await stream.write(value)
      }
      stream.end()
      this.isDone = true
    } catch {
      stream.reset(resetCodes.cancelled)
      this.#stop()
    }
  }
}
