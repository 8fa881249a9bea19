const KEPT_MS = 2000

interface Known<T> {
  readonly found: Promise<T>
  at: number
  isRead: boolean
}

/** A short-lived cache of reads: after a restart, all clients reconnect at once and need the same pages. */
export class ReadCache<T> {
  readonly #known = new Map<string, Known<T>>()
  #timer: Timer | undefined

  /** `most`: number of cached results. A read in progress is never dropped, or the next client would repeat it. */
  constructor(private readonly most: number) {}

  /** Returns the cached result of this key, or calls `read`. */
  get(key: string, read: () => Promise<T>): Promise<T> {
    const one = this.#known.get(key) ?? this.#read(key, read)
    one.at = Date.now()
    // The most recently used entry is last.
    this.#known.delete(key)
    this.#known.set(key, one)
    for (const [oldest, { isRead }] of this.#known)
      if (this.#known.size > this.most && isRead) this.#known.delete(oldest)
    this.#timer ??= setInterval(() => this.#forget(), KEPT_MS).unref()
    return one.found
  }

  #read(key: string, read: () => Promise<T>): Known<T> {
    const one: Known<T> = { found: read(), at: 0, isRead: false }
    one.found.then(
      () => {
        one.isRead = true
      },
      () => this.#known.delete(key),
    )
    return one
  }

  #forget(): void {
    const now = Date.now()
    for (const [key, { at, isRead }] of this.#known) if (isRead && now - at >= KEPT_MS) this.#known.delete(key)
    if (this.#known.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
