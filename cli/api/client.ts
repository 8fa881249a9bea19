import { AppError, codes, type ErrorCode, type Problem, publicFacts, type WayOut } from '../../src/errors.ts'
import { version } from '../../src/version.ts'
import { safeLine } from '../terminal/output.ts'

const LIMIT_MS = 30_000
/** An access token is renewed this long before it expires. */
const EARLY_MS = 30_000

/**
 * Paths that name a team themselves, and are requested without the chosen one: users who were removed from their team
 * must still be able to see that and choose another.
 */
const teamlessPaths = /^\/api\/(teams|invites|auth)\b/

export interface Credential {
  token: string
  /** None for API keys, which are not renewed. */
  refreshToken?: string
  expiresAt?: string
}

/** Stores a credential. */
export interface CredentialStore {
  credential(): Credential | undefined
  /** Renews it, unless another process has just done so: using a refresh token twice ends the session. */
  renew(stale: Credential, exchange: (refreshToken: string) => Promise<Credential>): Promise<Credential>
}

/**
 * A Tutti server, used as one user. Rejects with the AppError that the server reported, which decides the exit code.
 */
export class Client {
  constructor(
    readonly server: string,
    readonly keeper?: CredentialStore,
    readonly kind: 'device' | 'api_key' = 'device',
    /** Name of the user's profile. */
    readonly profile?: string,
    /** Team to work with (default: the one that the user has chosen on the server). */
    readonly team?: string,
  ) {}

  get = <T>(path: string): Promise<T> => this.request<T>('GET', path)
  post = <T>(path: string, body: object = {}): Promise<T> => this.request<T>('POST', path, body)

  async request<T>(method: string, path: string, body?: object): Promise<T> {
    const team = teamlessPaths.test(path) ? undefined : this.team
    const send = (token?: string) => sendRequest<T>(this.server, method, path, body, token, team)
    return this.#withToken(send)
  }

  /** Returns a token that has not expired, for requests that the caller sends itself. */
  token(): Promise<string | undefined> {
    return this.#withToken(async (token) => token)
  }

  /** Calls `send` with a token, and once more with a renewed one if the server rejects it. */
  async #withToken<T>(send: (token?: string) => Promise<T>): Promise<T> {
    let held = this.keeper?.credential()
    if (held?.refreshToken && held.expiresAt && Date.parse(held.expiresAt) - EARLY_MS < Date.now())
      held = await this.#renew(held)
    try {
      return await send(held?.token)
    } catch (error) {
      if (!held?.refreshToken || !(error instanceof AppError) || error.code !== 'unauthenticated') throw error
      return send((await this.#renew(held)).token)
    }
  }

  /** Opens a response that is read while it arrives, however long that takes. With a body it is a POST. */
  open(path: string, accept: string, signal?: AbortSignal, body?: object): Promise<ReadableStream<Uint8Array>> {
    return this.#withToken((token) => openStream(this.server, path, { accept, token, team: this.team, signal, body }))
  }

  async #renew(stale: Credential): Promise<Credential> {
    const exchange = (refreshToken: string) =>
      sendRequest<Credential>(this.server, 'POST', '/api/auth/refresh', { refreshToken })
    return this.keeper?.renew(stale, exchange) ?? stale
  }
}

/** Returns the status and version of a server. Works also while its database is unavailable. */
export async function fetchHealth(server: string): Promise<{ status: string; version: string }> {
  const response = await fetchPath(server, '/health', { method: 'GET' })
  const { status, version } = ((await response.json().catch(() => undefined)) ?? {}) as {
    status?: unknown
    version?: unknown
  }
  if (typeof status !== 'string' || typeof version !== 'string') throw notTuttiError(server, response.status)
  return { status: safeLine(status), version: safeLine(version) }
}

async function sendRequest<T>(
  server: string,
  method: string,
  path: string,
  body?: object,
  token?: string,
  team?: string,
): Promise<T> {
  const response = await fetchPath(server, path, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
      ...(team && { 'x-organization-id': team }),
    },
    body: body && JSON.stringify(body),
  })
  const type = response.headers.get('content-type')?.split(';')[0]
  const ours = type === 'application/problem+json' || (response.ok && type === 'application/json')
  const answer = ours ? await response.json().catch(() => undefined) : undefined
  if (answer === undefined)
    throw isDown(response) ? serverDownError(server, response.status) : notTuttiError(server, response.status)
  if (!response.ok) throw fromProblem(answer as Problem, response, server, team)
  return answer as T
}

interface Stream {
  accept: string
  token?: string
  team?: string
  signal?: AbortSignal
  body?: object
}

