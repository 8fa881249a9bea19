import { withoutSecrets } from './text/secrets.ts'

/** The closed list of error codes: status and title. A dotted suffix refines a code and may change its status. */
export const codes = {
  invalid: [422, 'Invalid input'],
  'invalid.malformed': [400, 'Malformed request'],
  'invalid.cursor': [400, 'Invalid cursor'],
  'invalid.device': [400, 'Device not signed in'],
  unauthenticated: [401, 'Authentication required'],
  forbidden: [403, 'Not allowed'],
  'forbidden.reauth': [403, 'Confirmation of identity required'],
  'forbidden.origin': [403, 'Origin not allowed'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'Method not allowed'],
  conflict: [409, 'Conflict'],
  'conflict.exists': [409, 'Already exists'],
  'conflict.id': [409, 'The id is taken'],
  'conflict.lease_held': [409, 'Claimed by someone else'],
  'conflict.blocked': [409, 'Blocked by open dependencies'],
  'conflict.cycle': [409, 'Circular dependency'],
  'conflict.idempotency': [409, 'Idempotency key already used for another request'],
  'conflict.in_progress': [409, 'Still in progress'],
  'conflict.acceptance_open': [409, 'Acceptance criteria are open'],
  'conflict.gate': [409, 'Gate requirements not met'],
  'conflict.last_owner': [409, 'An organization needs at least one owner'],
  'conflict.last_admin': [409, 'An instance needs at least one administrator'],
  'conflict.last_way': [409, 'An account needs at least one sign-in method'],
  'conflict.plan_limit': [409, 'Limit of the plan reached'],
  'conflict.other_browser': [409, 'Requested in another browser'],
  'conflict.confirm_account': [409, 'Did you create this account?'],
  gone: [410, 'Used or expired'],
  version_mismatch: [412, 'Changed by someone else'],
  too_large: [413, 'Too large'],
  unsupported_media: [415, 'Unsupported media type'],
  upgrade_required: [426, 'Upgrade required'],
  rate_limited: [429, 'Too many requests'],
  internal: [500, 'Internal server error'],
  upstream_failed: [502, 'Upstream service failed'],
  unavailable: [503, 'Temporarily unavailable'],
  'unavailable.unknown': [503, 'Outcome unknown'],
  upstream_timeout: [504, 'Upstream service timed out'],
  disk_full: [507, 'Disk full'],
} as const satisfies Record<string, readonly [number, string]>

export type ErrorCode = keyof typeof codes

type WithoutSuffix<C> = C extends `${infer Family}.${string}` ? Family : C
/** A code without the suffix that refines it. */
export type CodeFamily = WithoutSuffix<ErrorCode>

/** Returns the code that a code refines: `invalid` for `invalid.cursor`. */
export const familyOf = (code: ErrorCode): CodeFamily => code.split('.')[0] as CodeFamily

const away: ReadonlySet<CodeFamily> = new Set(['unavailable', 'upstream_failed', 'upstream_timeout'] as const)
/** Whether the code says that the server, or a service it needs, cannot respond at the moment. */
export const isUnavailable = (code: ErrorCode): boolean => away.has(familyOf(code))

/** One thing wrong with the input; `pointer` is a JSON pointer into it. */
export interface FieldError {
  pointer: string
  code: string
  message: string
}

/** Reasons why a device is not signed in, as named by RFC 8628. */
export const deviceErrors = ['authorization_pending', 'slow_down', 'access_denied', 'expired_token'] as const
export type DeviceError = (typeof deviceErrors)[number]

/** The record that was not found: its kind, and the reference as the caller gave it. */
export interface Subject {
  kind: string
  ref: string
}

/** A next step after an error, by its name on each surface. Each surface writes its own sentence from it. */
export interface WayOut {
  /** An MCP tool: `list_projects`. */
  tool?: string
  /** A route of the web API: `GET /api/projects`. */
  route?: string
  /** A command line: `tutti projects list`. */
  command?: string
  /** A page of this server to open in a browser: `/settings/profile`. */
  page?: string
}

/** Facts about an error that programs may act on. No program may depend on the text of a message. */
export interface Facts {
  errors?: FieldError[]
  /** The record as it is now, with `version_mismatch`. */
  current?: object
  /** With `invalid.device`. */
  error?: DeviceError
  /** With `not_found`. */
  subject?: Subject
  /** The scope that the credential lacks, with `forbidden`. */
  scope?: string
  /** The role that is needed and the one the caller has, with `forbidden`. */
  role?: { needed: string; held: string | null }
  /** What a gate still needs, with `conflict.gate`. */
  missing?: { item: string; needs: string }[]
  /** The acceptance criteria that are open, with `conflict.acceptance_open`. */
  open?: string[]
  /** Who works on the task and until when, with `conflict.lease_held`. Times are instants. */
  held?: { task: string; by: string; lastSeenAt: string; expiresAt: string }
  /** The one-time proof of the mailbox, with `conflict.confirm_account`: for `POST /api/auth/confirm-account`. */
  ticket?: string
  /** How many of each the account has, with `conflict.confirm_account`. */
  holds?: Record<string, number>
  /** How many tasks match now, where a batch expected another number. */
  count?: number
  /** What the caller can do next. */
  next?: WayOut[]
}

