import { isIP } from 'node:net'

/** Some proxies add the port and brackets; with them, every connection would count as its own network. */
const bareAddress = (text: string): string => {
  const [, v4, v6] = /^(?:(\d+(?:\.\d+){3}):\d+|\[(.*)\](?::\d+)?)$/.exec(text.trim()) ?? []
  return v4 ?? v6 ?? text.trim()
}

/**
 * Returns the one spelling of an address: eight groups without leading zeros, or four numbers for IPv4, also where it
 * is mapped to IPv6. What is no IPv6 address is returned as it is: headers may hold anything.
 */
export function canonicalAddress(ip: string): string {
  if (isIP(ip) !== 6) return ip
  const hex = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16)
  const [address = '', zone] = ip.split('%')
  // The last four bytes may be written as IPv4: ::ffff:192.0.2.7
  const bare = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => `${hex(a, b)}:${hex(c, d)}`)
  const [head = '', tail] = bare.split('::')
  const left = head ? head.split(':') : []
  const right = tail ? tail.split(':') : []
  const groups =
    tail === undefined
      ? left
      : [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right]
  const values = groups.map((g) => Number.parseInt(g, 16))
  const [, , , , , mark = 0, high = 0, low = 0] = values
  // An IPv4-mapped address: ::ffff:c000:207
  if (mark === 0xffff && values.slice(0, 5).every((v) => v === 0))
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  return values.map((v) => v.toString(16)).join(':') + (zone ? `%${zone}` : '')
}

/**
 * Returns the address of whoever sent a request. X-Forwarded-For counts only when sent by a listed proxy, and only its
 * last address that is not a proxy. `direct`: where the connection comes from.
 */
export function clientAddress(headers: Headers, direct: string | null, trusted: readonly string[]): string | null {
  const proxies = trusted.map(canonicalAddress)
  const isTrusted = (address: string) => proxies.includes(canonicalAddress(address))
  if (!direct || !isTrusted(direct)) return direct
  const chain = (headers.get('x-forwarded-for') ?? '').split(',').map(bareAddress)
  const client = chain.filter((address) => address && !isTrusted(address)).at(-1)
  return client && isIP(client) ? client : direct
}
