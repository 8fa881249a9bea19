/** The closed list of error codes: status and title. A dotted suffix refines a code and may change its status. */
export const codes = {
  invalid: [422, 'The input is not valid'],
  'invalid.malformed': [400, 'The request cannot be read'],
  'invalid.cursor': [400, 'The cursor is not valid'],
  'invalid.device': [400, 'The device is not signed in'],
  unauthenticated: [401, 'Sign in first'],
  forbidden: [403, 'Not allowed'],
  'forbidden.reauth': [403, 'Confirm that it is you'],
  'forbidden.origin': [403, 'This origin is not allowed'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'Method not allowed'],
  conflict: [409, 'Conflict'],
  'conflict.exists': [409, 'It exists already'],
  'conflict.lease_held': [409, 'Somebody else is at work on it'],
  'conflict.blocked': [409, 'It waits for something else'],
  'conflict.cycle': [409, 'A circle of dependencies'],
  'conflict.idempotency': [409, 'The idempotency key was used for something else'],
  'conflict.gate': [409, 'Something is missing at this gate'],
  'conflict.last_owner': [409, 'An organization needs an owner'],
  'conflict.last_admin': [409, 'The instance needs an administrator'],
  'conflict.last_way': [409, 'An account needs a way to sign in'],
  'conflict.other_browser': [409, 'Asked for in another browser'],
  gone: [410, 'Used or expired'],
  version_mismatch: [412, 'It has changed meanwhile'],
  too_large: [413, 'Too large'],
  unsupported_media: [415, 'Unsupported media type'],
  rate_limited: [429, 'Too many requests'],
  internal: [500, 'Something went wrong on our side'],
  upstream_failed: [502, 'The other side failed'],
  unavailable: [503, 'Not available right now'],
  upstream_timeout: [504, 'The other side took too long'],
  disk_full: [507, 'The disk is full'],
} as const satisfies Record<string, readonly [number, string]>

export type ErrorCode = keyof typeof codes

/** One thing wrong with the input; `pointer` is a JSON pointer into it. */
export interface FieldError {
  pointer: string
  code: string
  message: string
}

/** What RFC 8628 calls the reasons for which a device is not signed in. */
export const deviceErrors = ['authorization_pending', 'slow_down', 'access_denied', 'expired_token'] as const
export type DeviceError = (typeof deviceErrors)[number]

export interface ErrorDetails {
  errors?: FieldError[]
  /** The record as it is now, with `version_mismatch`. */
  current?: object
  /** With `invalid.device`. */
  error?: DeviceError
  /** Seconds. */
  retryAfter?: number
  /** For 429: the limit a minute. */
  limit?: number
  /** For 405. */
  allow?: string
  cause?: unknown
}

/** The only error that reaches a user. `message` says what is wrong and what to do; `cause` is for the log. */
export class AppError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: ErrorDetails = {},
  ) {
    super(message, { cause: details.cause })
    this.name = 'AppError'
  }

  get status(): number {
    return codes[this.code][0]
  }
}

/** RFC 9457, shared by HTTP and MCP. */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  instance: string
  code: ErrorCode
  requestId: string
  errors?: FieldError[]
  current?: object
  error?: DeviceError
}

export function problem(error: AppError, instance: string, requestId: string): Problem {
  const { errors, current, error: reason } = error.details
  return {
    type: `urn:tutti:error:${error.code}`,
    title: codes[error.code][1],
    status: error.status,
    detail: error.message,
    // The path of a request may hold the secret of a mailed link.
    instance: instance.replace(/svc_\w{20,}/g, '[redacted]'),
    code: error.code,
    requestId,
    ...(errors && { errors }),
    ...(current && { current }),
    ...(reason && { error: reason }),
  }
}

export const notFound = (what: string, ref: string): AppError =>
  new AppError('not_found', `No ${what} ${JSON.stringify(ref)} that you can see.`)

export const invalid = (pointer: string, message: string, code = 'invalid'): AppError =>
  new AppError('invalid', message, { errors: [{ pointer, code, message }] })