export interface ErrorDetails extends Facts {
  /** Seconds. */
  retryAfter?: number
  /** With 429: the limit per minute. */
  limit?: number
  /** With 405. */
  allow?: string
  cause?: unknown
}

const withoutSecretsIn = ({ pointer, code, message }: FieldError): FieldError => ({
  pointer: withoutSecrets(pointer),
  code,
  message: withoutSecrets(message),
})

/** The only error that reaches a user. `message` says what is wrong and what to do; `cause` is for the log. */
export class AppError extends Error {
  readonly details: ErrorDetails

  /** Masks secrets in what repeats the caller's input: a token may be sent in place of an id, or be sent as a field. */
  constructor(
    readonly code: ErrorCode,
    message: string,
    { subject, errors, ...details }: ErrorDetails = {},
  ) {
    super(withoutSecrets(message), { cause: details.cause })
    this.name = 'AppError'
    this.details = {
      ...details,
      ...(subject && { subject: { ...subject, ref: withoutSecrets(subject.ref) } }),
      ...(errors && { errors: errors.map(withoutSecretsIn) }),
    }
  }

  get status(): number {
    return codes[this.code][0]
  }
}

/** RFC 9457, shared by HTTP and MCP. */
export interface Problem extends Facts {
  type: string
  title: string
  status: number
  detail: string
  instance: string
  code: ErrorCode
  requestId: string
}

export function problem(error: AppError, instance: string, requestId: string): Problem {
  return {
    type: `urn:tutti:error:${error.code}`,
    title: codes[error.code][1],
    status: error.status,
    detail: error.message,
    instance: withoutSecrets(instance),
    code: error.code,
    requestId,
    ...publicFacts(error.details),
  }
}

/** Returns only the facts that belong in the body of a response, without empty fields. */
export function publicFacts(facts: Facts): Facts {
  const { errors, current, error, subject, scope, role, missing, open, held, ticket, holds, count, next } = facts
  return {
    ...(errors && { errors }),
    ...(current && { current }),
    ...(error && { error }),
    ...(subject && { subject }),
    ...(scope && { scope }),
    ...(role && { role }),
    ...(missing && { missing }),
    ...(open && { open }),
    ...(held && { held }),
    ...(ticket && { ticket }),
    ...(holds && { holds }),
    ...(count !== undefined && { count }),
    ...(next && { next }),
  }
}

/** Names of kinds of records for use in a sentence, where they differ from the kind. */
const labels: Record<string, string> = { api_key: 'API key', mcp_token: 'MCP token', party: 'member or agent' }
/** References that need no quotation marks inside a sentence. */
const plainReference = /^[\w.@/:-]+$/

/** Returns the error `Task TUT-7 not found.` `where` adds a place, such as `in this workspace`. */
export function notFound(kind: string, ref: string, where?: string): AppError {
  const label = labels[kind] ?? kind.replaceAll('_', ' ')
  const named = plainReference.test(ref) ? ref : JSON.stringify(ref)
  const sentence = [`${label[0]?.toUpperCase()}${label.slice(1)}`, named, 'not found', where].filter(Boolean).join(' ')
  return new AppError('not_found', `${sentence}.`, { subject: { kind, ref } })
}

export const invalid = (pointer: string, message: string, code = 'invalid', next?: WayOut[]): AppError =>
  new AppError('invalid', message, { errors: [{ pointer, code, message }], next })

/** Returns what one surface calls the ways out, without duplicates. */
export const waysOutBy = (next: readonly WayOut[] | undefined, by: keyof WayOut): string[] => [
  ...new Set((next ?? []).flatMap((way) => way[by] ?? [])),
]

/** Returns the error with a sentence added to its message. */
export const withSentence = ({ code, message, details }: AppError, sentence: string): AppError =>
  new AppError(code, `${message} ${sentence}`, details)

/** Runs `work`, which changes several records or none, and adds to a refusal that none was changed. */
export async function allOrNone<T>(count: number, made: 'changed' | 'created', work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (count < 2 || !(error instanceof AppError) || error.status >= 500) throw error
    throw withSentence(error, `None of the ${count} was ${made}.`)
  }
}
