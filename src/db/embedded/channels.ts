type Listener = (payload: string) => void

/** LISTEN and NOTIFY without Postgres: the embedded database has exactly one process. */
export class Channels {
  readonly #listeners = new Map<string, Set<Listener>>()

  constructor(private readonly onError: (error: unknown) => void) {}

  listen(channel: string, listener: Listener): void {
    const listeners = this.#listeners.get(channel)
    if (listeners) listeners.add(listener)
    else this.#listeners.set(channel, new Set([listener]))
  }

  /** Calls listeners outside the caller's stack, as a real database would. */
  notify(channel: string, payload: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) {
      queueMicrotask(() => {
        try {
          listener(payload)
        } catch (error) {
          this.onError(error)
        }
      })
    }
  }
}
