import { beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../../../db/database.js'
import { SecretKeys } from '../../../lib/secrets/secret-keys.js'
import type { User } from '../../users/user-model.js'
import { FileCredentialService } from './file-credential-service.js'
import { claimedUserId, fileCredentials, fileSignature } from './file-credentials.js'

const secretKey = Buffer.alloc(32, 7)
let secretKeys: SecretKeys
const now = 1_800_000_000_000
const request = { method: 'GET', target: '/file/download/chat?file_sign=abc' }

type Holder = Pick<User, 'appId' | 'userId' | 'credentialEpoch' | 'status' | 'isDeleted'>

let alice: Holder
let service: FileCredentialService

beforeEach(() => {
  secretKeys = new SecretKeys(secretKey)
  alice = {
    appId: 'home',
    userId: 1536692975726656,
    credentialEpoch: 3,
    status: 0,
    isDeleted: false,
  }
  const find = async (_: unknown, appId: string, userId: unknown) =>
    appId === alice.appId && userId === alice.userId ? (alice as User) : null
  const database = { read: (work: (db: unknown) => unknown) => work(null) } as unknown as Database
  service = new FileCredentialService({
    database,
    users: { find },
    clock: { now: () => now },
    secretKeys,
  })
})

describe('file credentials', () => {
  it('are the same for every login of a user and tell whose they are', () => {
    const { storeToken } = service.of(alice)
    expect(service.of({ ...alice })).toEqual(service.of(alice))
    expect(storeToken).toMatch(/^hms_[0-9a-z]+\.[\w-]{43}$/)
    expect(claimedUserId(storeToken)).toBe(alice.userId)
  })

  it('differ between purposes, users, applications, epochs and keys', () => {
    const all = [
      service.of(alice),
      service.of({ ...alice, userId: 1002 }),
      service.of({ ...alice, appId: 'elsewhere' }),
      service.of({ ...alice, credentialEpoch: 4 }),
      fileCredentials(Buffer.alloc(32, 8), alice),
    ].flatMap(({ storeToken, accessKeySecret }) => [storeToken.split('.')[1], accessKeySecret])
    expect(new Set(all).size).toBe(10)
  })
})

describe('a store token', () => {
  it('opens the files of its user', async () => {
    expect(await service.userOf('home', service.of(alice).storeToken)).toBe(alice.userId)
  })

  it.each<[string, (token: string) => string]>([
    ['nothing', () => ''],
    ['no token', () => 'x'],
    ['another prefix', (token) => token.replace('hms_', 'hmu_')],
    ['another user', (token) => token.replace(/^hms_./, 'hms_9')],
    ['a user beyond the exact integers', (token) => token.replace(/^hms_[^.]*/, 'hms_zzzzzzzzzzz')],
    ['another MAC', (token) => token.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'))],
    ['a part of the MAC', (token) => token.slice(0, -1)],
    ['more than the MAC', (token) => `${token}A`],
  ])('with %s opens nothing', async (_, change) => {
    expect(await service.userOf('home', change(service.of(alice).storeToken))).toBeNull()
  })

  it('ends with the epoch, and opens nothing for a user who is disabled or deleted, or in another application', async () => {
    const { storeToken } = service.of(alice)
    expect(await service.userOf('elsewhere', storeToken)).toBeNull()
    for (const change of [{ credentialEpoch: 4 }, { status: 1 }, { isDeleted: true }]) {
      const before = alice
      alice = { ...alice, ...change }
      expect(await service.userOf('home', storeToken)).toBeNull()
      alice = before
    }
    expect(await service.userOf('home', storeToken)).toBe(alice.userId)
  })
})

describe('a signature', () => {
  const signed = (expiresAt: number, changes: Partial<typeof request> = {}) =>
    fileSignature(service.of(alice).accessKeySecret, { ...request, ...changes, expiresAt })
  const signerOf = (signature: string, storeToken = service.of(alice).storeToken) =>
    service.signerOf('home', { storeToken, signature }, request)

  it('with the key of the user tells who signed', async () => {
    expect(await signerOf(signed(now + 60_000))).toBe(alice.userId)
    expect(await signerOf(signed(now + 24 * 3_600_000))).toBe(alice.userId)
  })

  it('has an end, which is near', async () => {
    for (const expiresAt of [0, now - 1, now, now + 24 * 3_600_000 + 1])
      expect(await signerOf(signed(expiresAt))).toBeNull()
  })

  it('is for one request, one end and one key', async () => {
    const expiresAt = now + 60_000
    const good = signed(expiresAt)
    const bad = [
      signed(expiresAt, { method: 'PUT' }),
      signed(expiresAt, { target: '/file/download/chat?file_sign=other' }),
      good.replace(String(expiresAt), String(expiresAt + 1)),
      fileSignature('another key', { ...request, expiresAt }),
      good.slice(0, -1),
      good.split('.')[1] ?? '',
      `-${good}`,
      '',
    ]
    for (const signature of bad) expect(await signerOf(signature), signature).toBeNull()
    expect(await signerOf(good)).toBe(alice.userId)
  })

  it('ends with the store token', async () => {
    const { storeToken } = service.of(alice)
    const signature = signed(now + 60_000)
    alice = { ...alice, credentialEpoch: 4 }
    expect(await signerOf(signature, storeToken)).toBeNull()
    expect(await signerOf(signature)).toBeNull()
  })
})

describe('a rotation of the secret key', () => {
  it('gives new credentials and accepts the ones before until the previous key is retired', async () => {
    const before = service.of(alice)
    const signature = fileSignature(before.accessKeySecret, {
      ...request,
      expiresAt: now + 60_000,
    })
    const accepted = async () => [
      await service.userOf('home', before.storeToken),
      await service.signerOf('home', { storeToken: before.storeToken, signature }, request),
      await service.userOf('home', service.of(alice).storeToken),
    ]
    const next = Buffer.alloc(32, 9)
    secretKeys.replace(next, secretKey)
    expect(service.of(alice)).not.toEqual(before)
    expect(await accepted()).toEqual([alice.userId, alice.userId, alice.userId])
    secretKeys.replace(next, null)
    expect(await accepted()).toEqual([null, null, alice.userId])
  })

  it('takes no signature of one key with the store token of another', async () => {
    const before = service.of(alice)
    secretKeys.replace(Buffer.alloc(32, 9), secretKey)
    const { storeToken } = service.of(alice)
    const signature = fileSignature(before.accessKeySecret, {
      ...request,
      expiresAt: now + 60_000,
    })
    expect(await service.signerOf('home', { storeToken, signature }, request)).toBeNull()
  })
})
