/**
 * Collects the keys of stale queries and reports each once. The first key is reported at once; those that follow within
 * PAUSE are reported together, so that busy agents do not cause constant requests. A hidden page reports nothing until
 * it is visible again. Nothing is reported during a change of the page itself, because a response could still be
 * without that change.
 */
const PAUSE = 700

export class InvalidationQueue {
  /** For each key, functions that say whether a change is new to the page. */
  readonly #keys = new Map<string, (() => boolean)[]>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly tell: (key: string) => void,
    private readonly isChanging: () => boolean,
  ) {
    if (typeof document !== 'undefined') document.addEventListener('visibilitychange', () => this.#flush())
  }

  /** `isNews` runs when the key would be reported: the page may know the change by then. */
  add(key: string, isNews = () => true): void {
    this.#keys.set(key, [...(this.#keys.get(key) ?? []), isNews])
    if (!this.#timer) this.#flush()
  }

  #flush(): void {
    if (this.#keys.size === 0 || (typeof document !== 'undefined' && document.hidden)) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#flush()
    }, PAUSE)
    if (this.isChanging()) return
    const keys = [...this.#keys].filter(([, changes]) => changes.some((isNews) => isNews()))
    this.#keys.clear()
    for (const [key] of keys) this.tell(key)
  }
}
