/** Signatures by Standard Webhooks 1.0. */
import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'
const secretBytes = { min: 24, max: 64 }
/** Shortest secret of the format `callback`, in characters. */
const minPlainLength = 16

/** Returns a new secret of 32 random bytes. */
export function newSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}

/** Returns the reason why a text is no secret, to follow its name; null when it is one. */
export function secretFault(text: string, format: 'standard' | 'callback'): string | null {
  if (format === 'callback')
    return text.length < minPlainLength || !/^[!-~]*$/.test(text)
      ? `must have at least ${minPlainLength} printable ASCII characters without spaces`
      : null
  const { min, max } = secretBytes
  const key = signingKey(text)
  return key === null || key.length < min || key.length > max
    ? `must be ${prefix} and the base64 of ${min} to ${max} bytes`
    : null
}

/** A request to sign. */
export interface SignedContent {
  /** ID of the event, or of the first one of a batch. */
  readonly id: string
  /** Time of the attempt, seconds since 1970. */
  readonly timestamp: number
  readonly body: string
}

/**
 * Returns the headers of a request, with a signature for each secret.
 * @param secrets valid ones, see {@link secretFault}
 */
export function signatureHeaders(
  { id, timestamp, body }: SignedContent,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const signatures = secrets.map((secret) => {
    const key = signingKey(secret)
    if (key === null) throw new Error('the secret of an endpoint is not one')
    const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`)
    return `v1,${mac.digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  }
}

function signingKey(secret: string): Buffer | null {
  const text = secret.startsWith(prefix) ? secret.slice(prefix.length) : ''
  const key = Buffer.from(text, 'base64')
  // Receivers may refuse what Node accepts, such as a text without padding.
  return text !== '' && key.toString('base64') === text ? key : null
}
