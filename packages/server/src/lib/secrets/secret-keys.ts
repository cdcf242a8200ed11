import { hkdfSync } from 'node:crypto'

/**
 * The purposes of keys. Each purpose has separate keys, so that a text made for one is not valid
 * for another.
 */
export type KeyPurpose =
  | 'stored secrets'
  | 'group QR texts'
  | 'file credentials'
  | 'file tickets'
  | 'failed logins'

/** The keys of one purpose; they change when the secret key is rotated. */
export interface PurposeKeys {
  /** The key of new texts. */
  readonly current: Buffer
  /** The accepted keys: the current one, and the previous one until it is retired. */
  readonly accepted: readonly Buffer[]
}

/** The secret key, and during a rotation the previous one, as keys for each purpose (HKDF-SHA-256). */
export class SecretKeys {
  #secretKeys: readonly Buffer[]
  readonly #derived = new Map<KeyPurpose, readonly Buffer[]>()

  constructor(current: Buffer, previous: Buffer | null = null) {
    this.#secretKeys = secretKeysOf(current, previous)
  }

  /** The current keys of a purpose at each use, also after a rotation. */
  for(purpose: KeyPurpose): PurposeKeys {
    const keys = () => this.#keysOf(purpose)
    return {
      get current() {
        return keys()[0] as Buffer
      },
      get accepted() {
        return keys()
      },
    }
  }

  get current(): Buffer {
    return this.#secretKeys[0] as Buffer
  }

  get previous(): Buffer | null {
    return this.#secretKeys[1] ?? null
  }

  /** The current key first, then the previous one, if any. */
  get ids(): readonly string[] {
    return this.#secretKeys.map(keyId)
  }

  replace(current: Buffer, previous: Buffer | null): void {
    this.#secretKeys = secretKeysOf(current, previous)
    this.#derived.clear()
  }

  #keysOf(purpose: KeyPurpose): readonly Buffer[] {
    const known = this.#derived.get(purpose)
    if (known) return known
    const keys = this.#secretKeys.map((secretKey) => purposeKey(secretKey, purpose))
    this.#derived.set(purpose, keys)
    return keys
  }
}

export function purposeKey(secretKey: Buffer, purpose: KeyPurpose): Buffer {
  return derive(secretKey, purpose, 32)
}

/** 8 letters that identify a key and reveal nothing about it. */
export function keyId(secretKey: Buffer): string {
  return derive(secretKey, 'key ID', 6).toString('base64url')
}

/** Tells whether a value of JSON has the form of the ID of a key. */
export function isKeyId(value: unknown): boolean {
  return typeof value === 'string' && /^[\w-]{8}$/.test(value)
}

function secretKeysOf(current: Buffer, previous: Buffer | null): readonly Buffer[] {
  return previous === null ? [current] : [current, previous]
}

function derive(secretKey: Buffer, info: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, '', info, bytes))
}
