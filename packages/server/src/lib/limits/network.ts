import ipaddr from 'ipaddr.js'

const { IPv4, IPv6 } = ipaddr

/**
 * What limits by address count together: an IPv4 address, or the /64 of an IPv6 address, which is what one customer of a provider has at
 * least (RFC 6177). Other texts stand for themselves.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.') || !IPv6.isValid(address)) return address
  const parsed = IPv6.parse(address)
  if (parsed.isIPv4MappedAddress()) return `::ffff:${parsed.toIPv4Address()}`
  const groups = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${groups.join(':')}::/64`
}

/** Whether it is an IP address, or a network in CIDR notation. Octal and shortened forms of IPv4 are not. */
export function isAddressRange(text: string): boolean {
  return (
    IPv4.isValidFourPartDecimal(text) ||
    IPv4.isValidCIDRFourPartDecimal(text) ||
    IPv6.isValid(text) ||
    IPv6.isValidCIDR(text)
  )
}
