import ipaddr from 'ipaddr.js'

const { IPv4, IPv6 } = ipaddr

/**
 * The unit that limits by address count: an IPv4 address, or the /64 of an IPv6 address, the least
 * that a customer of a provider has (RFC 6177). Other texts count as they are.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.') || !IPv6.isValid(address)) return address
  const parsed = IPv6.parse(address)
  if (parsed.isIPv4MappedAddress()) return `::ffff:${parsed.toIPv4Address()}`
  const groups = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${groups.join(':')}::/64`
}

/**
 * Tells whether a text is an IP address, or a network in CIDR notation. Octal and shortened forms
 * of IPv4 are neither, nor is the network of all addresses.
 */
export function isAddressRange(text: string): boolean {
  if (/\/0+$/.test(text)) return false
  return (
    IPv4.isValidFourPartDecimal(text) ||
    IPv4.isValidCIDRFourPartDecimal(text) ||
    IPv6.isValid(text) ||
    IPv6.isValidCIDR(text)
  )
}
