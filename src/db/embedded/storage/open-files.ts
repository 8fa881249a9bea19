import { closeSync } from 'node:fs'

const MAX_FD = 65_536
const BITS = 32

/**
 * Records which descriptors the worker has open, one bit each, in memory that outlives it. A terminated thread leaves
 * its files open, some fifty each time.
 */
export class OpenFiles {
  readonly buffer: SharedArrayBuffer
  readonly #bits: Int32Array<SharedArrayBuffer>

  constructor(buffer = new SharedArrayBuffer(MAX_FD / 8)) {
    this.buffer = buffer
    this.#bits = new Int32Array(buffer)
  }

  markOpen(fd: number): void {
    if (fd < MAX_FD) Atomics.or(this.#bits, Math.floor(fd / BITS), 1 << (fd % BITS))
  }

  /** Must be called before the file is closed: afterwards the number may already be reused. */
  markClosed(fd: number): void {
    if (fd < MAX_FD) Atomics.and(this.#bits, Math.floor(fd / BITS), ~(1 << (fd % BITS)))
  }

  /** Call only when the worker has ended. */
  closeAll(): void {
    for (let fd = 0; fd < MAX_FD; fd++) {
      if (((this.#bits[Math.floor(fd / BITS)] as number) & (1 << (fd % BITS))) === 0) continue
      this.markClosed(fd)
      closeSync(fd)
    }
  }
}
