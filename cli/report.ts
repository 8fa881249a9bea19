import { ConfigError } from '../src/config.ts'
import { DbError } from '../src/db/driver.ts'
import { AppError, type ErrorCode } from '../src/errors.ts'

/** Exit codes: 0 ok, 1 bug, 2 bad input, 3 not signed in or not allowed, 4 not found, 5 conflict, 6 unavailable or limited. */
const exits: Record<string, number> = {
  invalid: 2,
  too_large: 2,
  unsupported_media: 2,
  unauthenticated: 3,
  forbidden: 3,
  not_found: 4,
  conflict: 5,
  version_mismatch: 5,
  gone: 5,
  rate_limited: 6,
  unavailable: 6,
  disk_full: 6,
  upstream_failed: 6,
  upstream_timeout: 6,
}

export const exitCodeOf = (code: ErrorCode): number => exits[code.split('.')[0] as string] ?? 1

/** One clear line for people; the stack only for a bug. */
export function report(error: unknown): number {
  if (error instanceof AppError) {
    console.error(`tutti: ${error.message}`)
    return exitCodeOf(error.code)
  }
  if (error instanceof ConfigError || error instanceof Refusal) {
    console.error(`tutti: ${error.message}`)
    return error instanceof Refusal ? error.exitCode : 2
  }
  console.error(`tutti: ${error instanceof Error ? error.message : String(error)}`)
  if (error instanceof DbError) return exits[error.code] ?? 1
  if (process.env.LOG_LEVEL === 'debug') console.error(error)
  return 1
}

/** A command that cannot go on for a reason the user can mend. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly exitCode = 2,
  ) {
    super(message)
  }
}
