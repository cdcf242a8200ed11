/**
 * The form of encrypted files of a backup (decision page 083): a head with a random salt, then chunks
 * of AES-256-GCM under a key of this file alone. The nonce of a chunk is its number and whether it is
 * the last one; the name of the file is authenticated with each chunk.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'

/** The key of a file, from which its own key is derived, and the name that it opens under. */
export interface SealedName {
  readonly key: Uint8Array
  readonly name: string
}

/** A file is not as it was sealed, or was sealed under another key or name. */
export class SealedFileError extends Error {
  override readonly name = 'SealedFileError'
}

const algorithm = 'aes-256-gcm'
const magic = Buffer.from('hermod-sealed-1\n')
const saltBytes = 32
const headBytes = magic.length + saltBytes
const tagBytes = 16
const nonceBytes = 12
const defaultChunkBytes = 64 * 1024

/** Returns the size of a sealed file. @param size that of its contents */
export function sealedSize(size: number, chunkBytes = defaultChunkBytes): number {
  return headBytes + size + tagBytes * Math.max(1, Math.ceil(size / chunkBytes))
}

/** Returns the size of the contents of a sealed file. */
export function openedSize(sealed: number): number {
  const body = sealed - headBytes
  return body - tagBytes * Math.max(1, Math.ceil(body / (defaultChunkBytes + tagBytes)))
}

/** Tells whether bytes are the beginning of a sealed file. */
export function isSealed(beginning: Buffer): boolean {
  return beginning.subarray(0, magic.length).equals(magic)
}

export function isSealedFile(path: string): boolean {
  const beginning = Buffer.alloc(magic.length)
  const file = openSync(path, 'r')
  try {
    readSync(file, beginning, 0, beginning.length, 0)
    return isSealed(beginning)
  } finally {
    closeSync(file)
  }
}

/** Seals a stream. It holds one chunk. */
export class Sealer {
  readonly #chunks: Chunks
  readonly #cipher: ChunkCipher
  #head: Buffer | null

  constructor(sealed: SealedName, chunkBytes = defaultChunkBytes) {
    const salt = randomBytes(saltBytes)
    this.#head = Buffer.concat([magic, salt])
    this.#cipher = new ChunkCipher(sealed, salt)
    this.#chunks = new Chunks(chunkBytes)
  }

  /** @returns what is to be written, which may be nothing */
  add(bytes: Buffer): Buffer {
    const sealed = this.#chunks.add(bytes, (chunk) => this.#cipher.seal(chunk, false))
    return Buffer.concat([this.#takeHead(), ...sealed])
  }

  end(): Buffer {
    return Buffer.concat([this.#takeHead(), this.#cipher.seal(this.#chunks.last, true)])
  }

  #takeHead(): Buffer {
    const head = this.#head ?? Buffer.alloc(0)
    this.#head = null
    return head
  }
}

/** Opens a sealed stream. It holds one chunk, and returns bytes only after their check. */
export class Opener {
  readonly #sealed: SealedName
  readonly #chunks: Chunks
  #head = Buffer.alloc(0)
  #cipher: ChunkCipher | null = null

  constructor(sealed: SealedName, chunkBytes = defaultChunkBytes) {
    this.#sealed = sealed
    this.#chunks = new Chunks(chunkBytes + tagBytes)
  }

  /** @throws SealedFileError */
  add(bytes: Buffer): Buffer {
    const cipher = this.#cipher
    if (cipher !== null)
      return Buffer.concat(this.#chunks.add(bytes, (chunk) => cipher.open(chunk, false)))
    this.#head = Buffer.concat([this.#head, bytes])
    if (this.#head.length < headBytes) return Buffer.alloc(0)
    const body = this.#head.subarray(headBytes)
    if (!isSealed(this.#head)) throw new SealedFileError('it is not encrypted')
    this.#cipher = new ChunkCipher(this.#sealed, this.#head.subarray(magic.length, headBytes))
    return this.add(body)
  }

  /** Returns the last bytes. @throws SealedFileError also for a file that was cut */
  end(): Buffer {
    if (this.#cipher === null) throw new SealedFileError('it was cut')
    return this.#cipher.open(this.#chunks.last, true)
  }
}

/** Seals bytes in memory. */
export function sealBytes(bytes: Buffer, sealed: SealedName): Buffer {
  const sealer = new Sealer(sealed)
  return Buffer.concat([sealer.add(bytes), sealer.end()])
}

/** Opens bytes in memory. @throws SealedFileError */
export function openBytes(bytes: Buffer, sealed: SealedName): Buffer {
  const opener = new Opener(sealed)
  return Buffer.concat([opener.add(bytes), opener.end()])
}

/** Divides a stream into chunks of one size, of which the last one may be shorter. */
class Chunks {
  readonly #chunk: Buffer
  #length = 0

  constructor(size: number) {
    this.#chunk = Buffer.allocUnsafeSlow(size)
  }

  /** @param take gets each full chunk that has a successor */
  add(bytes: Buffer, take: (chunk: Buffer) => Buffer): Buffer[] {
    const taken: Buffer[] = []
    for (let at = 0; at < bytes.length; ) {
      if (this.#length === this.#chunk.length) {
        taken.push(take(this.#chunk))
        this.#length = 0
      }
      const copied = bytes.copy(this.#chunk, this.#length, at)
      this.#length += copied
      at += copied
    }
    return taken
  }

  /** The last chunk; empty for an empty stream. */
  get last(): Buffer {
    return this.#chunk.subarray(0, this.#length)
  }
}

class ChunkCipher {
  readonly #key: Buffer
  readonly #name: Buffer
  #number = 0n

  constructor({ key, name }: SealedName, salt: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', key, salt, 'hermod sealed file', 32))
    this.#name = Buffer.from(name)
  }

  seal(chunk: Buffer, isLast: boolean): Buffer {
    const options = { authTagLength: tagBytes }
    const cipher = createCipheriv(algorithm, this.#key, this.#nonce(isLast), options)
    cipher.setAAD(this.#name)
    return Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()])
  }

  open(chunk: Buffer, isLast: boolean): Buffer {
    if (chunk.length < tagBytes) throw new SealedFileError('it was cut')
    const options = { authTagLength: tagBytes }
    const decipher = createDecipheriv(algorithm, this.#key, this.#nonce(isLast), options)
    decipher.setAAD(this.#name)
    decipher.setAuthTag(chunk.subarray(-tagBytes))
    try {
      return Buffer.concat([decipher.update(chunk.subarray(0, -tagBytes)), decipher.final()])
    } catch (cause) {
      throw new SealedFileError('it was changed', { cause })
    }
  }

  /** No two chunks of a file have the same. */
  #nonce(isLast: boolean): Buffer {
    const nonce = Buffer.alloc(nonceBytes)
    nonce.writeBigUInt64BE(this.#number++, 3)
    nonce.writeUInt8(isLast ? 1 : 0, nonceBytes - 1)
    return nonce
  }
}
