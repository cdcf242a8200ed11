import { randomBytes, scryptSync } from 'node:crypto'
import argon2 from '@node-rs/argon2'
import bcrypt from '@node-rs/bcrypt'
import { describe, expect, it, vi } from 'vitest'
import { LoginQueue } from './login-queue.js'
import { PasswordHasher } from './password-hasher.js'
import { importViolation, parsePasswordHash } from './password-hasher-formats.js'

const password = 'größer als 8 字'
const queue = new LoginQueue({ parallel: 3, maxWaiting: 10, maxWaitingOfApp: 10 })
const large = new LoginQueue({ parallel: 1, maxWaiting: 10, maxWaitingOfApp: 10 })
const hasher = new PasswordHasher(queue, large)
const caller = { appId: 'app', address: null } as const

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

function scryptHash({ ln = 10, r = 8, p = 1, salt = randomBytes(16), length = 32 } = {}): string {
  const hash = scryptSync(password, salt, length, { N: 2 ** ln, r, p, maxmem: 2 ** 28 })
  return `$scrypt$ln=${ln},r=${r},p=${p}$${unpadded(salt)}$${unpadded(hash)}`
}

function argon2Hash(algorithm: number, options: argon2.Options = {}): string {
  return argon2.hashSync(password, { algorithm, memoryCost: 1024, timeCost: 1, ...options })
}

/** A hash of each form that other systems make. */
const foreign: Readonly<Record<string, string>> = {
  'bcrypt 2a': bcrypt.hashSync(password, 4).replace('$2b$', '$2a$'),
  'bcrypt 2b': bcrypt.hashSync(password, 5),
  'bcrypt 2y': bcrypt.hashSync(password, 4).replace('$2b$', '$2y$'),
  scrypt: scryptHash(),
  'scrypt with lanes and a long hash': scryptHash({ r: 4, p: 3, length: 64 }),
  argon2d: argon2Hash(0),
  argon2i: argon2Hash(1),
  'argon2id of other parameters': argon2Hash(2),
  'argon2 version 16': argon2Hash(1, { version: 0 }),
  'argon2 version 16, not said': argon2Hash(1, { version: 0 }).replace('v=16$', ''),
}

describe('PasswordHasher', () => {
  it('makes argon2id hashes that only the password opens and that need no other hash', async () => {
    const hash = await hasher.hash(password, { ...caller, purpose: 'registration' })
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await hasher.verify(hash, password, caller)).toBe(true)
    expect(await hasher.verify(hash, `${password}x`, caller)).toBe(false)
    expect(hasher.needsRehash(hash)).toBe(false)
  })

  it.each(Object.entries(foreign))(
    'verifies %s, takes it in and wants it replaced',
    async (_, hash) => {
      expect(importViolation(hash)).toBeNull()
      expect(await hasher.verify(hash, password, caller)).toBe(true)
      expect(await hasher.verify(hash, `${password}x`, caller)).toBe(false)
      expect(hasher.needsRehash(hash)).toBe(true)
    },
  )

  it('opens nothing without a hash, after the work of a wrong password', async () => {
    const run = vi.spyOn(queue, 'run')
    const worksOf = async (hash: string) => {
      expect(await hasher.verify(hash, password, caller)).toBe(false)
      const works = run.mock.calls.length
      run.mockClear()
      return works
    }
    const own = await hasher.hash('another', { ...caller, purpose: 'registration' })
    await worksOf('')
    run.mockClear()
    expect([await worksOf(''), await worksOf('')]).toEqual([1, 1])
    expect(await worksOf(own)).toBe(1)
    run.mockRestore()
  })

  it('verifies hashes that need much memory one at a time, and others beside them', async () => {
    const hash = argon2Hash(2, { memoryCost: 33 * 1024 })
    const checks = Array.from({ length: 4 }, () => hasher.verify(hash, password, caller))
    expect(large.figures('admin').waiting).toBe(3)
    expect(queue.figures('admin').waiting).toBe(0)
    const own = await hasher.hash(password, { ...caller, purpose: 'registration' })
    expect(await hasher.verify(own, password, caller)).toBe(true)
    expect(await Promise.all(checks)).toEqual([true, true, true, true])
    const many = Array.from({ length: 7 }, () => hasher.verify(hash, password, caller))
    const outcomes = await Promise.allSettled(many)
    // One runs, and five of an app may wait.
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1)
  })

  it('hashes many passwords in their order, no more than three at a time', async () => {
    const passwords = Array.from({ length: 7 }, (_, index) => `password ${index}`)
    const hasher = new PasswordHasher(queue, large)
    let [running, most] = [0, 0]
    hasher.hash = async (password) => {
      most = Math.max(most, ++running)
      // The first ones take longest.
      for (let turn = Number(password.at(-1)); turn < 7; turn++) await Promise.resolve()
      running--
      return `hash of ${password}`
    }
    expect(await hasher.hashMany('app', passwords)).toEqual(
      passwords.map((password) => `hash of ${password}`),
    )
    expect(most).toBeLessThanOrEqual(3)
    expect(await hasher.hashMany('app', [])).toEqual([])
  })

  it('verifies the scrypt vector of RFC 7914', async () => {
    const salt = Buffer.from('SodiumChloride')
    const hash = Buffer.from(
      '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887',
      'hex',
    )
    const text = `$scrypt$ln=14,r=8,p=1$${unpadded(salt)}$${unpadded(hash)}`
    expect(await hasher.verify(text, 'pleaseletmein', caller)).toBe(true)
    expect(await hasher.verify(text, 'pleaseletmeout', caller)).toBe(false)
  })

  it.each(['', 'plain text', '$1$salt$hash', '$2x$04$', '$argon2id$'])(
    'opens nothing for the stored text %j',
    async (stored) => {
      expect(await hasher.verify(stored, password, caller)).toBe(false)
      expect(await hasher.verify(stored, '', caller)).toBe(false)
    },
  )
})

