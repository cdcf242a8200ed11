import type { JsonObject } from '../../../lib/json.js'
import { parseStrictObject } from '../../../lib/strict-json.js'
import type { Refusal } from './refusals.js'

/** Longest assertion in bytes. */
export const maxAssertionBytes = 8_192

/** One more than an assertion has. */
const maxParts = 4

/** A signed JWT in the compact form (RFC 7515, RFC 7519), taken apart. Nothing of it is proved yet. */
export interface Assertion {
  readonly text: string
  readonly header: JsonObject
  readonly payload: JsonObject
}

/**
 * Takes an assertion apart. Its text has exactly one reading, so a library that reads it again sees
 * the same.
 */
export function readAssertion(text: string): Assertion | Refusal {
  if (Buffer.byteLength(text) > maxAssertionBytes) return 'too_large'
  const parts = text.split('.', maxParts).map(bytesOf)
  const [headerBytes, payloadBytes, signature] = parts
  if (parts.length !== 3 || !headerBytes || !payloadBytes || !signature) return 'not_a_jws'
  const header = objectOf(headerBytes)
  const payload = objectOf(payloadBytes)
  return header === null || payload === null ? 'invalid_json' : { text, header, payload }
}

/** Returns null for a text that is not the base64url of its bytes. */
function bytesOf(part: string): Buffer | null {
  const bytes = Buffer.from(part, 'base64url')
  return bytes.toString('base64url') === part ? bytes : null
}

function objectOf(bytes: Buffer): JsonObject | null {
  try {
    // A byte order mark stays, and is no JSON.
    return parseStrictObject(
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
    )
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}
