import { type Container, type RecordCopy, recordBytes } from '../../records/sync.ts'
import { syncLimits } from './limits.ts'
import type { LinkCopy } from './links.ts'
import type { Change } from './schema.ts'

/** The changes of one page, each record once in each container, until the page is full. */
export class Changes {
  readonly #changes = new Map<string, Change>()
  #bytes = 0

  constructor(
    private readonly limit: number,
    private readonly most = syncLimits.pageBytes,
  ) {}

  get list(): Change[] {
    return [...this.#changes.values()]
  }

  get isFull(): boolean {
    return this.#changes.size >= this.limit || this.#bytes >= this.most
  }

  /** How many rows to read next, so that the page is neither exceeded by much nor read in tiny parts. */
  get next(): number {
    const size = this.#changes.size
    const fitting = size === 0 ? FIRST : Math.ceil(((this.most - this.#bytes) * size) / Math.max(1, this.#bytes))
    return Math.max(1, Math.min(this.limit - size, Math.max(fitting, FIRST), MOST))
  }

  put(entity: string, { id, version, container, record }: RecordCopy): void {
    this.#add({ entity, id, op: 'put', container, version, record }, recordBytes(record))
  }

  putLink(entity: string, { id, containers, record }: LinkCopy): void {
    const [container] = containers
    if (!container) return
    this.#add(
      { entity, id, op: 'put', container, containers: [...containers], version: 1, record },
      recordBytes(record),
    )
  }

  remove(entity: string, id: string, container: Container): void {
    this.#add({ entity, id, op: 'delete', container }, 0)
  }

  #add(change: Change, bytes: number): void {
    this.#changes.set(`${change.container} ${change.entity} ${change.id}`, change)
    this.#bytes += bytes + ENVELOPE
  }
}

/** Rows of a first read: few enough for the memory even with the longest texts. */
const FIRST = 50
const MOST = 500
const ENVELOPE = 200
