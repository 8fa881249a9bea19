import type { Decode } from './values.ts'

/** What a statement does, judged by its first words. Only the driver may send `control` (BEGIN, COMMIT …). */
export type StatementKind = 'read' | 'write' | 'ddl' | 'control'

/** A named statement in the backend. */
export interface Prepared {
  readonly name: string
  readonly text: string
  columns: string[]
  decoders: Decode[]
}

const MAX = 500

/** Maps SQL texts to the names they are prepared under; drops the least recently used ones. */
export class PreparedStatements {
  #byText = new Map<string, Prepared>()
  #leaving: string[] = []
  #names = 0

  get size(): number {
    return this.#byText.size
  }

  /**
   * Returns `isNew` when the text must be parsed under this name first. Pass `renew` when the prepared statement may be
   * outdated.
   */
  use(text: string, renew: boolean): { prepared: Prepared; isNew: boolean } {
    const known = this.#byText.get(text)
    if (known && renew) this.drop(known)
    else if (known) {
      this.#byText.delete(text)
      this.#byText.set(text, known)
      return { prepared: known, isNew: false }
    }
    const prepared: Prepared = { name: `s${++this.#names}`, text, columns: [], decoders: [] }
    this.#byText.set(text, prepared)
    if (this.#byText.size > MAX) {
      const [oldest] = this.#byText.values()
      if (oldest) this.drop(oldest)
    }
    return { prepared, isNew: true }
  }

  drop(prepared: Prepared): void {
    if (this.#byText.get(prepared.text) !== prepared) return
    this.#byText.delete(prepared.text)
    this.#leaving.push(prepared.name)
  }

  dropAll(): void {
    for (const prepared of this.#byText.values()) this.#leaving.push(prepared.name)
    this.#byText.clear()
  }

  /** Call for a new backend, which knows no names. */
  forget(): void {
    this.#byText.clear()
    this.#leaving = []
  }

  /** Returns the names the backend can release. Safe to send with the next trip: uses already sent come before it. */
  takeLeaving(): string[] {
    if (this.#leaving.length === 0) return this.#leaving
    const names = this.#leaving
    this.#leaving = []
    return names
  }
}

const firstWord = /^(?:\s|\(|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*([a-z]+)/i
const changes = /\b(?:insert|update|delete|merge|create|analyze)\b/i
const kinds = new Map<string, StatementKind>([
  ...['select', 'show', 'values', 'table', 'fetch', 'set', 'reset', 'savepoint', 'release'].map(
    (word) => [word, 'read'] as const,
  ),
  ...['create', 'alter', 'drop', 'do'].map((word) => [word, 'ddl'] as const),
  ...['begin', 'start', 'commit', 'end', 'abort', 'prepare'].map((word) => [word, 'control'] as const),
])
const known = new Map<string, StatementKind>()

export function statementKind(text: string): StatementKind {
  let kind = known.get(text)
  if (kind === undefined) {
    kind = classify(text)
    if (known.size >= 2 * MAX) known.clear()
    known.set(text, kind)
  }
  return kind
}

function classify(text: string): StatementKind {
  const word = firstWord.exec(text)?.[1]?.toLowerCase() ?? ''
  if (word === 'with' || word === 'explain') return changes.test(text) ? 'write' : 'read'
  if (word === 'rollback') return /\bto\b/i.test(text) ? 'read' : 'control'
  return kinds.get(word) ?? 'write'
}
