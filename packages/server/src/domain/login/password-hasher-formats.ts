/**
 * The text of a password hash: its kind and the cost of verifying it. Pure; see password-hasher.ts
 * for the work.
 */

/** bcrypt in its modular crypt form, the others as PHC strings. */
export type PasswordHash =
  | { readonly kind: 'bcrypt'; readonly cost: number }
  | {
      readonly kind: 'scrypt'
      readonly n: number
      readonly r: number
      readonly p: number
      readonly salt: Buffer
      readonly hash: Buffer
    }
  | {
      readonly kind: 'argon2d' | 'argon2i' | 'argon2id'
      /** 16 or 19 */
      readonly version: number
      readonly memoryKiB: number
      readonly passes: number
      readonly lanes: number
    }

const bcryptForm = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const scryptForm =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,4}),p=(\d{1,4})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
const argon2Form =
  /^\$(argon2id|argon2i|argon2d)\$(?:v=(\d\d)\$)?m=(\d{1,10}),t=(\d{1,10}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

/** @returns null for a text of no known form */
export function parsePasswordHash(text: string): PasswordHash | null {
  const [, cost] = bcryptForm.exec(text) ?? []
  if (cost !== undefined) return { kind: 'bcrypt', cost: Number(cost) }
  return parseScrypt(text) ?? parseArgon2(text)
}

function parseScrypt(text: string): PasswordHash | null {
  const [, ln, r, p, salt, hash] = scryptForm.exec(text) ?? []
  const [saltBytes, hashBytes] = [base64Bytes(salt), base64Bytes(hash)]
  if (!saltBytes || !hashBytes) return null
  return {
    kind: 'scrypt',
    n: 2 ** Number(ln),
    r: Number(r),
    p: Number(p),
    salt: saltBytes,
    hash: hashBytes,
  }
}

function parseArgon2(text: string): PasswordHash | null {
  const [, kind, version = '16', memory, passes, lanes, salt, hash] = argon2Form.exec(text) ?? []
  const [saltBytes, hashBytes] = [base64Bytes(salt), base64Bytes(hash)]
  if (
    !saltBytes ||
    !hashBytes ||
    !isBetween(saltBytes.length, 8, 48) ||
    !isBetween(hashBytes.length, 10, 64)
  )
    return null
  return {
    kind: kind as 'argon2id',
    version: Number(version),
    memoryKiB: Number(memory),
    passes: Number(passes),
    lanes: Number(lanes),
  }
}

/** base64 without padding; null for a text that no encoder writes. */
function base64Bytes(text: string | undefined): Buffer | null {
  if (text === undefined) return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64').replace(/=+$/, '') === text ? bytes : null
}

const bcryptBytes = 4 * 1024
const maxBcryptCost = 15
const maxScryptBytes = 64 * 1024 * 1024
const maxScryptLaneBytes = 256 * 1024 * 1024
const maxArgon2KiB = 256 * 1024
/** Memory times passes: the processor cost of an argon2 verification. */
const maxArgon2WorkKiB = 1024 * 1024
const maxLanes = 16

/**
 * Tells whether a hash of another system can be imported: its form is known, and a login with it
 * takes at most a second or two.
 * @returns the reason against it, or null
 */
export function importViolation(text: string): string | null {
  const parsed = parsePasswordHash(text)
  if (!parsed)
    return 'password_hash must be bcrypt ($2a$, $2b$, $2y$), or scrypt or argon2 as a PHC string'
  const limit = excess(parsed)
  return limit === null ? null : `password_hash must have ${limit}`
}

function excess(hash: PasswordHash): string | null {
  switch (hash.kind) {
    case 'bcrypt':
      return isBetween(hash.cost, 4, maxBcryptCost)
        ? null
        : `a bcrypt cost from 4 to ${maxBcryptCost}`
    case 'scrypt':
      return scryptExcess(hash)
    default:
      return argon2Excess(hash)
  }
}

function scryptExcess({
  n,
  r,
  p,
  salt,
  hash,
}: Extract<PasswordHash, { kind: 'scrypt' }>): string | null {
  const bytes = scryptBytes({ n, r })
  if (n < 2 || r < 1 || bytes > maxScryptBytes) return 'scrypt parameters that need at most 64 MiB'
  if (p < 1 || p > maxLanes || bytes * p > maxScryptLaneBytes)
    return `a scrypt p from 1 to ${maxLanes} that needs at most 256 MiB in all`
  return isBetween(salt.length, 8, 64) && isBetween(hash.length, 16, 64)
    ? null
    : 'a scrypt salt of 8 to 64 and a hash of 16 to 64 bytes'
}

function argon2Excess({
  version,
  memoryKiB,
  passes,
  lanes,
}: Extract<PasswordHash, { version: number }>): string | null {
  if (version !== 16 && version !== 19) return 'argon2 version 16 or 19'
  if (!isBetween(lanes, 1, maxLanes)) return `an argon2 p from 1 to ${maxLanes}`
  if (!isBetween(memoryKiB, 8 * lanes, maxArgon2KiB))
    return 'an argon2 m of at least 8 for each lane and at most 256 MiB'
  return isBetween(passes, 1, maxArgon2WorkKiB / memoryKiB)
    ? null
    : 'an argon2 t of at least 1 that, times m, is at most 1 GiB'
}

/** The memory that a verification takes. */
export function memoryBytes(hash: PasswordHash): number {
  switch (hash.kind) {
    case 'bcrypt':
      return bcryptBytes
    case 'scrypt':
      return scryptBytes(hash) + 128 * hash.r * hash.p
    default:
      return hash.memoryKiB * 1024
  }
}

/** The memory of one lane of scrypt. */
export function scryptBytes({ n, r }: { readonly n: number; readonly r: number }): number {
  return 128 * n * r
}

function isBetween(value: number, min: number, max: number): boolean {
  return value >= min && value <= max
}
