/** Name and version of this package, as the server logs it. */
export const sdk = '@hermod/client 0.1.0'

/** The subprotocol of the gateway. */
export const gatewayProtocol = 'hermod.v1.json'

/** Returns what the list of devices shows, at most 1,024 characters. */
export function userAgent(): string {
  const { navigator } = globalThis as { navigator?: { readonly userAgent?: string } }
  return (navigator?.userAgent ?? 'Node').slice(0, 1024)
}
