import { loopback } from '../../address.ts'

/** Which addresses a program may send people back to. Anything else would hand the code to a stranger. */

const LONGEST = 2000

/** True for a program on the person's own computer, which listens on a port of its choice. */
export const isLoopback = (uri: string): boolean => {
  const url = URL.parse(uri)
  return url?.protocol === 'http:' && loopback.has(url.hostname)
}

/**
 * True for an app on the person's device. Its scheme is a domain name in reverse (RFC 8252, 7.1): one word, such as
 * `cursor:` or `javascript:`, could be anybody's, or an address that the browser or the system acts on.
 */
const isPrivateUse = ({ protocol }: URL): boolean => /^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:$/.test(protocol)

/** Returns why a program must not register the address; undefined if it may. */
export function redirectProblem(uri: string): string | undefined {
  const url = URL.parse(uri)
  if (!url || uri.length > LONGEST) return 'is not an address'
  // The browser and we must read it alike, so only its normal form counts.
  if (url.href !== uri && url.href !== `${uri}/`) return 'is not in its normal form'
  if (uri.includes('#')) return 'must not have a fragment'
  if (url.username || url.password) return 'must not have a user name or password'
  if (url.protocol === 'https:' || isLoopback(uri) || isPrivateUse(url)) return undefined
  return (
    'must begin with https://, lead to this computer (http://127.0.0.1, http://[::1] or http://localhost), ' +
    'or have a scheme with a dot, such as com.example.app:'
  )
}

/** Returns whether the requested address is one of the registered ones. On loopback the port may be any. */
export function isRegistered(registered: readonly string[], asked: string): boolean {
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
