/** The form of device tokens. Loaded by the writer's thread too. */
import type { VendorChannel } from '../certificate.js'

/**
 * ios_gw takes the token in the path of a request; the others take it within a text, some with
 * commas between several.
 */
const forms: Partial<Record<VendorChannel, { readonly pattern: RegExp; readonly words: string }>> =
  {
    ios_gw: { pattern: /^[0-9a-fA-F]+$/, words: 'hexadecimal digits' },
  }
const otherForm = {
  pattern: /^[ -+\--~]+$/,
  words: 'printable ASCII characters without commas',
}

/** Returns the form that the channel requires and the token does not have; null when it has it. */
export function tokenFault(channel: VendorChannel, token: string): string | null {
  const { pattern, words } = forms[channel] ?? otherForm
  return pattern.test(token) ? null : words
}
