import { AppError } from '../../../src/errors.ts'

/** Whether the server could not be reached, so that the copy may take over. */
export function isOutOfReach(error: unknown, method: string): boolean {
  if (!(error instanceof AppError)) return false
  const { cause } = error.details
  // No server received the request.
  if (isUnsent(cause)) return true
  const code = (cause as { code?: unknown } | undefined)?.code
  // Otherwise a change may have been made although no response came, and must not be made twice.
  return method === 'GET' && (code === 'ECONNRESET' || error.code === 'upstream_timeout' || isDown(error))
}

/** Whether a failed connection means that nothing was sent. */
export const isUnsent = (error: unknown): boolean =>
  neverSent.has(String((error as { code?: unknown } | undefined)?.code))

const neverSent = new Set([
  'ECONNREFUSED',
  'ConnectionRefused',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
])
/** A proxy says that the server behind it is down, or the server that it is about to stop. */
const isDown = (error: AppError): boolean => error.code === 'unavailable'
