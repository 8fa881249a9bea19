import type { Database, SQLQueryBindings } from 'bun:sqlite'
import { notFound } from '../../src/errors.ts'
import { openCopyFile } from './copy-file.ts'
import { applyMutation, baseOfDelete, type Fields, isSame, type Queued, type Row, type State } from './mutation.ts'
import { copyPath, deleteCopyFile, type Owner } from './owner.ts'
import { searchTexts } from './texts.ts'

interface RecordRow {
  n: number
  shadow: string | null
  mine: string | null
  gone: number
}

interface QueueRow extends Omit<Queued, 'fields' | 'base' | 'via' | 'creates'> {
  fields: string
  base: string
  via: string | null
  creates: number
}

export interface SearchHit {
  entity: string
  row: Row
  rank: number
}

const parseQueueRow = ({ fields, base, via, creates, ...rest }: QueueRow): Queued => ({
  ...rest,
  fields: JSON.parse(fields) as Fields,
  base: JSON.parse(base) as Fields,
  creates: creates === 1,
  ...(via !== null && { via }),
})

/**
 * The offline copy of a server: the records as pulled, and the queued changes on top of them. Only a pull changes the
 * records. Related changes are one transaction, so a process may end at any moment and several can use the copy.
 */
export class Copy {
  readonly #db: Database
  /** How many changes this process has made to the queue. */
  changes = 0

  constructor(
    owner: Owner,
    readonly path = copyPath(owner),
  ) {
    this.#db = openCopyFile(path)
  }

  close(): void {
    this.#db.close()
  }

  delete(): void {
    this.close()
    deleteCopyFile(this.path)
  }

