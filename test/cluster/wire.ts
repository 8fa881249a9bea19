import { createServer, connect as dial, type Socket } from 'node:net'
import { freePort } from '../support/port.ts'

/** One direction of a connection: what one end sends and the other has not got yet. */
class Direction {
  readonly #waiting: Uint8Array[] = []
  #hasEnded = false

  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly isCut: () => boolean,
  ) {
    from.on('data', (chunk: Uint8Array) => {
      this.#waiting.push(chunk)
      this.flow()
    })
    from.on('close', () => {
      this.#hasEnded = true
      this.flow()
    })
    from.on('error', () => undefined)
    to.on('drain', () => from.resume())
  }

  flow(): void {
    if (this.isCut()) return
    for (const chunk of this.#waiting.splice(0)) if (!this.to.write(chunk)) this.from.pause()
    if (this.#hasEnded) this.to.end()
  }
}

/**
 * A port that leads to another one, like a cable. While it is cut, nothing passes and no error occurs: connections stay
 * open, new ones get no answer, and what was sent meanwhile arrives when it is mended, as TCP would send it again.
 */
export class Wire {
  readonly port = freePort()
  #isCut = false
  readonly #directions = new Set<Direction>()

  private constructor(private readonly to: number) {}

  static async to(port: number): Promise<Wire> {
    const wire = new Wire(port)
    const server = createServer((socket) => wire.#join(socket))
    await new Promise<void>((ready) => server.listen(wire.port, '127.0.0.1', ready))
    server.unref()
    return wire
  }

  #join(near: Socket): void {
    const far = dial(this.to, '127.0.0.1')
    const isCut = () => this.#isCut
    this.#directions.add(new Direction(near, far, isCut)).add(new Direction(far, near, isCut))
  }

  cut(): void {
    this.#isCut = true
  }

  mend(): void {
    this.#isCut = false
    for (const direction of this.#directions) direction.flow()
  }
}