async function openStream(server: string, path: string, { accept, token, team, signal, body }: Stream) {
  const headers = {
    accept,
    ...(body && { 'content-type': 'application/json' }),
    'user-agent': `tutti/${version}`,
    ...(token && { authorization: `Bearer ${token}` }),
    ...(team && { 'x-organization-id': team }),
  }
  const init = {
    headers,
    redirect: 'manual',
    signal,
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  } as const
  const response = await fetch(server + path, init).catch((error: unknown) => {
    throw new AppError('unavailable', `${server} cannot be reached. Is it running?`, { cause: error })
  })
  if (response.ok && response.body) return response.body
  const problem = (await response.json().catch(() => undefined)) as Problem | undefined
  if (problem) throw fromProblem(problem, response, server, team)
  throw isDown(response) ? serverDownError(server, response.status) : notTuttiError(server, response.status)
}

async function fetchPath(server: string, path: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(server + path, {
      ...init,
      headers: {
        ...(init.headers as Record<string, string>),
        accept: 'application/json',
        'user-agent': `tutti/${version}`,
      },
      // A credential is sent only to the server that the user named.
      redirect: 'manual',
      signal: AbortSignal.timeout(LIMIT_MS),
    })
    if (response.status < 300 || response.status > 399) return response
    const to = response.headers.get('location') ?? ''
    throw new AppError(
      'upstream_failed',
      `${server} redirects to ${safeLine(to) || 'another address'}. Use that address instead.`,
    )
  } catch (error) {
    if (error instanceof AppError) throw error
    if ((error as Error).name === 'TimeoutError')
      throw new AppError('upstream_timeout', `${server} did not respond within ${LIMIT_MS / 1000} seconds.`, {
        cause: error,
      })
    throw new AppError('unavailable', `${server} cannot be reached. Is it running, and is the address right?`, {
      cause: error,
    })
  }
}

const notTuttiError = (server: string, status: number): AppError =>
  new AppError(
    'upstream_failed',
    `The server at ${server} is not a Tutti server (status ${status}). Is the address right?`,
  )

/** A proxy reports that the server behind it does not respond. */
const isDown = ({ status }: Response): boolean => status >= 502 && status <= 504
const serverDownError = (server: string, status: number): AppError =>
  new AppError('unavailable', `${server} does not respond at the moment (status ${status}). Try again later.`)

/** Drops list items that are not objects: the response of a server is not trusted. */
const onlyObjects = <T extends object>(list: T[] | undefined): T[] | undefined =>
  Array.isArray(list) ? list.filter((item) => typeof item === 'object' && item !== null) : undefined
const waysOut = (next: WayOut[] | undefined, server: string): WayOut[] | undefined =>
  onlyObjects(next)?.map((way) => ({
    ...way,
    ...(way.page && { page: server + safeLine(String(way.page)) }),
    ...(way.route && { route: safeLine(String(way.route)) }),
    ...(way.command && { command: safeLine(String(way.command)) }),
  }))

/** Returns who holds a task, or undefined if the server sent something else. */
function heldOf(held: Problem['held']): Problem['held'] {
  if (typeof held !== 'object' || held === null) return undefined
  const { task, by, lastSeenAt, expiresAt } = held
  const isWhole =
    [task, by].every((name) => typeof name === 'string') &&
    [lastSeenAt, expiresAt].every((at) => typeof at === 'string' && !Number.isNaN(Date.parse(at)))
  return isWhole ? { task, by, lastSeenAt, expiresAt } : undefined
}

function fromProblem(problem: Problem, { headers }: Response, server: string, team: string | undefined): AppError {
  const { code, status, detail, subject } = problem
  if (code === 'not_found' && subject?.kind === 'organization' && subject.ref === team)
    return new AppError(
      'not_found',
      'You are not a member of the team that your commands use here. ' +
        'Choose another (tutti teams list, tutti teams use <team>); in a linked folder, unlink it: tutti link --remove',
    )
  // A newer server may refine a code in a way that this program does not know yet.
  const known = [code, String(code).split('.')[0]].find((c): c is ErrorCode => Object.hasOwn(codes, String(c)))
  const byStatus = (Object.keys(codes) as ErrorCode[]).find((c) => codes[c][0] === status)
  const wait = Number(headers.get('retry-after')) || undefined
  return new AppError(known ?? byStatus ?? 'internal', safeLine(String(detail)), {
    ...publicFacts(problem),
    missing: onlyObjects(problem.missing),
    held: heldOf(problem.held),
    next: waysOut(problem.next, server),
    retryAfter: wait,
  })
}