  /** Runs the work in one transaction. Other processes wait, so what it has read is still true when it writes. */
  change<T>(work: () => T): T {
    if (this.#db.inTransaction) return work()
    return this.#db.transaction(work).immediate()
  }

  all<T>(sql: string, ...values: SQLQueryBindings[]): T[] {
    return this.#db.query(sql).all(...values) as T[]
  }

  one<T>(sql: string, ...values: SQLQueryBindings[]): T | undefined {
    return (this.#db.query(sql).get(...values) ?? undefined) as T | undefined
  }

  run(sql: string, ...values: SQLQueryBindings[]): void {
    this.#db.query(sql).run(...values)
  }

  // ---- facts about the copy

  get(name: string): string | undefined {
    return this.one<{ value: string }>('select value from meta where name = ?', name)?.value
  }

  set(name: string, value: string | undefined): void {
    if (value === undefined) this.run('delete from meta where name = ?', name)
    else this.run('insert into meta values (?, ?) on conflict (name) do update set value = excluded.value', name, value)
  }

  get containers(): string[] {
    return this.all<{ name: string }>('select name from containers order by name').map(({ name }) => name)
  }

  // ---- records as the user sees them

  /** Returns the record with the queued changes on top. */
  find(entity: string, id: string): Row | undefined {
    const row = this.one<{ text: string | null }>(
      'select coalesce(mine, shadow) text from records where entity = ? and id = ? and not gone',
      entity,
      id,
    )
    return row?.text ? (JSON.parse(row.text) as Row) : undefined
  }

  /** Returns the records of one kind, in no order. `where` may use `r`, the record as JSON. */
  list(entity: string, where = 'true', ...values: SQLQueryBindings[]): Row[] {
    return this.all<{ r: string }>(
      `select r from (select coalesce(mine, shadow) r from records where entity = ? and not gone)
       where r is not null and (${where})`,
      entity,
      ...values,
    ).map(({ r }) => JSON.parse(r) as Row)
  }

  /** Returns the records that contain all words, the best first. The words must be an expression of FTS5. */
  search(expression: string, entities: readonly string[]): SearchHit[] {
    return this.all<{ entity: string; r: string; rank: number }>(
      `select entity, coalesce(mine, shadow) r, bm25(words, 4.0, 1.0) rank from words join records on n = words.rowid
       where words match ? and not gone and entity in (select value from json_each(?)) order by rank`,
      expression,
      JSON.stringify(entities),
    ).map(({ entity, r, rank }) => ({ entity, row: JSON.parse(r) as Row, rank }))
  }

  // ---- changes by the user

  /** Returns the changes that no pull has confirmed, in order. */
  queue(state?: State): Queued[] {
    return this.all<QueueRow>('select * from queue where ?1 is null or state = ?1 order by seq', state ?? null).map(
      parseQueueRow,
    )
  }

  /** Queues a new record. Its id stays when the server has it. */
  create(entity: string, fields: Fields, via?: string, id: string = Bun.randomUUIDv7()): Row {
    this.changes++
    return this.change(() => {
      this.#enqueue(entity, id, 'upsert', fields, {}, true, via)
      return this.find(entity, id) as Row
    })
  }

  /**
   * Queues a change of some fields. A change that may have been sent stays as it is; one that was not takes the new
   * values, and keeps what the user saw first.
   */
  update(entity: string, id: string, values: Fields, via?: string): Row {
    return this.change(() => {
      const before = this.#need(entity, id)
      const names = Object.keys(values).filter((name) => !isSame(values[name] ?? null, before[name] ?? null))
      if (names.length === 0) return before
      this.changes++
      const last = this.one<QueueRow>(
        'select * from queue where entity = ? and id = ? order by seq desc limit 1',
        entity,
        id,
      )
      const seen = Object.fromEntries(names.map((name) => [name, before[name] ?? null]))
      const fields = Object.fromEntries(names.map((name) => [name, values[name] ?? null]))
      if (last?.state === 'new' && last.op === 'upsert' && last.via === (via ?? null)) {
        const { base, creates, fields: earlier } = parseQueueRow(last)
        this.run(
          'update queue set fields = ?, base = ?, at = ? where seq = ?',
          JSON.stringify({ ...earlier, ...fields }),
          JSON.stringify(creates ? {} : { ...seen, ...base }),
          new Date().toISOString(),
          last.seq,
        )
        this.refresh(entity, id)
      } else this.#enqueue(entity, id, 'upsert', fields, seen, false, via)
      return this.find(entity, id) as Row
    })
  }

  /** Whether the record was created here and never sent. */
  isUnsent(entity: string, id: string): boolean {
    const open = this.all<QueueRow>('select * from queue where entity = ? and id = ?', entity, id)
    return open.every(({ state }) => state === 'new') && open.some(({ creates }) => creates === 1)
  }

  /** Queues a deletion. A record that was never sent is only taken out of the queue. */
  remove(entity: string, id: string, via?: string): void {
    this.changes++
    this.change(() => {
      const before = this.#need(entity, id)
      if (this.isUnsent(entity, id)) {
        this.run('delete from queue where entity = ? and id = ?', entity, id)
        this.refresh(entity, id)
      } else this.#enqueue(entity, id, 'delete', {}, baseOfDelete(before), false, via)
    })
  }

  /** Returns all unconfirmed changes, and marks them as sent, so that they are not altered any more. */
  markSent(): Queued[] {
    return this.change(() => {
      this.run("update queue set state = 'sent' where state = 'new'")
      return this.queue()
    })
  }

  /** Takes a change out of the rejected ones, and queues it again under a new id, or drops it. */
  takeBack(mutationId: string, again: boolean): void {
    this.change(() => {
      const found = this.one<QueueRow>('select * from rejected where mutationId = ?', mutationId)
      if (!found) return
      const { entity, id, op, fields, base, creates, via } = parseQueueRow(found)
      this.run('delete from rejected where mutationId = ?', mutationId)
      if (again) this.#enqueue(entity, id, op, fields, base, creates, via)
    })
  }

  /** Another process may have deleted the record since the caller read it. */
  #need(entity: string, id: string): Row {
    const row = this.find(entity, id)
    if (!row) throw notFound(entity, id)
    return row
  }

  #enqueue(entity: string, id: string, op: string, fields: Fields, base: Fields, creates: boolean, via?: string) {
    this.run(
      `insert into queue (mutationId, entity, id, op, fields, base, at, via, creates) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      Bun.randomUUIDv7(),
      entity,
      id,
      op,
      JSON.stringify(fields),
      JSON.stringify(base),
      new Date().toISOString(),
      via ?? null,
      creates ? 1 : 0,
    )
    this.refresh(entity, id)
  }

  /** Computes again how the user sees a record, after a pull or a change. Must run in a transaction. */
  refresh(entity: string, id: string): void {
    const open = this.all<QueueRow>('select * from queue where entity = ? and id = ? order by seq', entity, id)
    if (open.length > 0) this.run('insert or ignore into records (entity, id) values (?, ?)', entity, id)
    const record = this.one<RecordRow>(
      'select n, shadow, mine, gone from records where entity = ? and id = ?',
      entity,
      id,
    )
    if (!record) return
    const { n, shadow } = record
    this.run('delete from words where rowid = ?', n)
    const pulled = shadow === null ? undefined : (JSON.parse(shadow) as Row)
    const seen = open.map(parseQueueRow).reduce(applyMutation, pulled)
    const mine = open.length > 0 && seen ? JSON.stringify(seen) : null
    const gone = seen ? 0 : 1
    if (open.length === 0 && !pulled) this.run('delete from records where n = ?', n)
    else if (mine !== record.mine || gone !== record.gone)
      this.run('update records set mine = ?, gone = ? where n = ?', mine, gone, n)
    const words = seen && searchTexts(entity, seen)
    if (words) this.run('insert into words (rowid, title, text) values (?, ?, ?)', n, words.title, words.text)
  }
}
