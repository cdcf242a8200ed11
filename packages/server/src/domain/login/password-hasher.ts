import { type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { createToken } from '../../lib/secrets/tokens.js'
import { lateLoader } from '../../lib/system/late-loader.js'
import type { LoginCaller, LoginQueue, LoginRequest } from './login-queue.js'
import { memoryBytes, type PasswordHash, parsePasswordHash } from './password-hasher-formats.js'

// OWASP Password Storage Cheat Sheet, argon2id: 19 MiB, 2 iterations, 1 lane.
const own = { kind: 'argon2id', version: 19, memoryKiB: 19_456, passes: 2, lanes: 1 } as const
/** Hashes that need more memory are verified one at a time. */
const largeBytes = 32 * 1024 * 1024
/** The memory that scrypt takes in addition to that of its parameters. */
const scryptSlackBytes = 1024 * 1024
/**
 * The thread pool has four threads. Files and look-ups keep one of them however many passwords are
 * hashed.
 */
export const parallelHashes = Math.min(availableParallelism(), 3)

const load = lateLoader(import.meta.url)

const scryptAsync = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/**
 * argon2id on the thread pool, and the hashes of other systems: all kinds of argon2, bcrypt and
 * scrypt (see password-hasher-formats.ts). The modules are loaded with the first password that
 * needs them.
 */
export class PasswordHasher {
  /** The hash of no password. */
  #hashOfNone: Promise<string> | undefined

  /**
   * @param queue has {@link parallelHashes} places
   * @param large has one place: verifications of large hashes take turns here before they queue, so
   * that one of them and small ones are all the memory that runs at once
   */
  constructor(
    private readonly queue: LoginQueue,
    private readonly large: LoginQueue,
  ) {}

  /**
   * @returns a PHC string
   * @throws AppError unavailable when too many passwords wait
   */
  async hash(password: string, request: LoginRequest): Promise<string> {
    return this.queue.run(request, async () => {
      const { hash } = this.#loadArgon2()
      return hash(password, {
        memoryCost: own.memoryKiB,
        timeCost: own.passes,
        parallelism: own.lanes,
      })
    })
  }

  /**
   * Hashes the passwords of new users of an app, in order. A few wait at a time, without a bound on
   * their wait.
   */
  async hashMany(appId: string, passwords: readonly string[]): Promise<string[]> {
    const hashes = new Array<string>(passwords.length)
    const rest = passwords.entries()
    const request = { purpose: 'registration', appId, address: null, isUnbounded: true } as const
    const work = async () => {
      for (const [index, password] of rest) hashes[index] = await this.hash(password, request)
    }
    await Promise.all(Array.from({ length: parallelHashes }, work))
    return hashes
  }

  /**
   * False for every password where there is no hash, after the same work.
   * @param stored '' for an unknown user, and for one without a password
   * @throws AppError unavailable when too many passwords wait
   */
  async verify(
    stored: string,
    password: string,
    { appId, address }: LoginCaller,
  ): Promise<boolean> {
    const passwordHash = stored === '' ? await this.#findHashOfNone(appId) : stored
    const parsed = parsePasswordHash(passwordHash)
    if (!parsed) return false
    const request = { purpose: 'login', appId, address } as const
    const verify = () => this.queue.run(request, () => this.#verify(parsed, passwordHash, password))
    return memoryBytes(parsed) > largeBytes ? this.large.run(request, verify) : verify()
  }

  #findHashOfNone(appId: string): Promise<string> {
    const request = { purpose: 'login', appId, address: null, isUnbounded: true } as const
    this.#hashOfNone ??= this.hash(createToken('hmu_'), request).catch((error: unknown) => {
      this.#hashOfNone = undefined
      throw error
    })
    return this.#hashOfNone
  }

  async #verify(parsed: PasswordHash, passwordHash: string, password: string): Promise<boolean> {
    switch (parsed.kind) {
      case 'bcrypt':
        return this.#loadBcrypt().verify(password, passwordHash)
      case 'scrypt':
        return verifyScrypt(parsed, password)
      default:
        return this.#loadArgon2().verify(passwordHash, password)
    }
  }

  /** True for a hash with another function or other parameters than those of {@link hash}. */
  needsRehash(passwordHash: string): boolean {
    const parsed = parsePasswordHash(passwordHash)
    if (parsed?.kind !== own.kind) return true
    const { version, memoryKiB, passes, lanes } = parsed
    return (
      version !== own.version ||
      memoryKiB !== own.memoryKiB ||
      passes !== own.passes ||
      lanes !== own.lanes
    )
  }

  #loadArgon2(): typeof import('@node-rs/argon2') {
    return load('@node-rs/argon2') as typeof import('@node-rs/argon2')
  }

  #loadBcrypt(): typeof import('@node-rs/bcrypt') {
    return load('@node-rs/bcrypt') as typeof import('@node-rs/bcrypt')
  }
}

async function verifyScrypt(
  parsed: Extract<PasswordHash, { kind: 'scrypt' }>,
  password: string,
): Promise<boolean> {
  const { n, r, p, salt, hash } = parsed
  const maxmem = memoryBytes(parsed) + scryptSlackBytes
  return timingSafeEqual(
    await scryptAsync(password, salt, hash.length, { N: n, r, p, maxmem }),
    hash,
  )
}
