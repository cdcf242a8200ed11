/** What is only true of a store that speaks S3: signatures, forms, addresses, and a network that fails. */

import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { isFullRun } from '@hermod/testkit'
import { policySignature } from '@hermod/testkit/s3'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { S3Signer } from '../../dist/blobs/s3/s3-signer.js'
import type { S3Store } from '../../dist/blobs/s3/s3-store.js'
import { missesSwift, S3OfTest } from '../support/files/blob-stores.js'

const contentType = 'application/octet-stream'
const anySize = { contentType, maxBytes: 1024 * 1024 * 1024 }
const isUnavailable = { name: 'BlobError', reason: 'unavailable' }
const redirectTo = 'http://127.0.0.1:1/file/upload/done?ticket=t-1'

let number = 0
function aKey(): string {
  return `app/${number++ % 10}/${randomBytes(13).toString('hex')}`
}

function inAMinute(): number {
  return Date.now() + 60_000
}

function isLogged(value: unknown, secret: string): boolean {
  return inspect(value, { depth: 20, showHidden: true }).includes(secret)
}

describe.skipIf(missesSwift)('s3 store', () => {
  let s3: S3OfTest
  let store: S3Store
  beforeAll(async () => {
    s3 = await S3OfTest.start()
    store = s3.store
  })
  afterEach(() => s3?.proxy.recover())
  afterAll(() => s3?.[Symbol.asyncDispose]())

  async function stored(content: Buffer, key = aKey()): Promise<string> {
    await store.put(key, Readable.from([content]), anySize)
    return key
  }

  it('keeps everything below its prefix, with the type that it was given', async () => {
    const key = aKey()
    const options = { contentType: 'image/png', maxBytes: 10 }
    await store.put(key, Readable.from([Buffer.from('content')]), options)
    expect(await s3.swift.names(s3.bucket)).toContain(`hermod/${key}`)
    const other = await s3.open({ prefix: 'another/' })
    expect(await other.stat(key)).toBeNull()
    expect((await other.list('', null, 1000)).blobs).toEqual([])
  })

  it('has the store verify what it is sent', async () => {
    const key = aKey()
    s3.proxy.fail({ kind: 'wrong_request' })
    await expect(stored(randomBytes(1000), key)).rejects.toMatchObject(isUnavailable)
    s3.proxy.recover()
    expect(await store.stat(key)).toBeNull()
  })

  it('goes on when the store fails for a moment', async () => {
    const content = randomBytes(600_000)
    const key = aKey()
    s3.proxy.fail({ kind: 'down' }, 2)
    await stored(content, key)
    s3.proxy.fail({ kind: 'error', status: 503, code: 'SlowDown' }, 2)
    const expected = { size: content.length }
    expect((await store.read(key, expected)).equals(content)).toBe(true)
    s3.proxy.fail({ kind: 'error', status: 500, code: 'InternalError' }, 1)
    expect(await store.stat(key)).toMatchObject(expected)
  })

  it('gives up soon when the store is down, with bounded attempts', async () => {
    const key = await stored(randomBytes(10))
    s3.proxy.fail({ kind: 'down' })
    const before = s3.proxy.requests
    const startedAt = performance.now()
    await expect(store.stat(key)).rejects.toMatchObject(isUnavailable)
    expect(s3.proxy.requests - before).toBe(3)
    await Promise.all([
      expect(store.open(key)).rejects.toMatchObject(isUnavailable),
      expect(stored(randomBytes(10))).rejects.toMatchObject(isUnavailable),
      expect(store.remove([key])).rejects.toMatchObject(isUnavailable),
      expect(store.list('', null, 10)).rejects.toMatchObject(isUnavailable),
      expect(store.check()).rejects.toMatchObject({
        ...isUnavailable,
        message: expect.stringContaining(store.location),
      }),
    ])
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    expect(await s3.leftovers()).toEqual([])
  })

  it('gives up within seconds when nobody listens', async () => {
    const nobody = await s3.open({ endpoint: 'http://127.0.0.1:1' })
    await expect(nobody.stat(aKey())).rejects.toMatchObject(isUnavailable)
  })

  describe('slow store', () => {
    const patient = { connectMs: 30_000, answerMs: 30_000, putAnswerMs: 30_000, bodyMs: 30_000 }
    const bodyMs = 1_000

    if (isFullRun)
      it('gives up when there is no answer, and asks no second time', async () => {
        const key = await stored(randomBytes(10))
        const impatient = await s3.open({
          timeouts: { ...patient, answerMs: 200, putAnswerMs: 300 },
        })
        s3.proxy.fail({ kind: 'silent' })
        await expect(impatient.stat(key)).rejects.toMatchObject(isUnavailable)
        await expect(impatient.open(key)).rejects.toMatchObject(isUnavailable)
        const putting = impatient.put(aKey(), Readable.from([randomBytes(10)]), anySize)
        await expect(putting).rejects.toMatchObject(isUnavailable)
      })

    it('ends a download that stalls', async () => {
      const key = await stored(randomBytes(2_000_000))
      s3.proxy.fail({ kind: 'stalled' })
      const impatient = await s3.open({ timeouts: { ...patient, bodyMs } })
      const body = await impatient.open(key)
      await expect(buffer(body)).rejects.toMatchObject(isUnavailable)
    })

    it('waits for a reader that is slow itself', async () => {
      const content = randomBytes(4_000_000)
      const key = await stored(content)
      const impatient = await s3.open({ timeouts: { ...patient, bodyMs } })
      const body = await impatient.open(key)
      body.pause()
      await new Promise((resolve) => setTimeout(resolve, 1.5 * bodyMs))
      expect((await buffer(body)).equals(content)).toBe(true)
    })
  })

  it.each([
    ['without permission', { status: 403, code: 'AccessDenied' }, 'unavailable'],
    ['without its bucket', { status: 404, code: 'NoSuchBucket' }, 'unavailable'],
    ['over its quota', { status: 403, code: 'QuotaExceeded' }, 'full'],
    ['without room', { status: 507, code: 'XMinioStorageFull' }, 'full'],
    ['that answers nonsense', { status: 418, code: '' }, 'unavailable'],
  ])('says what is wrong with a store %s', async (_, answer, reason) => {
    s3.proxy.fail({ kind: 'error', ...answer })
    const before = s3.proxy.requests
    const failure = { name: 'BlobError', reason, message: expect.stringContaining(answer.code) }
    await expect(stored(randomBytes(10))).rejects.toMatchObject(failure)
    // The request, and one that removes what there might be.
    expect(s3.proxy.requests - before).toBe(2)
  })

  it('refuses with wrong credentials, and tells them to nobody', async () => {
    const secretAccessKey = 'a-secret-that-is-wrong'
    const stranger = await s3.open({ secretAccessKey })
    const failure = await stranger.check().catch((error: unknown) => error)
    expect(failure).toMatchObject(isUnavailable)
    expect(isLogged(failure, secretAccessKey)).toBe(false)
    expect(store.location).not.toContain(s3.swift.secretAccessKey)
  })

  it('notices wrong bytes of an answer, and never hands out its end', async () => {
    for (const size of [100, 3_000_000]) {
      const content = randomBytes(size)
      const key = aKey()
      const expected = await store.put(key, Readable.from([content]), anySize)
      s3.proxy.fail({ kind: 'wrong_answer' })
      const isDamaged = { name: 'BlobError', reason: 'damaged' }
      await expect(store.read(key, expected)).rejects.toMatchObject(isDamaged)
      let received = 0
      const body = await store.open(key, { expected })
      body.on('data', (chunk: Buffer) => {
        received += chunk.length
      })
      const ended = new Promise((resolve) => body.on('error', resolve))
      expect(await ended).toMatchObject(isDamaged)
      expect(received).toBeLessThan(size)
      s3.proxy.recover()
      expect((await store.read(key, expected)).equals(content)).toBe(true)
    }
  })

  it('notices an answer that is cut', async () => {
    const key = await stored(randomBytes(1_000_000))
    s3.proxy.fail({ kind: 'cut' })
    await expect(buffer(await store.open(key))).rejects.toMatchObject(isUnavailable)
  })

  it('leaves nothing of an upload whose answers were all lost', async () => {
    const key = aKey()
    s3.proxy.fail({ kind: 'lost_answer' }, 3)
    await expect(stored(randomBytes(1000), key)).rejects.toMatchObject(isUnavailable)
    expect(await store.stat(key)).toBeNull()
    expect(await s3.leftovers()).toEqual([])
  })

  describe('addresses of downloads', () => {
    const options = {
      contentType: 'image/png',
      contentDisposition: `attachment; filename="a b.png"; filename*=UTF-8''%E2%82%AC%20b.png`,
      expiresInSeconds: 60,
    }

    it('answer the bytes with the headers that were asked for', async () => {
      const key = await stored(Buffer.from('content'))
      const url = await store.downloadUrl(key, options)
      const answer = await fetch(String(url), { headers: { range: 'bytes=3-' } })
      expect(answer.status).toBe(206)
      expect(answer.headers.get('content-type')).toBe('image/png')
      expect(answer.headers.get('content-disposition')).toBe(options.contentDisposition)
      expect(await answer.text()).toBe('tent')
    })

    it('open one object only, without changes, and end', async () => {
      const [key, other] = [await stored(Buffer.from('one')), await stored(Buffer.from('other'))]
      const url = String(await store.downloadUrl(key, options))
      const changed = [
        url.replace(key, other),
        url.replace('image%2Fpng', 'text%2Fhtml'),
        url.replace('Expires=60', 'Expires=600'),
        url.replace(/Signature=(.)/, (_, first) => `Signature=${first === '0' ? '1' : '0'}`),
      ]
      for (const address of changed) {
        expect(address).not.toBe(url)
        expect((await fetch(address)).status).toBe(403)
      }
      const short = await store.downloadUrl(key, { ...options, expiresInSeconds: 1 })
      await expect
        .poll(async () => (await fetch(String(short))).status, { timeout: 10_000 })
        .toBe(403)
    })

    it('lead to the public endpoint, and there are none where downloads are streamed', async () => {
      const key = await stored(Buffer.from('content'))
      const publicEndpoint = 'https://files.example.org'
      const elsewhere = await s3.open({ publicEndpoint })
      expect(await elsewhere.downloadUrl(key, options)).toMatch(
        new RegExp(`^https://files\\.example\\.org/${s3.bucket}/hermod/${key}\\?`),
      )
      const hosted = await s3.open({ publicEndpoint, forcePathStyle: false })
      expect(await hosted.downloadUrl(key, options)).toMatch(
        new RegExp(`^https://${s3.bucket}\\.files\\.example\\.org/hermod/${key}\\?`),
      )
      const streaming = await s3.open({ redirectDownloads: false })
      expect(await streaming.downloadUrl(key, options)).toBeNull()
    })
  })

  describe('forms of uploads', () => {
    async function send(key: string, file: Blob, change: Record<string, string | null> = {}) {
      const form = await store.uploadForm(key, {
        maxBytes: 1000,
        contentType: 'image/png',
        expiresAt: inAMinute(),
        redirectTo,
      })
      const body = new FormData()
      for (const [name, value] of Object.entries({ ...form?.fields, ...change }))
        if (value !== null) body.append(name, value)
      body.append('file', file, 'name.png')
      return fetch(String(form?.url), { method: 'POST', body, redirect: 'manual' })
    }

    it('store the file and lead back to the service', async () => {
      const key = aKey()
      const content = randomBytes(1000)
      const answer = await send(key, new Blob([content]))
      expect(answer.status).toBe(303)
      const location = new URL(String(answer.headers.get('location')))
      expect(location.href.startsWith(`${redirectTo}&`)).toBe(true)
      expect(location.searchParams.get('key')).toBe(`hermod/${key}`)
      expect((await store.read(key, { size: 1000 })).equals(content)).toBe(true)
    })

    it('take nothing else', async () => {
      const key = aKey()
      const small = new Blob(['small'])
      const refused = await Promise.all([
        send(key, new Blob([randomBytes(1001)])),
        send(key, new Blob([])),
        send(key, small, { key: 'hermod/app/other' }),
        send(key, small, { 'Content-Type': 'text/html' }),
        send(key, small, { success_action_redirect: 'https://evil.example' }),
        send(key, small, { acl: 'public-read' }),
        send(key, small, { policy: Buffer.from('{"conditions":[]}').toString('base64') }),
        send(key, small, { 'x-amz-signature': '0'.repeat(64) }),
        send(key, small, { 'x-amz-signature': null }),
      ])
      expect(refused.map(({ status }) => status)).toEqual([400, 400, ...Array(7).fill(403)])
      expect(await store.stat(key)).toBeNull()
    })

    it('end', async () => {
      const options = { maxBytes: 10, contentType: null, expiresAt: Date.now() - 1, redirectTo }
      const form = await store.uploadForm(aKey(), options)
      const body = new FormData()
      for (const [name, value] of Object.entries(form?.fields ?? {})) body.append(name, value)
      body.append('file', new Blob(['late']))
      expect((await fetch(String(form?.url), { method: 'POST', body })).status).toBe(403)
    })

    it('are not made where uploads go through the service', async () => {
      const through = await s3.open({ directUploads: false })
      const options = { maxBytes: 10, contentType: null, expiresAt: inAMinute(), redirectTo }
      expect(await through.uploadForm(aKey(), options)).toBeNull()
    })
  })
})

