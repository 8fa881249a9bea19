import { type BlockList, isIP, isIPv4 } from 'node:net'
import { type HostEntry, parseHostEntry, withoutTrailingDot } from '../text/host-entry.ts'
import { blockList, isNeverAllowed } from './addresses.ts'

/** The hosts of OUTBOUND_ALLOW. Metadata services and the like are never among them. */
export interface AllowedHosts {
  readonly isEmpty: boolean
  /**
   * Whether the host of this address is listed as it is written: by its name, or as an address in a listed range. Only
   * such a host may be reached by plain http, and while OUTBOUND is off.
   */
  isListed(url: URL): boolean
  /** Whether the connection for this URL may go to this address although it is not public. */
  includes(url: URL, address: string): boolean
}

interface Range {
  list: BlockList
  port?: number
}

export function allowedHosts(entries: readonly string[]): AllowedHosts {
  const parsed = entries.map(parseHostEntry).filter((entry): entry is HostEntry => entry !== undefined)
  const ranges = parsed.flatMap(({ range, port }): Range[] =>
    range ? [{ list: blockList(`${range.base}/${range.bits}`), port }] : [],
  )
  const isNamed = (url: URL) =>
    parsed.some(
      ({ name, port }) => name !== undefined && name === withoutTrailingDot(url.hostname) && matchesPort(url, port),
    )
  const isInRange = (url: URL, address: string) =>
    ranges.some(({ list, port }) => matchesPort(url, port) && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6'))
  const includes = (url: URL, address: string) =>
    isIP(address) !== 0 && !isNeverAllowed(address) && (isNamed(url) || isInRange(url, address))
  return {
    isEmpty: parsed.length === 0,
    isListed: (url) => {
      const host = bareHost(url)
      return isIP(host) ? includes(url, host) : isNamed(url)
    },
    includes,
  }
}

export const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')

const matchesPort = (url: URL, port: number | undefined): boolean =>
  port === undefined || port === Number(url.port || (url.protocol === 'http:' ? 80 : 443))
