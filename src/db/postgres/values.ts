import { DbError, JsonParam } from '../driver.ts'

/** Converts parameters, rows and errors between Bun's client and the Driver. */
export const toParam = (value: unknown): unknown => {
  if (value === undefined) return null
  if (value instanceof JsonParam) return value.value
  if (typeof value === 'object' && value !== null && !(value instanceof Date) && !(value instanceof Uint8Array))
    return JSON.stringify(value)
  return value
}

export type Rows = unknown[][] & { count: number; columns?: { name: string; type: number }[] }

const JSON_TYPES = new Set([114, 3802])

/** Bun parses JSON. A string in it must stay distinct from JSON as text, which the embedded database returns. */
export function keepJsonStrings(rows: Rows): void {
  const { columns = [] } = rows
  for (let i = 0; i < columns.length; i++)
    if (JSON_TYPES.has((columns[i] as { type: number }).type))
      for (const row of rows) if (typeof row[i] === 'string') row[i] = JSON.stringify(row[i])
}

export const columnsOf = (rows: Rows): string[] => rows.columns?.map((c) => c.name) ?? []

const FORGETFUL_POOLER =
  'the pooler in front of Postgres forgets prepared statements. Set max_prepared_statements of PgBouncer (1.21 or later) to 200'

export function toDbError(error: unknown): DbError {
  if (error instanceof DbError) return error
  const e = error as { code?: string; errno?: string; message?: string; constraint?: string }
  const state = e.errno && /^[0-9A-Z]{5}$/.test(e.errno) ? e.errno : undefined
  const message = e.message ?? 'database error'
  if (state === '57014') return new DbError('timeout', 'statement took too long', undefined, { cause: error })
  if (state === '53100') return new DbError('disk_full', message, undefined, { cause: error })
  if (state === '26000' || state === '42P05')
    return new DbError('unavailable', FORGETFUL_POOLER, undefined, { cause: error })
  // 25006: it was the primary, and is a standby now
  if (state === '25006')
    return new DbError('unavailable', `the server takes no changes: ${message}`, undefined, { cause: error })
  // 57P01–57P05 server stopping or starting, 53300 too many connections, 08* connection trouble
  if (!state || /^(57P0|53300|08)/.test(state)) return new DbError('unavailable', message, undefined, { cause: error })
  return new DbError(state, message, e.constraint, { cause: error })
}
