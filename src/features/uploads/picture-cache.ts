/** Keeps the bytes of pictures that were read last, up to a total size. Pictures never change, so none is outdated. */
export class PictureCache {
  readonly #kept = new Map<string, Uint8Array<ArrayBuffer>>()
  #size = 0

  constructor(private readonly most: number) {}

  get(id: string): Uint8Array<ArrayBuffer> | undefined {
    const bytes = this.#kept.get(id)
    if (!bytes) return undefined
    this.#kept.delete(id)
    this.#kept.set(id, bytes)
    return bytes
  }

  put(id: string, bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#kept.has(id) || bytes.length > this.most) return
    this.#kept.set(id, bytes)
    this.#size += bytes.length
    for (const [oldest, { length }] of this.#kept) {
      if (this.#size <= this.most) return
      this.#kept.delete(oldest)
      this.#size -= length
    }
  }
}
