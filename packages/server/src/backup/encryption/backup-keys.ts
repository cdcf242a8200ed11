/** The keys of encrypted backups: random ones, wrapped by a key that scrypt makes of the passphrase. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { type Check, isObjectOf, isOneOf } from '../../lib/json-file.js'

/** The derivation of a key from a passphrase. */
export interface KeyDerivation {
  readonly name: 'scrypt'
  readonly n: number
  readonly r: number
  readonly p: number
  /** 32 hexadecimal digits. */
  readonly salt: string
}

/** The member `encryption` of manifest.json. */
export interface BackupEncryption {
  readonly kdf: KeyDerivation
  /** The key of the parts of this backup, wrapped. */
  readonly data_key: string
  /** The key of the files of several backups: the name of their folder, and the key, wrapped. */
  readonly files: { readonly id: string; readonly key: string }
  /** Authenticates the rest of the manifest under the key of the parts. */
  readonly mac: string
}

const algorithm = 'aes-256-gcm'
const [keyBytes, nonceBytes, tagBytes, saltBytes] = [32, 12, 16, 16]
/** 128 MiB for a moment. */
const cost = { n: 2 ** 17, r: 8, p: 1 } as const

const isHexOf =
  (bytes: number): Check =>
  (value) =>
    typeof value === 'string' && value.length === 2 * bytes && /^[0-9a-f]*$/.test(value)
/** A wrapped key. */
export const isWrapped: Check = isHexOf(nonceBytes + keyBytes + tagBytes)
/** The name of the folder of encrypted files. */
export const isFilesId: Check = isHexOf(8)
/** Bounded: a manifest may come from anyone, and 2^18 take 256 MiB. */
export const isKeyDerivation: Check = isObjectOf({
  ...{ name: isOneOf('scrypt'), n: isOneOf(2 ** 17, 2 ** 18), r: isOneOf(8), p: isOneOf(1) },
  salt: isHexOf(saltBytes),
})
export const isEncryption: Check = isObjectOf({
  ...{ kdf: isKeyDerivation, data_key: isWrapped, mac: isHexOf(32) },
  files: isObjectOf({ id: isFilesId, key: isWrapped }),
})

export function newKey(): Buffer {
  return randomBytes(keyBytes)
}

export function newFilesId(): string {
  return randomBytes(8).toString('hex')
}

export function newDerivation(): KeyDerivation {
  return { name: 'scrypt', ...cost, salt: randomBytes(saltBytes).toString('hex') }
}

/** Makes the key of a passphrase that wraps the others. */
export function derive(passphrase: string, { n, r, p, salt }: KeyDerivation): Promise<Buffer> {
  const options = { N: n, r, p, maxmem: 256 * n * r }
  return new Promise((resolve, reject) =>
    scrypt(passphrase, Buffer.from(salt, 'hex'), keyBytes, options, (error, key) =>
      error ? reject(error) : resolve(key),
    ),
  )
}

/** The purposes of wrapped keys; a key opens for its own one alone. */
type Wrapped = 'data key' | `files key ${string}`

export function wrap(wrapping: Buffer, key: Buffer, purpose: Wrapped): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, wrapping, nonce, { authTagLength: tagBytes })
  cipher.setAAD(Buffer.from(purpose))
  const sealed = [nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(sealed).toString('hex')
}

/** @returns null: another passphrase wrapped it, or it was changed */
export function unwrap(wrapping: Buffer, wrapped: string, purpose: Wrapped): Buffer | null {
  const bytes = Buffer.from(wrapped, 'hex')
  const nonce = bytes.subarray(0, nonceBytes)
  const decipher = createDecipheriv(algorithm, wrapping, nonce, { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(purpose))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    const key = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
    return Buffer.concat([key, decipher.final()])
  } catch {
    return null
  }
}

/** Returns the code that authenticates a text under a key of parts. */
export function macOf(text: string, dataKey: Buffer): string {
  const key = Buffer.from(hkdfSync('sha256', dataKey, '', 'hermod manifest', keyBytes))
  return createHmac('sha256', key).update(text).digest('hex')
}

export function isMacOf(mac: string, text: string, dataKey: Buffer): boolean {
  return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(text, dataKey)))
}
