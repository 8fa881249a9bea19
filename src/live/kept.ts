const MOST = 8
const KEPT_MS = 2000

/** Keeps what was read for a moment, because clients often ask for the same: after a restart all come back at once. */
export class Kept<T> {
  readonly #known = new Map<string, { found: Promise<T>; at: number }>()
  #timer: Timer | undefined

  /** Returns what is known under this key, or else what `read` finds. */
  get(key: string, read: () => Promise<T>): Promise<T> {
    const known = this.#known.get(key)
    if (known) {
      known.at = Date.now()
      return known.found
    }
    const found = read()
    this.#known.set(key, { found, at: Date.now() })
    found.catch(() => this.#known.delete(key))
    for (const oldest of this.#known.keys()) if (this.#known.size > MOST) this.#known.delete(oldest)
    this.#timer ??= setInterval(() => this.#forget(), KEPT_MS).unref()
    return found
  }

  #forget(): void {
    const now = Date.now()
    for (const [key, { at }] of this.#known) if (now - at >= KEPT_MS) this.#known.delete(key)
    if (this.#known.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
