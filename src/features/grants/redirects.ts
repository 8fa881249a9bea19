import { loopback } from '../../address.ts'

/** Checks redirect addresses of programs: a wrong one would give the code to a stranger. */

const LONGEST = 2000

/** True for a program on the person's own computer, which listens on a port of its choice. */
export const isLoopback = (uri: string): boolean => {
  const url = URL.parse(uri)
  return url?.protocol === 'http:' && loopback.has(url.hostname)
}

/**
 * True for an app on the user's device. Its scheme is a reversed domain name (RFC 8252, 7.1). One word, such as
 * `cursor:` or `javascript:`, could belong to any app, or be executed by the browser or the system.
 */
const isPrivateUse = ({ protocol }: URL): boolean => /^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:$/.test(protocol)

/** Returns why a program must not register the address; undefined if it may. */
export function redirectProblem(uri: string): string | undefined {
  const url = URL.parse(uri)
  if (!url || uri.length > LONGEST) return 'is not an address'
  // The server and the browser must parse it alike, so only the normalized form is accepted.
  if (url.href !== uri && url.href !== `${uri}/`) return 'is not a normalized address'
  if (uri.includes('#')) return 'must not have a fragment'
  if (url.username || url.password) return 'must not have a user name or password'
  if (url.protocol === 'https:' || isLoopback(uri) || isPrivateUse(url)) return undefined
  return (
    'must begin with https://, point to the local computer (http://127.0.0.1, http://[::1] or http://localhost), ' +
    'or have a scheme with a dot, such as com.example.app:'
  )
}

/** Returns whether the requested address is one of the registered ones. On loopback the port may be any. */
export function isRegisteredRedirect(registered: readonly string[], asked: string): boolean {
  if (registered.includes(asked)) return true
  if (!isLoopback(asked)) return false
  const withoutPort = (uri: string) => {
    const { hostname, pathname, search } = new URL(uri)
    return `${hostname}${pathname}${search}`
  }
  return registered.some((uri) => isLoopback(uri) && withoutPort(uri) === withoutPort(asked))
}

/** Returns the value for `form-action`, which cannot express [::1]: the origin, or else the scheme. */
export const formTarget = (uri: string): string => {
  const { protocol, origin, hostname } = new URL(uri)
  const isNameable = (protocol === 'https:' || protocol === 'http:') && !hostname.startsWith('[')
  return isNameable ? origin : protocol
}
