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

/** Returns IPv4 ranges with the prefix of NAT64, which leads to the same machines. */
const throughNat64 = (ranges: readonly string[]): string[] =>
  ranges.map((range) => `64:ff9b::${range.replace(/\d+$/, (bits) => String(96 + Number(bits)))}`)

/** A block list checks IPv4-mapped addresses against its IPv4 ranges; NAT64 needs the ranges with its own prefix. */
const closed = blockList(
  ...private4,
  ...throughNat64(private4),
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

/** IPv4 ranges that no setting opens: metadata services of clouds, and addresses that belong to no single machine. */
const never4 = [
  '0.0.0.0/8', // reaches this machine on some systems
  '100.100.100.200/32', // Alibaba
  '168.63.129.16/32', // Azure
  '169.254.0.0/16', // link-local: most clouds
  '192.0.0.192/32', // Oracle
  '224.0.0.0/3',
]
const never = blockList(
  ...never4,
  ...throughNat64(never4),
  '::/128',
  '2001::/32', // Teredo and 6to4 lead to any IPv4 address
  '2002::/16',
  'fd00:42::42/128', // Scaleway
  'fd00:ec2::/32', // Amazon
  'fd20:ce::254/128', // Google
  'fe80::/10',
  'ff00::/8',
)

/** Whether an address stays closed even if the operator lists it. */
export const isNeverAllowed = (address: string): boolean =>
  address.includes('%') || never.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')

export function blockList(...ranges: string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [base = '', bits] = range.split('/')
    list.addSubnet(base, Number(bits), isIPv4(base) ? 'ipv4' : 'ipv6')
  }
  return list
}
