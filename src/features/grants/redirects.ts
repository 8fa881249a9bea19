import { loopback } from '../../address.ts'

/** Which addresses a program may send people back to. Anything else would hand the code to a stranger. */

/** Addresses with these schemes run in the browser, or read files. */
const dangerous = new Set([
  'javascript:',
  'data:',
  'file:',
  'blob:',
  'vbscript:',
  'about:',
  'view-source:',
  'ws:',
  'wss:',
  'ftp:',
])
const LONGEST = 2000

/** True for a program on the person's own computer, which listens on a port of its choice. */
export const isLoopback = (uri: string): boolean => {
  const url = URL.parse(uri)
  return url?.protocol === 'http:' && loopback.has(url.hostname)
}

/** Returns why a program must not register the address; undefined if it may. */
export function redirectProblem(uri: string): string | undefined {
  const url = URL.parse(uri)
  if (!url || uri.length > LONGEST) return 'is not an address'
  // The browser and we must read it alike, so only its normal form counts.
  if (url.href !== uri && url.href !== `${uri}/`) return 'is not in its normal form'
  if (uri.includes('#')) return 'must not have a fragment'
  if (url.username || url.password) return 'must not have a user name or password'
  if (dangerous.has(url.protocol)) return `must not begin with ${url.protocol}`
  if (url.protocol === 'http:' && !loopback.has(url.hostname))
    return 'must begin with https://, or lead to this computer'
  return undefined
}

/** Returns whether the asked address is one of the registered ones. On loopback the port may be any. */
export function isRegistered(registered: readonly string[], asked: string): boolean {
  if (redirectProblem(asked)) return false
  if (registered.includes(asked)) return true
  if (!isLoopback(asked)) return false
  const withoutPort = (uri: string) => {
    const { hostname, pathname, search } = new URL(uri)
    return `${hostname}${pathname}${search}`
  }
  return registered.some((uri) => isLoopback(uri) && withoutPort(uri) === withoutPort(asked))
}

/** Returns what a page with a form may be redirected to, for its `form-action`, which has no way to name [::1]. */
export const formTarget = (uri: string): string => {
  const { protocol, origin, hostname } = new URL(uri)
  const isNameable = (protocol === 'https:' || protocol === 'http:') && !hostname.startsWith('[')
  return isNameable ? origin : protocol
}
