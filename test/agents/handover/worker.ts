import type { Window } from './windows.ts'

interface Task {
  key: string
}

/** What all workers know together. */
export interface Work {
  project: string
  /** The tasks that are to be done. */
  keys: readonly string[]
  /** Which worker was given a task. */
  readonly given: Map<string, Worker>
  /** The tasks that were completed, in this order. */
  readonly done: string[]
}

/**
 * An agent that takes one task after the other. Fails if it is given a task that another one works on or has done. Of a
 * worker that has died, the other window of its token may continue the task.
 */
export class Worker {
  #window: Window | undefined
  #session = ''
  /** The task that it holds. */
  held: string | undefined
  /** The task that it held when it died. */
  lost: string | undefined

  constructor(
    readonly name: string,
    private readonly connect: () => Promise<Window>,
    private readonly all: Work,
  ) {}

  /** Works until nothing is left, or until it has done so many tasks. */
  async work(most = Number.POSITIVE_INFINITY): Promise<void> {
    const window = await this.#connected()
    const { project, done } = this.all
    const session = this.#named(window)
    const { task } = await window.use<{ task: Task | null }>('next_task', { project, ...session })
    this.#take(task)
    for (let n = 0; this.held && n < most; n++) {
      const task = this.held
      const { already, next } = await window.use<{ already?: boolean; next?: Task }>('complete_task', {
        task,
        claimNext: true,
        ...session,
      })
      if (already) throw new Error(`${this.name} did ${task}, which was done`)
      done.push(task)
      this.#take(next)
    }
  }

  /** Ends its program while it holds a task. */
  async die(): Promise<void> {
    this.lost = this.held
    await this.#window?.die()
    this.#window = undefined
  }

  async #connected(): Promise<Window> {
    this.#window ??= await this.connect()
    if (!this.#session) {
      const { project } = this.all
      this.#session = (await this.#window.use<{ id: string }>('create_session', { project })).id
    }
    return this.#window
  }

  /** Without connections, only the session that a call names tells two windows of one token apart. */
  #named({ transport }: Window): { session?: string } {
    return transport === 'HTTP 2026-07-28' ? { session: this.#session } : {}
  }

  #take(task: Task | null | undefined): void {
    const { keys, given } = this.all
    const key = task && keys.includes(task.key) ? task.key : undefined
    const isHeld = this.held && given.get(this.held) === this && !this.all.done.includes(this.held)
    if (isHeld && key !== this.held) throw new Error(`${this.name} was given ${key} although it holds ${this.held}`)
    const other = key ? given.get(key) : undefined
    if (other && other !== this && other.lost !== key)
      throw new Error(`${this.name} was given ${key}, which ${other.name} works on`)
    if (key) given.set(key, this)
    this.held = key
  }
}
