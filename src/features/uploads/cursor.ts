/** Shared by the readers of all formats. */
export interface Size {
  width: number
  height: number
}
export interface ParsedPicture extends Size {
  /** The parts to keep, in order. */
  kept: Uint8Array[]
}

export class DamagedPicture extends Error {}

/** A picture of a few MiB has some hundred parts. Reading a million would block the server. */
const MOST_PARTS = 5000

/** Reads forward, and throws at the end of the file. */
export class Cursor {
  at = 0
  #parts = 0
  constructor(readonly bytes: Buffer) {}

  get left(): number {
    return this.bytes.length - this.at
  }

  /** Counts a part and returns its start. */
  part(): number {
    if (++this.#parts > MOST_PARTS) throw new DamagedPicture('it has too many parts')
    return this.at
  }

  take(length: number): Buffer {
    if (length > this.left) throw new DamagedPicture('it ends too early')
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  byte(): number {
    const byte = this.bytes[this.at++]
    if (byte === undefined) throw new DamagedPicture('it ends too early')
    return byte
  }

  since(start: number): Buffer {
    return this.bytes.subarray(start, this.at)
  }
}

export const startsWithText = (data: Buffer, text: string): boolean => data.toString('latin1', 0, text.length) === text
