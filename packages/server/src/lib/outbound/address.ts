/** Decides which IP addresses the service may call for others. */
import ipaddr from 'ipaddr.js'

type IPv4 = ipaddr.IPv4
type IPv6 = ipaddr.IPv6

/** A network in CIDR notation, parsed. */
export type AddressRange = readonly [address: IPv4 | IPv6, prefix: number]

/**
 * Parses an address or a network, such as 10.0.0.0/8 or ::1.
 * @throws Error when it is neither
 */
export function parseAddressRange(text: string): AddressRange {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/**
 * Returns the range of an address that may not be called, such as `loopback`; null when it may be.
 * Of an IPv6 address that carries IPv4 addresses, those count.
 *
 * @param address IP address as text, as a resolver or the URL parser writes it
 * @param allowed ranges that may be called although they are not public
 */
export function forbiddenRange(address: string, allowed: readonly AddressRange[]): string | null {
  if (!ipaddr.isValid(address)) return 'no address'
  const parsed = ipaddr.parse(address)
  if (isIn(parsed, allowed)) return null
  const carried = carriedBy(parsed)
  const targets = (carried.length === 0 ? [parsed] : carried).filter((each) => !isIn(each, allowed))
  return targets.map((each) => each.range()).find((range) => range !== 'unicast') ?? null
}

/** Tests whether two texts are the same address; an IPv4 address equals its form in IPv6. */
export function isSameAddress(a: string, b: string): boolean {
  return (
    ipaddr.isValid(a) &&
    ipaddr.isValid(b) &&
    ipaddr.process(a).toNormalizedString() === ipaddr.process(b).toNormalizedString()
  )
}

function isIn(address: IPv4 | IPv6, ranges: readonly AddressRange[]): boolean {
  return ranges.some(([network, prefix]) =>
    address.kind() === network.kind() ? address.match(network, prefix) : false,
  )
}

/** Addresses of IPv4 by their place in an address of IPv6, in groups of 16 bits. */
const carriers: readonly {
  readonly network: AddressRange
  readonly at: number
  /** The bits are inverted. */
  readonly isInverted?: true
}[] = [
  // IPv4-mapped, IPv4-compatible and IPv4-translated addresses.
  { network: parseAddressRange('::ffff:0:0/96'), at: 6 },
  { network: parseAddressRange('::/96'), at: 6 },
  { network: parseAddressRange('::ffff:0:0:0/96'), at: 6 },
  // NAT64. Its local prefix, 64:ff9b:1::/48, leads into a local network and stays forbidden.
  { network: parseAddressRange('64:ff9b::/96'), at: 6 },
  { network: parseAddressRange('2002::/16'), at: 1 },
  // Teredo: the server, and the client behind it.
  { network: parseAddressRange('2001::/32'), at: 2 },
  { network: parseAddressRange('2001::/32'), at: 6, isInverted: true },
]

/** Returns the IPv4 addresses that an IPv6 address stands for. */
function carriedBy(address: IPv4 | IPv6): IPv4[] {
  if (!isIPv6(address) || isUnspecifiedOrLoopback(address)) return []
  return carriers.flatMap(({ network, at, isInverted }) =>
    isIn(address, [network]) ? [ipv4At(address, at, isInverted === true)] : [],
  )
}

function ipv4At({ parts }: IPv6, place: number, isInverted: boolean): IPv4 {
  const mask = isInverted ? 0xffff : 0
  const groups = [(parts[place] ?? 0) ^ mask, (parts[place + 1] ?? 0) ^ mask]
  return new ipaddr.IPv4(groups.flatMap((group) => [group >> 8, group & 0xff]))
}

function isIPv6(address: IPv4 | IPv6): address is IPv6 {
  return address.kind() === 'ipv6'
}

/** :: and ::1 lie in the network of IPv4-compatible addresses. */
function isUnspecifiedOrLoopback(address: IPv6): boolean {
  return ['unspecified', 'loopback'].includes(address.range())
}