describe('importViolation', () => {
  const bcryptRest = (foreign['bcrypt 2b'] as string).slice(7)
  const pair = `${unpadded(randomBytes(16))}$${unpadded(randomBytes(32))}`

  it.each([
    [''],
    ['secret'],
    ['5f4dcc3b5aa765d61d8327deb882cf99'],
    ['$6$rounds=5000$salt$hash'],
    [`$2x$05$${bcryptRest}`],
    [`$2b$05$${bcryptRest}x`],
    [`$scrypt$ln=10,r=8,p=1$${pair}==`],
    [
      `$scrypt$ln=10,r=8,p=1$${unpadded(randomBytes(16)).slice(0, -1)}B$${unpadded(randomBytes(32))}`,
    ],
    [`$argon2id$v=19$m=1024,t=1,p=1,keyid=AAAA$${pair}`],
    [`$argon2id$v=19$m=1024,t=1,p=1$AAAA$${unpadded(randomBytes(32))}`],
    [`$argon2x$v=19$m=1024,t=1,p=1$${pair}`],
  ])('refuses the unknown form %j', (text) => {
    expect(importViolation(text)).toMatch(/^password_hash must be bcrypt/)
  })

  it.each([
    [`$2b$16$${bcryptRest}`, 'bcrypt cost'],
    [`$2b$03$${bcryptRest}`, 'bcrypt cost'],
    [`$scrypt$ln=17,r=8,p=1$${pair}`, '64 MiB'],
    [`$scrypt$ln=0,r=8,p=1$${pair}`, '64 MiB'],
    [`$scrypt$ln=14,r=8,p=17$${pair}`, 'scrypt p'],
    [`$scrypt$ln=16,r=8,p=5$${pair}`, 'scrypt p'],
    [`$scrypt$ln=10,r=8,p=1$${unpadded(randomBytes(16))}$AAAA`, 'a hash of 16 to 64 bytes'],
    [`$argon2id$v=19$m=262145,t=1,p=1$${pair}`, 'argon2 m'],
    [`$argon2id$v=19$m=8,t=1,p=2$${pair}`, 'argon2 m'],
    [`$argon2id$v=19$m=65536,t=17,p=1$${pair}`, 'argon2 t'],
    [`$argon2id$v=19$m=65536,t=0,p=1$${pair}`, 'argon2 t'],
    [`$argon2id$v=19$m=65536,t=3,p=17$${pair}`, 'argon2 p'],
    [`$argon2id$v=20$m=65536,t=3,p=1$${pair}`, 'argon2 version'],
  ])('refuses the cost of %j', (text, what) => {
    expect(importViolation(text)).toContain('password_hash must have')
    expect(importViolation(text)).toContain(what)
  })

  it('takes what is just within the bounds', () => {
    const within = [
      `$2b$15$${bcryptRest}`,
      `$scrypt$ln=16,r=8,p=4$${pair}`,
      `$argon2id$v=19$m=262144,t=4,p=1$${pair}`,
      `$argon2i$v=19$m=65536,t=16,p=16$${pair}`,
    ]
    expect(within.map(importViolation)).toEqual(within.map(() => null))
  })

  it('reads the parameters that a login pays for', () => {
    expect(parsePasswordHash(`$argon2i$m=512,t=3,p=2$${pair}`)).toEqual({
      kind: 'argon2i',
      version: 16,
      memoryKiB: 512,
      passes: 3,
      lanes: 2,
    })
    expect(parsePasswordHash(`$2y$12$${bcryptRest}`)).toEqual({ kind: 'bcrypt', cost: 12 })
  })
})
