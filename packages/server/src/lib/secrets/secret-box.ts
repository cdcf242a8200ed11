import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { SecretKeys } from './secret-keys.js'

/** The column and row of a sealed text, which opens nowhere else. */
export interface SealContext {
  /** Such as `apps.registration_secret`. */
  readonly column: string
  /** The key of the row. */
  readonly row: string
}

/** A stored text is not a secret that was sealed for this context, or no known key opens it. */
export class SealedTextError extends Error {
  override readonly name = 'SealedTextError'
}

const version = 'hs1'
const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const form = /^hs1:([\w-]{8}):([\w-]{16}):([\w-]{22,})$/

/**
 * Encrypts secrets at rest: `hs1:<key ID>:<nonce>:<ciphertext and tag>`, the last two in base64url.
 * AES-256-GCM under a key of this purpose; version, key ID and context are authenticated with the
 * text.
 */
export class SecretBox {
  readonly #keys: SecretKeys

  constructor(keys: SecretKeys) {
    this.#keys = keys
  }

  seal(text: string, context: SealContext): string {
    const nonce = randomBytes(nonceBytes)
    const [id = ''] = this.#keys.ids
    const key = this.#keys.for('stored secrets').current
    const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
    cipher.setAAD(authenticated(id, context))
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `${version}:${id}:${nonce.toString('base64url')}:${sealed.toString('base64url')}`
  }

  /** @throws SealedTextError when it was changed, belongs elsewhere, or needs an unknown key */
  open(sealed: string, context: SealContext): string {
    const { id, nonce, bytes } = parseSealed(sealed)
    const key = this.#keys.for('stored secrets').accepted[this.#keys.ids.indexOf(id)]
    if (key === undefined)
      throw new SealedTextError(`it was made with key ${id}, which is not known`)
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
    decipher.setAAD(authenticated(id, context))
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    try {
      const text = decipher.update(bytes.subarray(0, -tagBytes))
      return Buffer.concat([text, decipher.final()]).toString('utf8')
    } catch (cause) {
      throw new SealedTextError('it was changed, or was encrypted for another row', { cause })
    }
  }

  /** Tells whether the current key sealed the text. */
  isCurrent(sealed: string): boolean {
    return sealedKeyId(sealed) === this.#keys.ids[0]
  }

  /** Seals the same secret with the current key. @throws as {@link open} */
  reseal(sealed: string, context: SealContext): string {
    return this.seal(this.open(sealed, context), context)
  }
}

/** @returns the ID of its key, or null for a text that is not sealed */
export function sealedKeyId(sealed: string): string | null {
  return form.exec(sealed)?.[1] ?? null
}

function parseSealed(sealed: string): { id: string; nonce: Buffer; bytes: Buffer } {
  const [, id, nonceText = '', text = ''] = form.exec(sealed) ?? []
  const nonce = Buffer.from(nonceText, 'base64url')
  const bytes = Buffer.from(text, 'base64url')
  // base64url leaves unused bits at the end; every secret has exactly one valid text.
  if (id === undefined || bytes.toString('base64url') !== text)
    throw new SealedTextError('it is not encrypted')
  return { id, nonce, bytes }
}

function authenticated(id: string, { column, row }: SealContext): Buffer {
  return Buffer.from(`${version}\n${id}\n${column}\n${row}`)
}
