import { ConfigError } from '../../src/config.ts'
import { AppError, type CodeFamily, type ErrorCode, familyOf, publicFacts, waysOutBy } from '../../src/errors.ts'
import { jsonText, safeLine, withoutControls } from './output.ts'
import { Refusal } from './refusal.ts'
import { timeAgo, timeLeft } from './times.ts'

/**
 * Exit codes: 0 ok, 1 bug, 2 bad input, 3 not signed in or not allowed, 4 not found, 5 conflict, 6 unavailable or
 * limited.
 */
const exitCodes: Partial<Record<CodeFamily, number>> = {
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

/** Exit codes for error codes of Postgres and the operating system. */
const systemExitCodes: Record<string, number> = {
  '28000': 3, '28P01': 3, '42501': 3, EACCES: 3, EPERM: 3, EROFS: 3,
  '3D000': 4, ENOENT: 4, ENOTDIR: 4,
  EEXIST: 5, EISDIR: 5,
  unavailable: 6, timeout: 6, unknown: 6, disk_full: 6, ENOSPC: 6, EDQUOT: 6,
} // biome-ignore format: one line for each exit code

/** The error code for each exit code, for errors that have none. */
const codesByExit = ['internal', 'internal', 'invalid', 'forbidden', 'not_found', 'conflict', 'unavailable'] as const

export const exitCodeOf = (code: ErrorCode): number => exitCodes[familyOf(code)] ?? 1

const wantsJson = (): boolean => process.argv.includes('--json')

/**
 * Prints one line for people on standard error, with the stack only for a bug. With --json, prints JSON with the fields
 * of the API's problems.
 */
export function reportError(error: unknown): number {
  const message = [messageOf(error), nextStep(error)].filter(Boolean).join(' ')
  const exitCode = exitCodeFor(error)
  const code = error instanceof AppError ? error.code : (codesByExit[exitCode] ?? 'internal')
  const details = error instanceof AppError ? error.details : {}
  console.error(
    wantsJson()
      ? jsonText({ code, detail: message, ...publicFacts(details), retryAfter: details.retryAfter, exitCode })
      : withoutControls(`tutti: ${message}`, 2),
  )
  if (exitCode === 1 && process.env.LOG_LEVEL === 'debug') console.error(error)
  return exitCode
}

/** Returns the message of an error; a held task is described with relative times. */
function messageOf(error: unknown): string {
  const held = error instanceof AppError && !wantsJson() ? error.details.held : undefined
  if (held)
    return `${safeLine(held.by)} works on ${safeLine(held.task)}: last seen ${timeAgo(held.lastSeenAt)}, ${timeLeft(held.expiresAt)}.`
  const { code, syscall, path } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' && syscall === 'open' && path)
    return `${safeLine(path)} does not exist, or its folder does not.`
  return error instanceof Error ? error.message : String(error)
}

/** Returns the next step that an error suggests, as a command if it has one. */
function nextStep(error: unknown): string | undefined {
  if (!(error instanceof AppError)) return undefined
  const { next } = error.details
  const commands = waysOutBy(next, 'command')
  if (commands.length > 0) return `Run: ${commands.join(' or ')}`
  const pages = waysOutBy(next, 'page')
  if (pages.length > 0) return `Open in a browser: ${pages.join(' or ')}`
  const routes = waysOutBy(next, 'route')
  return routes.length > 0 ? `Web API: ${routes.join(' or ')}` : undefined
}

function exitCodeFor(error: unknown): number {
  if (error instanceof AppError) return exitCodeOf(error.code)
  if (error instanceof Refusal) return error.exitCode
  if (error instanceof ConfigError) return 2
  return systemExitCodes[String((error as { code?: unknown } | undefined)?.code)] ?? 1
}
