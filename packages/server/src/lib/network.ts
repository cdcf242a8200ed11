/**
 * What limits by address count together: an IPv4 address, or the /64 of an IPv6 address, which is what one customer of a provider has at
 * least (RFC 6177). Other texts stand for themselves.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined && groups.length < 4) {
    const last = tail === '' ? [] : tail.split(':')
    while (groups.length + last.length < 8) groups.push('0')
    groups.push(...last)
  }
  return `${groups.slice(0, 4).join(':')}::/64`
}
