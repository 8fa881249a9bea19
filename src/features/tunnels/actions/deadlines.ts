/** Calls `onDue` when an entry has waited too long. All entries share one timer, which stops with the last. */
export class Deadlines {
  /** When each entry is due. All wait equally long, so the first one added is due first. */
  readonly #due = new Map<string, number>()
  #timer: Timer | undefined

  constructor(
    private readonly ms: number,
    private readonly onDue: () => void,
  ) {}

  get isWaiting(): boolean {
    return this.#timer !== undefined
  }

  add(id: string): void {
    if (!this.#due.has(id)) this.#due.set(id, performance.now() + this.ms)
    this.#wait()
  }

  delete(id: string): void {
    if (!this.#due.delete(id) || this.#due.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #wait(): void {
    const [first] = this.#due.values()
    if (first !== undefined) this.#timer ??= setTimeout(() => this.#fire(), first - performance.now()).unref()
  }

  #fire(): void {
    this.#timer = undefined
    const now = performance.now()
    const isDue = [...this.#due].filter(([, at]) => at <= now)
    for (const [id] of isDue) this.#due.delete(id)
    // If none is due, the first entry ended meanwhile, or the timer was early.
    if (isDue.length > 0) this.onDue()
    this.#wait()
  }
}
