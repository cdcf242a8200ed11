/** Decoding of requests to simulated gateways. */
import type { GatewayCall, JsonReply } from './model.js'

export type JsonMembers = Readonly<Record<string, unknown>>

/** Parses a JSON object; null for anything else. */
export function readJson(text: string): JsonMembers | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonMembers)
      : null
  } catch {
    return null
  }
}

export function readForm(call: GatewayCall): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(call.body))
}

/** Returns a member that should be an object, else an empty one. */
export function member(value: unknown, name: string): JsonMembers {
  const found = (value as JsonMembers | undefined)?.[name]
  return typeof found === 'object' && found !== null ? (found as JsonMembers) : {}
}

/** Returns a member that should be a string, else "". */
export function textMember(value: unknown, name: string): string {
  const found = (value as JsonMembers | undefined)?.[name]
  return typeof found === 'string' ? found : ''
}

export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

export function bearer({ headers }: GatewayCall): string {
  return /^bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}

export function jsonReply(
  status: number,
  body: unknown,
  headers?: JsonReply['headers'],
): JsonReply {
  return headers === undefined ? { status, body } : { status, body, headers }
}

/** Tests whether a text is not blank and within its limit, in UTF-16 code units. */
export function isTextWithin(value: unknown, max: number): boolean {
  return typeof value === 'string' && value.trim() !== '' && value.length <= max
}

export function hasDuplicates(values: readonly unknown[]): boolean {
  return new Set(values).size !== values.length
}

export function byteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** Tests whether a time in milliseconds is within ten minutes of the gateway's. */
export function isCurrent(timestamp: unknown, now: number): boolean {
  return Math.abs(Number(timestamp) - now) <= 10 * 60_000
}
