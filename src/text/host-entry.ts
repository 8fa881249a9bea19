import { isIP } from 'node:net'

/** An entry of a list of hosts: a name, or a range of addresses, each with one port or all of them. */
export interface HostEntry {
  /** In lower case, as the URL parser writes it. */
  name?: string
  range?: { base: string; bits: number }
  port?: number
}

/** Parses `git.lan`, `git.lan:3000`, `10.1.2.3`, `[::1]:3000` or `10.0.0.0/8`. Returns undefined for anything else. */
export function parseHostEntry(text: string): HostEntry | undefined {
  const [, base = '', bits] = /^(.+)\/(\d{1,3})$/.exec(text) ?? []
  if (bits !== undefined) {
    const most = { 0: -1, 4: 32, 6: 128 }[isIP(base)] ?? -1
    return Number(bits) <= most && !base.includes('%') ? { range: { base, bits: Number(bits) } } : undefined
  }
  if (isIP(text)) return ofHost(text)
  const [, host = '', port] = /^(\[[^\]]+\]|[^:/?#@\s[\]]+)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return undefined
  const entry = ofHost(host.replace(/^\[|\]$/g, ''))
  return entry && { ...entry, ...(port !== undefined && { port: Number(port) }) }
}

function ofHost(host: string): HostEntry | undefined {
  const family = host.includes('%') ? 0 : isIP(host)
  if (family !== 0) return { range: { base: host, bits: family === 4 ? 32 : 128 } }
  // The parser normalises international names, and rejects text that is not a host name.
  const name = host && !host.includes(':') ? URL.parse(`http://${host}`)?.hostname : undefined
  return name && !isIP(name) ? { name: withoutTrailingDot(name) } : undefined
}

/** A name may end with a dot, which means the same. */
export const withoutTrailingDot = (name: string): string => name.replace(/\.$/, '')
