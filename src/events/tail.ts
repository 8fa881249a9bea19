import type { Db } from '../db/session.ts'
import type { Log } from '../log.ts'
import { advancePosition, type Position } from './position.ts'
import { currentPosition, type EventRow, readEvents, resolveHoles } from './reader.ts'

/** Rows that became visible, by their number. Rows of holes in `before` come first. */
export interface EventBatch {
  readonly rows: readonly EventRow[]
  readonly before: Position
  readonly after: Position
  /** False if more rows are visible already; they come with the next batch. */
  readonly complete: boolean
}

const AT_ONCE = 500

/**
 * The one reader of an instance: follows the events of all instances as they commit, each exactly once. `onBatch` must
 * not wait for `read`, which waits for it.
 */
export class EventTail {
  #position: Position | undefined
  #last: Promise<boolean> = Promise.resolve(true)
  #queued: Promise<boolean> | undefined

  constructor(
    private readonly db: Db,
    private readonly onBatch: (batch: EventBatch) => Promise<void>,
    private readonly log: Log,
  ) {}

  /** After everything that was delivered; undefined before `start`. */
  get position(): Position | undefined {
    return this.#position
  }

  /** Begins after all events that are visible now. */
  async start(): Promise<void> {
    this.#position ??= await currentPosition(this.db)
  }

  /** Forgets its position, so that the next start does not deliver earlier events. */
  stop(): void {
    this.#position = undefined
  }

  /**
   * Delivers all visible events. Calls during a read share the next one. Returns false if the database could not be
   * read; the next call then delivers these events.
   */
  read(): Promise<boolean> {
    if (this.#queued) return this.#queued
    this.#queued = this.#last.then(() => {
      this.#queued = undefined
      return this.#look()
    })
    this.#last = this.#queued
    return this.#queued
  }

  async #look(): Promise<boolean> {
    try {
      const seen = this.#position?.high ?? 0
      for (let complete = false; !complete; ) {
        const before = this.#position
        if (!before) return false
        const rows = await readEvents(this.db, before, AT_ONCE)
        complete = rows.length < AT_ONCE
        const seqs = rows.map(({ seq }) => seq)
        const after = advancePosition(before, seqs, complete)
        if (this.#position !== before) return false
        this.#position = after
        if (rows.length > 0 || after.holes.length < before.holes.length)
          await this.onBatch({ rows, before, after, complete })
      }
      const reached = this.#position as Position
      // Most holes are filled before the next read, so only holes seen twice are worth a query.
      if (reached.holes.some(({ from }) => from <= seen)) {
        const settled = await resolveHoles(this.db, reached)
        // The event history may have been replaced in the meantime.
        if (this.#position === reached) this.#position = settled
      }
      return true
    } catch (error) {
      this.log.debug('could not read events', { error })
      return false
    }
  }
}
