import { Value } from '@sinclair/typebox/value'
import { DbError } from './db/driver.ts'
import { AppError, type ErrorDetails } from './errors.ts'
import { fieldErrors } from './field-errors.ts'
import type { Log } from './log.ts'
import type { TSchema } from './schema.ts'

/** Converts anything thrown into the error that users see. Bugs become `internal`; their cause is only logged. */
export function toAppError(error: unknown, query: Record<string, unknown> = {}): AppError {
  if (error instanceof AppError) return error
  if (error instanceof DbError) return fromDatabase(error)
  const { code, cause } = error as { code?: string; cause?: unknown }
  // Elysia wraps what a parse hook throws, and drizzle what a driver throws.
  if (cause instanceof AppError || cause instanceof DbError) return toAppError(cause)
  if (code === 'VALIDATION') return fromValidation(error as ElysiaValidationError, query)
  if (code === 'PARSE') return new AppError('invalid.malformed', 'The body cannot be read.')
  return new AppError('internal', 'Something went wrong on our side. The request id leads us to the cause.', {
    cause: error,
  })
}

function fromDatabase(error: DbError): AppError {
  const details: ErrorDetails = { cause: error }
  switch (error.code) {
    case 'unavailable':
      return new AppError('unavailable', 'The database cannot be reached right now. Try again in a moment.', {
        ...details,
        retryAfter: 1,
      })
    case 'unknown':
      return new AppError(
        'unavailable.unknown',
        'The connection to the database was lost while saving: your change may or may not be stored. Check, or repeat it with the same Idempotency-Key.',
        { ...details, retryAfter: 1 },
      )
    case 'timeout':
      return new AppError(
        'unavailable',
        'The request took too long and was stopped. Try again, or request less data.',
        {
          ...details,
          retryAfter: 1,
        },
      )
    case 'disk_full':
      return new AppError(
        'disk_full',
        'The disk of this server is full. You can read data, but changes cannot be saved.',
        {
          ...details,
          retryAfter: 30,
        },
      )
    case '23505':
      return new AppError('conflict.exists', 'A record with these values already exists.', details)
    case '40001':
    case '40P01':
      return new AppError('unavailable', 'Too many changes happened at the same time. Try again.', {
        ...details,
        retryAfter: 1,
      })
    case '22P05':
    case '22021':
      return new AppError('invalid', 'The text contains characters that cannot be stored, such as NUL.', details)
    // Half of a surrogate pair in JSON, and times and numbers that the schema accepts but the column cannot hold.
    case '22P02':
    case '22003':
    case '22007':
    case '22008':
    case '22009':
      return new AppError('invalid', 'A value cannot be stored: it is out of range or not well-formed.', details)
    default:
      return new AppError(
        'internal',
        'Something went wrong on our side. The request id leads us to the cause.',
        details,
      )
  }
}

type ValueErrors = Parameters<typeof fieldErrors>[0]

interface ElysiaValidationError extends Error {
  type: string
  validator: unknown
  value: unknown
}

function fromValidation(error: ElysiaValidationError, query: Record<string, unknown>): AppError {
  // A response that violates its own schema is our bug, and must not look like the caller's.
  if (error.type === 'response')
    return new AppError('internal', 'Something went wrong on our side. The request id leads us to the cause.', {
      cause: error,
    })
  const { validator, value } = error
  const errors = fieldErrors(
    error.type === 'property'
      ? inQuery(validator as TSchema, value, query)
      : (validator as { Errors(v: unknown): ValueErrors }).Errors(value),
  )
  return new AppError('invalid', errors.map((e) => e.message).join(' ') || 'The input is not valid.', { errors })
}

/** Elysia converts query texts to numbers itself. Its errors then describe the value, but do not name the parameter. */
function inQuery(schema: TSchema, value: unknown, query: Record<string, unknown>): ValueErrors {
  const name = Object.keys(query).find((key) => Number(query[key]) === value)
  return [...Value.Errors(schema, value)].map((error) => (name ? { ...error, path: `/${name}` } : error))
}

export function logError(log: Log, error: AppError, fields: object): void {
  if (error.status === 500) log.error('request failed', { ...fields, error: error.details.cause ?? error })
  else if (error.status >= 500) log.warn('request refused', { ...fields, code: error.code, error: error.details.cause })
}
