/** Why the server refused a call, or could not be reached (status 0). */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  /** The current record, if someone else changed it first (412). */
  readonly current: unknown
  readonly details: Readonly<Record<string, unknown>>

  constructor(status: number, body: Record<string, unknown>) {
    const errors = body.errors as { message: string }[] | undefined
    const detail = body.detail as string | undefined
    super(errors?.map((e) => e.message).join(' ') || detail || 'The server did not respond.')
    this.status = status
    this.code = (body.code as string | undefined) ?? (status === 0 ? 'unreachable' : 'internal')
    this.requestId = body.requestId as string | undefined
    this.current = body.current
    this.details = body
  }
}

export const isProblem = (error: unknown): error is Problem => error instanceof Problem
/** The server could not be reached. */
export const isUnreachable = (error: unknown): boolean => isProblem(error) && error.status === 0
/** The server may accept the same request later: it is unreachable, fails, is busy, or the session has ended. */
export const isTemporary = (error: unknown): boolean =>
  isProblem(error) && (error.status === 0 || error.status >= 500 || [401, 408, 429].includes(error.status))
