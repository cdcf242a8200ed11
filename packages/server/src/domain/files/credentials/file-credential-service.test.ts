import { beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../../../db/database.js'
import { SecretKeys } from '../../../lib/secrets/secret-keys.js'
import type { User } from '../../users/user-model.js'
import { FileCredentialService } from './file-credential-service.js'
import { claimedHolder, fileCredentials, fileSignature } from './file-credentials.js'

const secretKey = Buffer.alloc(32, 7)
let secretKeys: SecretKeys
const now = 1_800_000_000_000
const request = { method: 'GET', target: '/file/download/chat?file_sign=abc' }

type Holder = Pick<User, 'appId' | 'userId' | 'credentialEpoch' | 'status' | 'isDeleted'>

let alice: Holder
/** By device. */
let epochs: Map<number, number>
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
  epochs = new Map([
    [1, 0],
    [2, 0],
  ])
  service = new FileCredentialService({
    database,
    users: { find },
    devices: { findCredentialEpoch: async (_, { deviceSn }) => epochs.get(deviceSn) ?? null },
    clock: { now: () => now },
    secretKeys,
  })
})

describe('file credentials', () => {
  it('are the same for every login of a user and tell whose they are', () => {
    const { storeToken } = service.of(alice, null)
    expect(service.of({ ...alice }, null)).toEqual(service.of(alice, null))
    expect(storeToken).toMatch(/^hms_[0-9a-z]+\.[\w-]{43}$/)
    expect(claimedHolder(storeToken)).toEqual({ userId: alice.userId, deviceSn: null })
  })

  it('are for logins without a device the same on every node and after every start', () => {
    expect(service.of(alice, null)).toEqual({
      storeToken: 'hms_f4pn09idz4.QrvgTg87BBz1By-UaEGbvW1s2nTQchmnKWCRtjRARoU',
      accessKeySecret: 'M04r6SqCjWcDer_Yj33JklNQI9Wm3gfjMffFxT-erd8',
    })
  })

  it('differ between devices, and end with the epoch of their device alone', async () => {
    const [phone, tablet] = [1, 2].map((deviceSn) =>
      service.of(alice, { deviceSn, credentialEpoch: 0 }),
    )
    if (!phone || !tablet) throw new Error('two devices')
    expect(phone.storeToken).toMatch(/^hms_[0-9a-z]+\.1\.[\w-]{43}$/)
    const owners = async () => [
      await service.userOf('home', phone.storeToken),
      await service.userOf('home', tablet.storeToken),
      await service.userOf('home', service.of(alice, null).storeToken),
    ]
    expect(await owners()).toEqual([alice.userId, alice.userId, alice.userId])
    epochs.set(1, 1)
    expect(await owners()).toEqual([null, alice.userId, alice.userId])
    epochs.delete(2)
    expect(await owners()).toEqual([null, null, alice.userId])
  })

  it('differ between purposes, users, applications, epochs and keys', () => {
    const all = [
      service.of(alice, null),
      service.of({ ...alice, userId: 1002 }, null),
      service.of({ ...alice, appId: 'elsewhere' }, null),
      service.of({ ...alice, credentialEpoch: 4 }, null),
      fileCredentials(Buffer.alloc(32, 8), alice, null),
    ].flatMap(({ storeToken, accessKeySecret }) => [storeToken.split('.')[1], accessKeySecret])
    expect(new Set(all).size).toBe(10)
  })
})

describe('a store token', () => {
  it('opens the files of its user', async () => {
    expect(await service.userOf('home', service.of(alice, null).storeToken)).toBe(alice.userId)
  })

  it.each<[string, (token: string) => string]>([
    ['nothing', () => ''],
    ['no token', () => 'x'],
    ['another prefix', (token) => token.replace('hms_', 'hmu_')],
    ['another user', (token) => token.replace(/^hms_./, 'hms_9')],
    ['a user beyond the exact integers', (token) => token.replace(/^hms_[^.]*/, 'hms_zzzzzzzzzzz')],
    ['a device that does not exist', (token) => token.replace('.', '.zzzzzz.')],
    ['a device of the user', (token) => token.replace('.', '.1.')],
    ['another MAC', (token) => token.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'))],
    ['a part of the MAC', (token) => token.slice(0, -1)],
    ['more than the MAC', (token) => `${token}A`],
  ])('with %s opens nothing', async (_, change) => {
    expect(await service.userOf('home', change(service.of(alice, null).storeToken))).toBeNull()
  })

  it('ends with the epoch, and opens nothing for a user who is disabled or deleted, or in another application', async () => {
    const { storeToken } = service.of(alice, null)
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
    fileSignature(service.of(alice, null).accessKeySecret, { ...request, ...changes, expiresAt })
  const signerOf = (signature: string, storeToken = service.of(alice, null).storeToken) =>
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
    const { storeToken } = service.of(alice, null)
    const signature = signed(now + 60_000)
    alice = { ...alice, credentialEpoch: 4 }
    expect(await signerOf(signature, storeToken)).toBeNull()
    expect(await signerOf(signature)).toBeNull()
  })
})

describe('a rotation of the secret key', () => {
  it('gives new credentials and accepts the ones before until the previous key is retired', async () => {
    const before = service.of(alice, null)
    const signature = fileSignature(before.accessKeySecret, {
      ...request,
      expiresAt: now + 60_000,
    })
    const accepted = async () => [
      await service.userOf('home', before.storeToken),
      await service.signerOf('home', { storeToken: before.storeToken, signature }, request),
      await service.userOf('home', service.of(alice, null).storeToken),
    ]
    const next = Buffer.alloc(32, 9)
    secretKeys.replace(next, secretKey)
    expect(service.of(alice, null)).not.toEqual(before)
    expect(await accepted()).toEqual([alice.userId, alice.userId, alice.userId])
    secretKeys.replace(next, null)
    expect(await accepted()).toEqual([null, null, alice.userId])
  })

  it('takes no signature of one key with the store token of another', async () => {
    const before = service.of(alice, null)
    secretKeys.replace(Buffer.alloc(32, 9), secretKey)
    const { storeToken } = service.of(alice, null)
    const signature = fileSignature(before.accessKeySecret, {
      ...request,
      expiresAt: now + 60_000,
    })
    expect(await service.signerOf('home', { storeToken, signature }, request)).toBeNull()
  })
})
