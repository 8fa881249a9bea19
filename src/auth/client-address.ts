import { isIP } from 'node:net'

/** Some proxies add the port and brackets; with them, every connection would count as its own network. */
const bareAddress = (text: string): string => {
  const [, v4, v6] = /^(?:(\d+(?:\.\d+){3}):\d+|\[(.*)\](?::\d+)?)$/.exec(text.trim()) ?? []
  return v4 ?? v6 ?? text.trim()
}

/**
 * Returns the address of whoever sent a request. X-Forwarded-For counts only when sent by a listed proxy, and only its
 * last address that is not a proxy. `direct`: where the connection comes from.
 */
export function clientAddress(headers: Headers, direct: string | null, trusted: readonly string[]): string | null {
  const isTrusted = (address: string) => trusted.includes(address.replace(/^::ffff:/i, ''))
  if (!direct || !isTrusted(direct)) return direct
  const chain = (headers.get('x-forwarded-for') ?? '').split(',').map(bareAddress)
  const client = chain.filter((address) => address && !isTrusted(address)).at(-1)
  return client && isIP(client) ? client : direct
}
