/**
 * Gathers what has changed, and tells of each once. The first change is told at once; those that follow it within
 * PAUSE are told together, so that a page in front of busy agents is not asking all the time. While the page is hidden
 * nothing is told, until somebody looks again; nor while the page itself is changing something, because the answer
 * could still be without that change.
 */
const PAUSE = 700

export class Stale {
  /** For each key, whether any of the changes behind it is news. */
  readonly #keys = new Map<string, (() => boolean)[]>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly tell: (key: string) => void,
    private readonly isChanging: () => boolean,
  ) {
    if (typeof document !== 'undefined') document.addEventListener('visibilitychange', () => this.#flush())
  }

  /** `isNews` is asked when the change would be told: the page may know it by then. */
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
