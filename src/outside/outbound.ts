import type { IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import { isPublicAddress } from './addresses.ts'
import { type AllowedHosts, allowedHosts, bareHost } from './allowed-hosts.ts'

/**
 * The only way to addresses that users provide. Users must not reach private hosts through this server, so names are
 * resolved here, every resulting address is checked, and the connection uses only a checked one. Hosts that the
 * operator configures (mail, identity provider, code host) do not use this. Requests with `mayBePrivate` also reach the
 * private hosts of OUTBOUND_ALLOW.
 */
export interface Outbound {
  /** The hosts of OUTBOUND_ALLOW. */
  readonly allowed: AllowedHosts
  send(url: string, request?: OutboundRequest): Promise<OutboundResponse>
}

interface OutboundRequest {
  method?: 'GET' | 'POST' | 'PUT'
  /** Sent only to the host of the address: a redirect to another host does not receive them. */
  headers?: Record<string, string>
  body?: string | Uint8Array
  signal?: AbortSignal
  /** Whether hosts of OUTBOUND_ALLOW can be reached: only for addresses of signed-in users, never of strangers. */
  mayBePrivate?: boolean
  /** How many redirects to follow. Default: 3. */
  redirects?: number
  /** How long the response may be. Default: 5 MiB. */
  mostBytes?: number
}

interface OutboundResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

export interface OutboundOptions {
  /** Returns all addresses of a name. */
  resolve?: (host: string) => Promise<string[]>
  /** Replaces a checked address by the one to connect to: tests have no public addresses. */
  dial?: (address: string) => string
  /** Certificates to trust instead of the usual ones. */
  ca?: string
  timeoutMs?: number
}

/** A host sent more than is read of one response, so that asking for less may succeed. */
export class ResponseTooLarge extends AppError {
  constructor(host: string, bytes: number) {
    super('upstream_failed', `${host} sent more than ${bytes} bytes.`)
  }
}

const TIMEOUT = 10_000
const MOST_BYTES = 5 << 20
const REDIRECTS = 3
/** Headers that another host receives after a redirect. */
const harmless = new Set(['accept', 'content-type'])

const noHosts = allowedHosts([])

/**
 * Checks the address itself, before any request; also used where one is stored. Never repeats it in an error, as it may
 * be a secret.
 */
export function checkOutboundUrl(text: string, allowed: AllowedHosts = noHosts): URL {
  const url = URL.parse(text)
  const isListed = /^https?:$/.test(url?.protocol ?? '') && allowed.isListed(url as URL)
  if (url?.protocol !== 'https:' && !(url && isListed))
    throw new AppError('invalid', 'The address must begin with https://. Only hosts in OUTBOUND_ALLOW may use http://.')
  if (url.username || url.password)
    throw new AppError('invalid', 'The address must not contain a user name or password.')
  const host = bareHost(url)
  // The URL parser has normalised 0x7f.1, 2130706433 and the like.
  if (isIP(host) && !isPublicAddress(host) && !isListed) throw notPublic(host)
  return url
}

const notPublic = (host: string) =>
  new AppError(
    'invalid',
    `${host} is not on the public Internet. Users may give such an address only if OUTBOUND_ALLOW lists it.`,
  )

export function createOutbound(
  { OUTBOUND, OUTBOUND_ALLOW }: Pick<Config, 'OUTBOUND' | 'OUTBOUND_ALLOW'>,
  options: OutboundOptions = {},
): Outbound {
  const { timeoutMs = TIMEOUT } = options
  const allowed = allowedHosts(OUTBOUND_ALLOW)
  return {
    allowed,
    async send(url, request = {}) {
      const reachable = request.mayBePrivate ? allowed : noHosts
      const first = checkOutboundUrl(url, reachable)
      if (OUTBOUND === 'off' && !reachable.isListed(first))
        throw new AppError(
          'forbidden',
          'This server sends no requests to addresses given by users: its operator set OUTBOUND=off.',
        )
      const deadline = AbortSignal.timeout(timeoutMs)
      const signal = request.signal ? AbortSignal.any([deadline, request.signal]) : deadline
      let host = ''
      try {
        return await sendWithRedirects(
          { ...options, isOff: OUTBOUND === 'off', reachable },
          first,
          { ...request, signal },
          (name) => {
            host = name
          },
        )
      } catch (error) {
        if (error instanceof AppError) throw error
        request.signal?.throwIfAborted()
        if (deadline.aborted)
          throw new AppError('upstream_timeout', `${host} did not respond within ${timeoutMs / 1000} seconds.`)
        const { code, message } = error as { code?: string; message: string }
        throw new AppError('upstream_failed', `${host} cannot be reached: ${code ?? message}.`, { cause: error })
      }
    },
  }
}

type Limited = OutboundRequest & { signal: AbortSignal }
interface Ways extends OutboundOptions {
  /** Only hosts that are listed as they are written can be reached. */
  isOff: boolean
  reachable: AllowedHosts
}

/** Sends the request, also to where redirects lead. Calls `at` with each host before connecting to it. */
async function sendWithRedirects(
  options: Ways,
  first: URL,
  request: Limited,
  at: (host: string) => void,
): Promise<OutboundResponse> {
  const { reachable, isOff } = options
  let url = first
  let sent = request
  for (let hops = 0; ; hops++) {
    at(url.hostname)
    const answer = await sendOnce(options, url, sent)
    const location = [301, 302, 303, 307, 308].includes(answer.status) ? answer.headers.location : undefined
    if (typeof location !== 'string') return answer
    const most = request.redirects ?? REDIRECTS
    if (hops === most) throw new AppError('upstream_failed', `${url.hostname} redirects more than ${most} times.`)
    const next = checkOutboundUrl(URL.parse(location, url.href)?.href ?? '', reachable)
    if (isOff && !reachable.isListed(next)) throw notPublic(bareHost(next))
    sent = redirectedRequest(sent, answer.status, next.origin === url.origin)
    url = next
  }
}

async function sendOnce(options: Ways, url: URL, request: Limited): Promise<OutboundResponse> {
  const { resolve = resolveByDns, dial = (address) => address, ca } = options
  const { method = 'GET', headers = {}, body, signal, mostBytes = MOST_BYTES } = request
  const addresses = await addressesOf(url, { resolve, reachable: options.reachable }, signal)
  // Uses the checked addresses and resolves nothing again: the name's DNS records may have changed meanwhile.
  const lookup: LookupFunction = (_host, _options, done) =>
    done(
      null,
      addresses.map(dial).map((address) => ({ address, family: isIP(address) })),
    )
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const { request: open } = await (url.protocol === 'http:' ? import('node:http') : import('node:https'))
  return new Promise((resolve, reject) => {
    const call = open(
      url,
      {
        method,
        headers: { 'user-agent': 'Tutti', ...headers, ...length },
        agent: false,
        rejectUnauthorized: true,
        ca,
        lookup,
        signal,
      },
      (answer) => readResponse(answer, url.hostname, mostBytes).then(resolve, reject),
    )
    call.on('error', reject)
    call.end(body)
  })
}

async function addressesOf(
  url: URL,
  { resolve, reachable }: { resolve: (host: string) => Promise<string[]>; reachable: AllowedHosts },
  signal: AbortSignal,
): Promise<string[]> {
  const host = bareHost(url)
  const found = isIP(host) ? [host] : await orAbort(signal, resolve(host))
  if (found.length === 0) throw new AppError('upstream_failed', `${host} has no address.`)
  if (!found.every((address) => isPublicAddress(address) || reachable.includes(url, address))) throw notPublic(host)
  return found
}

const readResponse = (answer: IncomingMessage, host: string, most: number): Promise<OutboundResponse> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    answer.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= most) chunks.push(chunk)
      else answer.destroy(new ResponseTooLarge(host, most))
    })
    answer.on('end', () =>
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
    )
    answer.on('error', reject)
    answer.on('close', () => reject(new Error('the connection was closed')))
  })

/** Like a browser: a POST becomes a GET, except with 307 and 308. */
function redirectedRequest({ headers = {}, ...request }: Limited, status: number, sameOrigin: boolean): Limited {
  const kept = sameOrigin
    ? headers
    : Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.has(name.toLowerCase())))
  const { signal, redirects, mostBytes, mayBePrivate } = request
  return status >= 307 ? { ...request, headers: kept } : { signal, redirects, mostBytes, mayBePrivate, headers: kept }
}

async function resolveByDns(host: string): Promise<string[]> {
  const { lookup } = await import('node:dns/promises')
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

function orAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted()
  return Promise.race([
    work,
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  ])
}
