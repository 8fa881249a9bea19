import { DbError, type Statement } from '../../driver.ts'
import type { Reply } from './reader.ts'
import { type StatementKind, statementKind } from './statements.ts'
import { encodeParam } from './values.ts'

export interface EncodedStatement {
  readonly text: string
  readonly kind: StatementKind
  readonly params: readonly (string | null)[]
}

/**
 * Everything sent between two ReadyForQuery. The first statement that fails skips the rest. Without BEGIN, Postgres
 * takes the statements as one transaction.
 */
export interface Trip {
  /** SQL without parameters, instead of statements. */
  readonly sql?: string
  readonly statements: readonly EncodedStatement[]
  /** Milliseconds; 0 means none. */
  readonly timeout: number
  /**
   * Not a part of a longer transaction, so it can be sent again: after a restart if it had not begun, or to prepare its
   * statements again.
   */
  readonly repeatable: boolean
  /** It ends a transaction that changes something: if the worker ends meanwhile, no one knows whether it was stored. */
  readonly commits?: boolean
  /** Called also when the reply holds an error; `reject` is for trips that never get a reply. */
  resolve(reply: Reply): void
  reject(error: DbError): void
}

const MAX_PARAMS = 65535

export const BEGIN: EncodedStatement = { text: 'BEGIN', kind: 'control', params: [] }
export const COMMIT: EncodedStatement = { text: 'COMMIT', kind: 'control', params: [] }
export const ROLLBACK: EncodedStatement = { text: 'ROLLBACK', kind: 'control', params: [] }

/** Throws DbError if the statement cannot be sent at all. */
export function encodeStatement({ text, params }: Statement): EncodedStatement {
  const kind = statementKind(text)
  if (kind === 'control') throw new DbError('25000', `use begin(), commit() and rollback() instead of "${text}"`)
  checkText(text)
  if (params.length > MAX_PARAMS)
    throw new DbError('54023', `${params.length} parameters, at most ${MAX_PARAMS} are possible`)
  try {
    return { text, kind, params: params.map(encodeParam) }
  } catch (error) {
    throw new DbError('22000', `a parameter cannot be sent: ${(error as Error).message}`, undefined, { cause: error })
  }
}

/** On the wire, texts end with NUL: a NUL inside would cut the message short. */
export function checkText(text: string): void {
  if (text.includes('\0')) throw new DbError('22021', 'SQL with a NUL character')
}

export function makeTrip(trip: Omit<Trip, 'resolve' | 'reject'>): { trip: Trip; reply: Promise<Reply> } {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  return { trip: { ...trip, resolve, reject }, reply: promise }
}
