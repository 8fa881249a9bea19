import { BlockList, isIPv4, isIPv6 } from 'node:net'

/**
 * IPv6 addresses that can be public: the only block that is assigned at all, and the two that carry an IPv4 address.
 */
const assigned = blockList(
  '2000::/3',
  '::ffff:0:0/96', // IPv4-mapped
  '64:ff9b::/96', // NAT64, for networks that have no IPv4
)

/** IPv4 ranges that are not public (RFC 6890 and later): this machine, its network, its cloud's metadata service. */
const private4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT, and a metadata service
  '127.0.0.0/8',
  '168.63.129.16/32', // Azure's platform address, which every machine there can reach
  '169.254.0.0/16', // link-local, and most metadata services
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3', // multicast, reserved, broadcast
]

/** A block list checks IPv4-mapped addresses against its IPv4 ranges; NAT64 needs the ranges with its own prefix. */
const closed = blockList(
  ...private4,
  ...private4.map((range) => `64:ff9b::${range.replace(/\d+$/, (bits) => String(96 + Number(bits)))}`),
  '2001::/23', // Teredo and other special uses
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which leads to any IPv4 address
  '3fff::/20', // documentation
)

/** Returns true only for an address known to be public, in any spelling that `net` accepts. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !closed.check(address, 'ipv4')
  // An address with a zone is never public.
  if (!isIPv6(address) || address.includes('%')) return false
  return assigned.check(address, 'ipv6') && !closed.check(address, 'ipv6')
}

function blockList(...ranges: string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [base = '', bits] = range.split('/')
    list.addSubnet(base, Number(bits), isIPv4(base) ? 'ipv4' : 'ipv6')
  }
  return list
}