describe('signature of a form', () => {
  /** https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-post-example.html */
  const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
  const policy = [
    '{ "expiration": "2015-12-30T12:00:00.000Z",\r\n  "conditions": [\r\n',
    '    {"bucket": "sigv4examplebucket"},\r\n',
    '    ["starts-with", "$key", "user/user1/"],\r\n',
    '    {"acl": "public-read"},\r\n',
    '    {"success_action_redirect": "http://sigv4examplebucket.s3.amazonaws.com/successful_upload.html"},\r\n',
    '    ["starts-with", "$Content-Type", "image/"],\r\n',
    '    {"x-amz-meta-uuid": "14365123651274"},\r\n',
    '    {"x-amz-server-side-encryption": "AES256"},\r\n',
    '    ["starts-with", "$x-amz-meta-tag", ""],\r\n\r\n',
    '    {"x-amz-credential": "AKIAIOSFODNN7EXAMPLE/20151229/us-east-1/s3/aws4_request"},\r\n',
    '    {"x-amz-algorithm": "AWS4-HMAC-SHA256"},\r\n',
    '    {"x-amz-date": "20151229T000000Z" }\r\n  ]\r\n}',
  ].join('')

  it('is that of the example of AWS', async () => {
    const signer = new S3Signer({
      endpoint: 'https://s3.amazonaws.com',
      publicEndpoint: 'https://s3.amazonaws.com',
      region: 'us-east-1',
      bucket: 'sigv4examplebucket',
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey,
      forcePathStyle: false,
      prefix: '',
      directUploads: true,
      redirectDownloads: true,
      spoolFolder: '/nowhere',
    })
    const text = Buffer.from(policy).toString('base64')
    const signature = await signer.signPolicy(text, new Date('2015-12-29T00:00:00Z'))
    expect(signature).toBe('8afdbf4008c03f22c2cd3cdb72e4afbb1f6a588f3255ac628749a66d7f09699e')
    const scope = '20151229/us-east-1/s3/aws4_request'
    expect(policySignature(text, scope, secretAccessKey)).toBe(signature)
    expect(createHash('sha256').update(text).digest('hex')).toHaveLength(64)
  })
})
