/** What senders and receipts ask of push certificates, and the words about their end, on both databases. */
import type { CertificateOptions } from '@hermod/protocol'
import { anyBackend, type Backend, TempFolder } from '@hermod/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../dist/config/config.js'
import { createCaches } from '../../../dist/context/caches.js'
import { type Context, openContext } from '../../../dist/context/context.js'
import type { Tx } from '../../../dist/db/database.js'
import { CertificateExpiry } from '../../../dist/domain/push/certificates/certificate-expiry.js'
import { CertificateStore } from '../../../dist/domain/push/certificates/certificate-store.js'
import { createLog } from '../../../dist/observability/log.js'
import type { QuotaPauses } from '../../../dist/push/outcomes.js'

const dayMs = 86_400_000
const publicUrl = 'https://chat.example.org/im'
const draft = {
  name: 'main',
  channel: 'vendor_f' as const,
  environment: 1,
  gatewayAppId: '110001',
  appKey: 'key',
  appSecret: 'secret',
  certificate: '',
  receiptKey: '',
  options: { requests_receipts: true } as CertificateOptions,
}

describe.each(anyBackend())('certificates for senders on $name', (backend) => {
  let database: Awaited<ReturnType<Backend['createDatabase']>>
  let folder: TempFolder
  let context: Context
  let appId: string

  beforeEach(async () => {
    database = await backend.createDatabase()
    folder = new TempFolder('certificates')
    const loaded = loadConfig({
      HERMOD_DATA_DIR: folder.path,
      HERMOD_CHECK_ANSWERS: 'on',
      HERMOD_PUBLIC_URL: publicUrl,
      ...(database.url === undefined ? {} : { HERMOD_DATABASE_URL: database.url }),
    })
    context = await openContext({ ...loaded, log: createLog('silent') })
    appId = (await context.services.apps.apps.create('app', undefined)).app.appId
  })

  afterEach(async () => {
    await context.stop()
    await database[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const set = (changes: Partial<typeof draft> = {}) =>
    context.services.push.certificateAdmin.set(appId, { ...draft, ...changes })
  const known = () => context.services.push.pushCertificates.of(appId)
  const run = (work: (tx: Tx) => Promise<void>) => context.database.transaction(work)

  it('are known as soon as they are set, changed or removed, also that there are none', async () => {
    expect(await known()).toEqual([])
    await set()
    const [first] = await known()
    expect(first).toEqual({
      certificateId: expect.any(Number),
      name: 'main',
      gateway: {
        channel: 'vendor_f',
        environment: 'production',
        appId: '110001',
        appKey: 'key',
        appSecret: 'secret',
        certificate: '',
        receiptUrl: expect.stringMatching(
          /^https:\/\/chat\.example\.org\/im\/push\/receipts\/vendor_f\/[0-9a-z]+\.[\w-]{32}$/,
        ),
      },
      expiresAt: null,
      lastAcceptedAt: 0,
      pauses: {},
    })
    await set({ appSecret: 'another', environment: 0 })
    expect(await known()).toMatchObject([
      { gateway: { appSecret: 'another', environment: 'development' } },
    ])
    await set({ options: { category: 'IM', package_name: 'org.example' } })
    expect(await known()).toMatchObject([
      { gateway: { category: 'IM', packageName: 'org.example' } },
    ])
    await context.services.push.certificateAdmin.remove(appId, 'main')
    expect(await known()).toEqual([])
    expect(await context.services.push.pushCertificates.of('another')).toEqual([])
  })

  it.each([
    [{ options: {} }, false],
    [{ options: {}, receiptKey: 'of the console' }, true],
    [{ options: { requests_receipts: true } }, true],
    [{ options: { requests_receipts: false }, receiptKey: 'of the console' }, false],
  ])('of vendor_f with %j request receipts: %s', async (changes, isRequested) => {
    expect((await set(changes)).requestsReceipts).toBe(isRequested)
    const [certificate] = await known()
    expect(certificate?.gateway.receiptUrl !== undefined).toBe(isRequested)
  })

  it('remember the last accepted push to the minute, and the longest pause of each class', async () => {
    const { stored: certificate } = await set()
    const store = new CertificateStore(createCaches(context))
    const accepted = async (at: number) => {
      await run((tx) => store.recordAccepted(tx, certificate, at))
      return (await known())[0]?.lastAcceptedAt
    }
    const paused = async (pauses: QuotaPauses) => {
      await run((tx) => store.pause(tx, certificate, pauses))
      return (await known())[0]?.pauses
    }
    const at = Date.UTC(2026, 0, 1)
    expect(await accepted(at)).toBe(at)
    expect(await accepted(at + 59_999)).toBe(at)
    expect(await accepted(at + 60_000)).toBe(at + 60_000)
    expect(await accepted(at)).toBe(at + 60_000)
    expect(await paused({})).toEqual({})
    expect(await paused({ certificate: at })).toEqual({ certificate: at })
    expect(await paused({ certificate: at - 1, public: at })).toEqual({
      certificate: at,
      public: at,
    })
    expect(await paused({ certificate: at + 1 })).toEqual({ certificate: at + 1, public: at })
  })

  it('are found by the address of their receipts, and by nothing else', async () => {
    await set()
    await set({ name: 'other' })
    const [main, other] = await known()
    const { pushCertificates } = context.services.push
    const textOf = (url = '') => url.slice(url.lastIndexOf('/') + 1)
    const text = textOf(main?.gateway.receiptUrl)
    const [id = '', secret = ''] = text.split('.')
    const [otherId] = textOf(other?.gateway.receiptUrl).split('.')
    const find = (channel: string, path: string) =>
      pushCertificates.findByReceiptPath(channel, path)
    expect(await find('vendor_f', text)).toEqual({ appId, certificate: main })
    const wrong = [
      ['vendor_x', text],
      ['vendor_f', `${otherId}.${secret}`],
      ['vendor_f', `${id}.${secret.slice(1)}`],
      ['vendor_f', `${id}.`],
      ['vendor_f', id],
      ['vendor_f', ''],
      ['vendor_f', `0.${secret}`],
      ['vendor_f', `zzzzzzzzzzz.${secret}`],
      ['vendor_f', `${id}.${secret}/`],
      ['vendor_f', `${id.toUpperCase()} .${secret}`],
    ] as const
    for (const [channel, path] of wrong) expect(await find(channel, path), path).toBeNull()
    await set({ appSecret: 'another' })
    expect(await find('vendor_f', text)).toMatchObject({
      certificate: { gateway: { appSecret: 'another' } },
    })
    await context.services.push.certificateAdmin.remove(appId, 'main')
    expect(await find('vendor_f', text)).toBeNull()
  })

  it('are told of once a day from a month before their end', async () => {
    const endsAt = Date.UTC(2026, 5, 30, 12)
    const { stored } = await set()
    await set({ name: 'endless' })
    const store = new CertificateStore(createCaches(context))
    await run((tx) => store.update(tx, stored, { expires_at: endsAt }))
    let now = endsAt - 31 * dayMs
    const expiry = new CertificateExpiry({
      database: context.database,
      store,
      clock: { now: () => now },
    })
    const told: string[] = []
    const tell = () =>
      expiry.notify({
        expiresSoon: ({ name }, days) => told.push(`${name} in ${days}`),
        expired: ({ name }) => told.push(`${name} has ended`),
      })
    await tell()
    expect(told).toEqual([])
    now += dayMs
    await tell()
    now += dayMs / 4
    await tell()
    expect(told).toEqual(['main in 30'])
    now += dayMs
    await tell()
    expect(told).toEqual(['main in 30', 'main in 28'])
    now = endsAt
    await tell()
    await tell()
    expect(told.slice(2)).toEqual(['main has ended'])
    await run((tx) => store.update(tx, stored, { expires_at: endsAt + dayMs }))
    await tell()
    expect(told.slice(3)).toEqual(['main in 1'])
  })
})
