import { isIP, type LookupFunction } from 'node:net'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import { isPublicAddress } from './addresses.ts'

/**
 * The one way out to addresses that users give. Whoever may name an address must not reach by it what only this machine reaches, so names
 * are resolved here, every answer is checked, and the connection goes to what was checked and to nothing else. What the operator
 * configures (mail, identity provider, code host) does not come through here.
 */
export interface Outbound {
  send(url: string, request?: OutboundRequest): Promise<OutboundResponse>
}

export interface OutboundRequest {
  method?: 'GET' | 'POST' | 'PUT'
  /** For the host of the address only: a redirect to another one does not get them. */
  headers?: Record<string, string>
  body?: string
  signal?: AbortSignal
}

export interface OutboundResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

export interface OutboundOptions {
  /** All addresses of a name. */
  resolve?: (host: string) => Promise<string[]>
  /** Where to connect to for an address that passed the checks: tests have no public ones. */
  dial?: (address: string) => string
  /** Certificates to trust in place of the usual ones. */
  ca?: string
  timeoutMs?: number
}

const TIMEOUT = 10_000
const MOST_BYTES = 5 << 20
const REDIRECTS = 3
/** What another host may see of a request that was redirected to it. */
const harmless = new Set(['accept', 'content-type'])

/** The address itself, before anything is asked: also for whoever stores one. Never repeats it, as it may be a secret. */
export function checkOutboundUrl(text: string): URL {
  const url = URL.parse(text)
  if (url?.protocol !== 'https:') throw new AppError('invalid', 'The address must begin with https://.')
  if (url.username || url.password)
    throw new AppError('invalid', 'The address must not contain a user name or password.')
  const host = hostOf(url)
  // The URL parser has brought 0x7f.1, 2130706433 and the like into their usual form.
  if (isIP(host) && !isPublicAddress(host)) throw notPublic(host)
  return url
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')
const notPublic = (host: string) =>
  new AppError(
    'invalid',
    `${host} is not on the public Internet, and this server calls no other addresses that users give.`,
  )

export function createOutbound({ OUTBOUND }: Pick<Config, 'OUTBOUND'>, options: OutboundOptions = {}): Outbound {
  const { resolve = resolveByDns, dial = (address) => address, ca, timeoutMs = TIMEOUT } = options

  async function addressesOf(url: URL, signal: AbortSignal): Promise<string[]> {
    const host = hostOf(url)
    const found = isIP(host) ? [host] : await orAbort(signal, resolve(host))
    if (found.length === 0) throw new AppError('upstream_failed', `${host} has no address.`)
    if (!found.every(isPublicAddress)) throw notPublic(host)
    return found
  }

  async function exchange(url: URL, request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> {
    const addresses = await addressesOf(url, signal)
    // Nothing is resolved a second time: a name whose answer changes meanwhile leads to the checked one all the same.
    const lookup: LookupFunction = (_host, _options, done) =>
      done(
        null,
        addresses.map(dial).map((address) => ({ address, family: isIP(address) })),
      )
    const { request: open } = await import('node:https')
    return new Promise((resolve, reject) => {
      const { method = 'GET', headers = {}, body } = request
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
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
        (answer) => {
          const chunks: Buffer[] = []
          let size = 0
          answer.on('data', (chunk: Buffer) => {
            size += chunk.length
            if (size <= MOST_BYTES) chunks.push(chunk)
            else
              answer.destroy(
                new AppError('upstream_failed', `${url.hostname} answered with more than ${MOST_BYTES} bytes.`),
              )
          })
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
          )
          answer.on('error', reject)
          answer.on('close', () => reject(new Error('the connection was closed')))
        },
      )
      call.on('error', reject)
      call.end(body)
    })
  }

  async function follow(first: string, request: OutboundRequest, signal: AbortSignal, at: (host: string) => void) {
    let url = checkOutboundUrl(first)
    let sent = request
    for (let hops = 0; ; hops++) {
      at(url.hostname)
      const answer = await exchange(url, sent, signal)
      const location = [301, 302, 303, 307, 308].includes(answer.status) ? answer.headers.location : undefined
      if (typeof location !== 'string') return answer
      if (hops === REDIRECTS)
        throw new AppError('upstream_failed', `${url.hostname} redirects more than ${REDIRECTS} times.`)
      const next = checkOutboundUrl(URL.parse(location, url.href)?.href ?? '')
      sent = redirected(sent, answer.status, next.origin === url.origin)
      url = next
    }
  }

  return {
    async send(url, request = {}) {
      if (OUTBOUND === 'off')
        throw new AppError(
          'forbidden',
          'This server calls no addresses that users give: its operator set OUTBOUND=off.',
        )
      const deadline = AbortSignal.timeout(timeoutMs)
      const signal = request.signal ? AbortSignal.any([deadline, request.signal]) : deadline
      let host = ''
      try {
        return await follow(url, request, signal, (name) => {
          host = name
        })
      } catch (error) {
        if (error instanceof AppError) throw error
        request.signal?.throwIfAborted()
        if (deadline.aborted)
          throw new AppError('upstream_timeout', `${host} did not answer within ${timeoutMs / 1000} seconds.`)
        const { code, message } = error as { code?: string; message: string }
        throw new AppError('upstream_failed', `${host} cannot be reached: ${code ?? message}.`, { cause: error })
      }
    },
  }
}

/** As browsers do: a POST becomes a GET unless the status says to repeat it. */
function redirected(
  { headers = {}, ...request }: OutboundRequest,
  status: number,
  sameOrigin: boolean,
): OutboundRequest {
  const kept = sameOrigin
    ? headers
    : Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.has(name.toLowerCase())))
  return status >= 307 ? { ...request, headers: kept } : { signal: request.signal, headers: kept }
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
