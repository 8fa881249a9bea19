import { isIPv4, isIPv6 } from 'node:net'

/**
 * Which addresses lie on the public Internet (RFC 6890 and what came after it). Everything else is somebody's inside: this machine, its
 * network, the metadata service of its cloud.
 */
const closed4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT, and a metadata service
  '127.0.0.0/8',
  '168.63.129.16/32', // what Azure answers every machine on
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
].map((range) => {
  const [base = '', bits] = range.split('/')
  return { base: number4(base), size: 2 ** (32 - Number(bits)) }
})

/** True only for an address that is known to be public, in its usual spelling or any other that `net` takes for one. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isPublic4(number4(address))
  // A zone is a part of the inside.
  if (!isIPv6(address) || address.includes('%')) return false
  const groups = groupsOf(address)
  const [first = 0, second = 0] = groups
  const head = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(':')
  // An IPv4 address in the clothes of another: mapped, or as NAT64 makes them for networks that have nothing else.
  if (head === '0:0:0:0:0:ffff' || head === '64:ff9b:0:0:0:0')
    return isPublic4((groups[6] ?? 0) * 65_536 + (groups[7] ?? 0))
  // Only 2000::/3 is handed out at all. Of it: Teredo and other special uses, documentation, 6to4 (which leads to any IPv4 address).
  if (first >> 13 !== 1 || first === 0x2002) return false
  if (first === 0x2001 && (second < 0x200 || second === 0xdb8)) return false
  return !(first === 0x3fff && second < 0x1000)
}

function number4(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

const isPublic4 = (address: number): boolean =>
  !closed4.some(({ base, size }) => address >= base && address < base + size)

/** The eight numbers of an address that `isIPv6` has let through. */
function groupsOf(address: string): number[] {
  const dotted = /(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1]
  const low = dotted === undefined ? 0 : number4(dotted)
  const plain =
    dotted === undefined
      ? address
      : address.replace(dotted, `${(low >>> 16).toString(16)}:${(low & 0xffff).toString(16)}`)
  const [left = [], right = []] = plain.split('::').map((half) => half.split(':').filter(Boolean))
  const zeros = Array<string>(8 - left.length - right.length).fill('0')
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16))
}
