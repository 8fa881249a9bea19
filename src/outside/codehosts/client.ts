import { AppError } from '../../errors.ts'
import { visibleText } from '../../text/text.ts'
import { type Outbound, ResponseTooLarge } from '../outbound.ts'
import { type HostAddress, saveTokenStep } from './host-address.ts'

/**
 * Talks to a code host of any provider. Requests are limited in time and size; errors are in our words and contain no
 * token.
 */
export interface CodeHostClient {
  readonly place: HostAddress
  readonly signedIn: boolean
  /** `allow`: statuses besides success that the caller handles. */
  ask(method: Method, path: string, options?: { body?: object; allow?: readonly number[] }): Promise<HostResponse>
  /** Returns the host's own error text. */
  errorText(answer: HostResponse): string
  /** The error for a response that violates the host's API. */
  invalidResponse(): AppError
}

type Method = 'GET' | 'POST' | 'PUT'
export interface HostResponse {
  status: number
  body: unknown
}

interface Raw {
  status: number
  header(name: string): string | undefined
  body: Buffer
}

export interface ClientOptions {
  /** The header that carries a token. */
  authorization(token: string): Record<string, string>
  headers: Record<string, string>
  /** The permissions a token needs, in the provider's own words. */
  scopes: string
}

const CALL_MS = 10_000
const MOST_BYTES = 5 << 20
const REDIRECTS = 3

export function createClient(
  app: { readonly outbound: Outbound },
  place: HostAddress,
  manners: ClientOptions,
  token: string | undefined,
  deadline: AbortSignal,
): CodeHostClient {
  const host = new URL(place.base).host
  const headers = {
    accept: 'application/json',
    'user-agent': 'Tutti',
    ...manners.headers,
    ...(token === undefined ? {} : manners.authorization(token)),
  }
  const garbled = () => new AppError('upstream_failed', `${host} sent a response that its API does not allow.`)

  return {
    place,
    signedIn: token !== undefined,
    invalidResponse: garbled,
    errorText: ({ status, body }) => wordsOf(body, token) || `status ${status}`,
    async ask(method, path, { body, allow = [] } = {}) {
      const request = {
        method,
        headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
        body: body && JSON.stringify(body),
      }
      const raw = await sendRequest(app, place, path, request, deadline)
      const ok = raw.status >= 200 && raw.status < 300
      const parsed = parseBody(raw.body)
      if (ok && parsed === undefined) throw garbled()
      if (ok || allow.includes(raw.status)) return { status: raw.status, body: parsed }
      throw refusal(host, place.provider, manners.scopes, token, raw, parsed)
    },
  }
}

interface Sent {
  method: Method
  headers: Record<string, string>
  body?: string
}

async function sendRequest(
  app: { readonly outbound: Outbound },
  { base, api, trusted }: HostAddress,
  path: string,
  request: Sent,
  deadline: AbortSignal,
): Promise<Raw> {
  const { host } = new URL(base)
  const signal = AbortSignal.any([deadline, AbortSignal.timeout(CALL_MS)])
  try {
    if (trusted) return await toOperators(host, api + path, request, signal)
    const { status, headers, body } = await app.outbound.send(api + path, { ...request, mayBePrivate: true, signal })
    return { status, header: (name) => [headers[name]].flat()[0], body }
  } catch (error) {
    if (signal.aborted) throw new AppError('upstream_timeout', `${host} did not respond in time. Try again later.`)
    if (error instanceof AppError) throw error
    const { code } = error as { code?: unknown }
    throw new AppError('upstream_failed', `${host} cannot be reached${typeof code === 'string' ? `: ${code}` : ''}.`)
  }
}

/** The operator's own host may be private, but redirects to other hosts are not trusted. */
async function toOperators(host: string, first: string, request: Sent, signal: AbortSignal): Promise<Raw> {
  let url = new URL(first)
  for (let hops = 0; ; hops++) {
    const answer = await fetch(url, { ...request, signal, redirect: 'manual' })
    const location = answer.status >= 300 && answer.status < 400 ? answer.headers.get('location') : null
    if (location === null)
      return {
        status: answer.status,
        header: (name) => answer.headers.get(name) ?? undefined,
        body: await readBounded(host, answer),
      }
    await answer.body?.cancel()
    const next = URL.parse(location, url.href)
    // Follows a renamed repository. A write goes to the given address or nowhere.
    if (next?.origin !== url.origin || request.method !== 'GET' || hops === REDIRECTS)
      throw new AppError(
        'upstream_failed',
        `${host} redirects to another address. Connect the repository under the address it has now.`,
      )
    url = next
  }
}

async function readBounded(host: string, answer: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > MOST_BYTES) throw new ResponseTooLarge(host, MOST_BYTES)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parseBody(body: Buffer): unknown {
  try {
    return body.length === 0 ? null : JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Returns the text on one line. A host may repeat what it was sent, including the token. */
function wordsOf(body: unknown, token: string | undefined): string {
  const { message, error, errors } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const inner = Array.isArray(errors) ? (errors[0] as { message?: unknown } | null)?.message : undefined
  const said = [inner, message, error].flat().find((text): text is string => typeof text === 'string' && text !== '')
  const safe = visibleText((token ? (said ?? '').replaceAll(token, '[redacted]') : (said ?? '')).slice(0, 2000))
    .replace(/\s+/g, ' ')
    .trim()
  return safe.length > 200 ? `${safe.slice(0, 199)}…` : safe
}

function refusal(
  host: string,
  provider: string,
  scopes: string,
  token: string | undefined,
  raw: Raw,
  body: unknown,
): AppError {
  const next = [saveTokenStep(provider)]
  const said = wordsOf(body, token)
  const why = said ? ` It says: ${JSON.stringify(said)}.` : ''
  const { status } = raw
  if (
    status === 429 ||
    (status === 403 && (raw.header('x-ratelimit-remaining') === '0' || raw.header('retry-after') !== undefined))
  ) {
    const retryAfter = waitOf(raw)
    const own = token === undefined ? ' With a token of your own the limit is higher.' : ''
    return new AppError(
      'rate_limited',
      `${host} accepts no more requests for now. Try again in ${retryAfter} seconds.${own}`,
      { retryAfter, ...(token === undefined && { next }) },
    )
  }
  if (status === 401 || status === 403)
    return token === undefined
      ? new AppError('forbidden', `${host} requires a token for this. Save one that has ${scopes}.`, { next })
      : new AppError('forbidden', `${host} refuses your token. Create one that has ${scopes}, and save it.${why}`, {
          next,
        })
  if (status === 404)
    return new AppError(
      'not_found',
      token === undefined
        ? `${host} does not show this without a token. If it is private, save a token first.`
        : `${host} has nothing by this name that your token can see. Check the name, and that the token has ${scopes}.`,
      token === undefined ? { next } : {},
    )
  if (status >= 400 && status < 500)
    return new AppError('conflict', `${host} refused the request with status ${status}.${why}`)
  return new AppError('upstream_failed', `${host} returned status ${status}. Try again later.`)
}

const LONGEST_WAIT = 3600

function waitOf({ header }: Raw): number {
  const wait = Number(header('retry-after') ?? Number.NaN)
  const reset = Number(header('x-ratelimit-reset') ?? header('ratelimit-reset') ?? Number.NaN) - Date.now() / 1000
  const seconds = [wait, reset].find((n) => Number.isFinite(n) && n > 0) ?? 60
  return Math.min(LONGEST_WAIT, Math.max(1, Math.ceil(seconds)))
}
