import type { GatewayAnswer } from '../runtime/transport.js'

/** Parses the header Retry-After, in seconds or as a date; null without it. */
export function retryAfterMs({ headers, receivedAt }: GatewayAnswer): number | null {
  const text = headers['retry-after']?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, date - receivedAt)
}
