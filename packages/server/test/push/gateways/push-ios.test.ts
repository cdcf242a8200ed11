/** The connection to ios_gw: HTTP/2 with limits, losses and client certificates. */

import {
  type GatewayOptions,
  gatewayModels,
  SimulatedGateway,
  TestAuthority,
} from '@hermod/push-simulator'
import { waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { createProviders } from '../../../dist/push/providers/providers.js'
import type { ApnsTokenType, GatewayCertificate } from '../../../dist/push/certificate.js'
import type { PushOutcome } from '../../../dist/push/outcomes.js'
import { GoAwayServer } from '../../support/http2-frames.js'
import { aNotification, SilencingProxy, targetsOf } from '../../support/push/push.js'

const authority = new TestAuthority()
const limits = { maxConnections: 1 }
/** For what is never answered. */
const impatient = { ...limits, requestTimeoutMs: 1_500 }
/** Of those that are to come to an end, on whatever machine. */
const patience = { timeoutMs: 30_000 }

function startGateway(options: Partial<GatewayOptions> = {}): Promise<SimulatedGateway> {
  return SimulatedGateway.start(gatewayModels.ios_gw(), { authority, ...options })
}

/** A sender to one gateway. */
class Sender implements AsyncDisposable {
  readonly #providers

  constructor(
    private readonly certificate: GatewayCertificate,
    options: Parameters<typeof createProviders>[0] = {},
  ) {
    this.#providers = createProviders({ limits: { ios_gw: limits }, ...options })
  }

  send(tokens: readonly string[]): Promise<readonly PushOutcome[]> {
    const { certificate } = this
    return this.#providers.senders.ios_gw.send({
      certificate,
      notification: aNotification(),
      targets: targetsOf(tokens),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#providers[Symbol.asyncDispose]()
  }
}

function tokens(count: number, prefix = ''): string[] {
  return Array.from({ length: count }, (_, index) => prefix + String(index).padStart(8, '0'))
}

const allAccepted = (outcomes: readonly PushOutcome[]) =>
  outcomes.every(({ kind }) => kind === 'accepted')

describe('connections to ios_gw', () => {
  it('carry no more streams at once than the gateway allows', async () => {
    await using gateway = await startGateway({ maxStreams: 4 })
    await using sender = new Sender(gateway.certificate)
    expect(allAccepted(await sender.send(tokens(100)))).toBe(true)
    expect(gateway.mostStreams).toBeGreaterThan(1)
    expect(gateway.mostStreams).toBeLessThanOrEqual(4)
    expect(gateway.connections).toBe(1)
  })

  it('begin with one stream, and carry as many as the gateway then allows also of what waits already', async () => {
    await using gateway = await startGateway()
    await using sender = new Sender(gateway.certificate)
    const silent = tokens(5, '510a')
    const waiting = sender.send([...tokens(1), ...silent])
    // None of the silent ones is answered, so each of them needs a stream of its own.
    await waitFor(() => gateway.calls.length === 6, { what: 'all requests', ...patience })
    expect(gateway.mostStreams).toBe(5)
    gateway.cutConnections()
    expect((await waiting).map(({ kind }) => kind)).toEqual([
      'accepted',
      ...silent.map(() => 'network'),
    ])
  })

  it('are as many as are needed, and no more than are allowed', async () => {
    await using gateway = await startGateway({ maxStreams: 4 })
    const options = { limits: { ios_gw: { ...limits, maxConnections: 3 } } }
    await using sender = new Sender(gateway.certificate, options)
    expect(allAccepted(await sender.send(tokens(100)))).toBe(true)
    expect(gateway.connections).toBeLessThanOrEqual(3)
    expect(gateway.mostStreams).toBeLessThanOrEqual(12)
  })

  it('hand over what a GOAWAY leaves behind, and send nothing twice', async () => {
    await using gateway = await startGateway()
    await using sender = new Sender(gateway.certificate)
    const all = [...tokens(10), '60aa00000001', ...tokens(10, 'ee')]
    expect(allAccepted(await sender.send(all))).toBe(true)
    expect(gateway.deliveries.map(({ token }) => token).sort()).toEqual([...all].sort())
  })

  it('hand over the streams that a GOAWAY does not name', async () => {
    await using gateway = await startGateway()
    const port = Number(new URL(gateway.url).port)
    await using server = await GoAwayServer.start({ authority, port, streams: 5 })
    const { endpoint, ...credentials } = gateway.certificate
    const certificate = { ...credentials, endpoint: { ...endpoint, sendUrl: server.url } }
    await using sender = new Sender(certificate)
    const all = tokens(5)
    expect(allAccepted(await sender.send(all))).toBe(true)
    expect(server.leftBehind).toBe(5)
    expect(gateway.deliveries.map(({ token }) => token).sort()).toEqual(all)
  })

  it('are replaced after a GOAWAY between two messages', async () => {
    await using gateway = await startGateway()
    await using sender = new Sender(gateway.certificate)
    await sender.send(tokens(1))
    gateway.goAway()
    await waitFor(() => gateway.connections === 0, { what: 'the end', ...patience })
    expect(allAccepted(await sender.send(tokens(3)))).toBe(true)
  })

  it('that are cut fail what is under way, and only that', async () => {
    await using gateway = await startGateway()
    await using sender = new Sender(gateway.certificate)
    const waiting = sender.send(['510a00000001'])
    await waitFor(() => gateway.calls.length === 1, { what: 'the request', ...patience })
    gateway.cutConnections()
    expect(await waiting).toMatchObject([{ kind: 'network', mayBeDelivered: true }])
    expect(allAccepted(await sender.send(tokens(3)))).toBe(true)
  })

  it('that go silent are noticed by a PING, and replaced', async () => {
    await using gateway = await startGateway()
    await using proxy = await SilencingProxy.start(Number(new URL(gateway.url).port))
    const { endpoint, ...credentials } = gateway.certificate
    const certificate = { ...credentials, endpoint: { ...endpoint, sendUrl: proxy.url } }
    await using sender = new Sender(certificate, {
      limits: { ios_gw: impatient },
      care: { pingAfterMs: 60_000, pingTimeoutMs: 1_000 },
      circuit: { failuresToOpen: 1_000 },
    })
    expect(allAccepted(await sender.send(tokens(1)))).toBe(true)
    proxy.silence()
    expect(await sender.send(tokens(1))).toMatchObject([{ kind: 'network', code: 'timeout' }])
    const isBack = async () => allAccepted(await sender.send(tokens(1)))
    await waitFor(isBack, { what: 'another connection', ...patience })
  })

  it('are asked for a sign of life when they are idle', async () => {
    await using gateway = await startGateway()
    await using proxy = await SilencingProxy.start(Number(new URL(gateway.url).port))
    const { endpoint, ...credentials } = gateway.certificate
    const certificate = { ...credentials, endpoint: { ...endpoint, sendUrl: proxy.url } }
    await using sender = new Sender(certificate, {
      care: { pingAfterMs: 200, pingTimeoutMs: 1_500 },
    })
    await sender.send(tokens(1))
    proxy.silence()
    await waitFor(() => proxy.connections === 0, { what: 'the end', ...patience })
    expect(allAccepted(await sender.send(tokens(1)))).toBe(true)
  })

  it('end when a gateway says nothing at all', async () => {
    await using gateway = await startGateway()
    await using sender = new Sender(gateway.certificate, { limits: { ios_gw: impatient } })
    expect(await sender.send(['510a00000002'])).toMatchObject([
      { kind: 'network', code: 'timeout' },
    ])
  })
})

describe('credentials of ios_gw', () => {
  it('may be a client certificate in a .p12 file', async () => {
    await using gateway = await startGateway()
    const { appId } = gateway.certificate
    const certificate = {
      ...gateway.certificate,
      appKey: '',
      appSecret: 'a passphrase',
      certificate: authority.clientFile(appId, 'a passphrase'),
    }
    await using sender = new Sender(certificate)
    expect(allAccepted(await sender.send(tokens(2)))).toBe(true)
    expect(gateway.calls[0]?.headers.authorization).toBeUndefined()
  })

  it('of another app are refused', async () => {
    await using gateway = await startGateway()
    const certificate = {
      ...gateway.certificate,
      appSecret: 'a passphrase',
      certificate: authority.clientFile('com.example.other', 'a passphrase'),
    }
    await using sender = new Sender(certificate)
    expect(await sender.send(tokens(1))).toMatchObject([
      { kind: 'config', code: 'MissingProviderToken' },
    ])
  })

  it('that cannot be read are named, and nothing is sent', async () => {
    await using gateway = await startGateway()
    const { certificate } = gateway
    const faulty: Partial<GatewayCertificate>[] = [
      { certificate: authority.clientFile('a', 'right'), appSecret: 'wrong' },
      { certificate: 'no key at all' },
      { certificate: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----' },
      { appKey: '' },
      { appId: ' ' },
    ]
    const reasons = []
    for (const changes of faulty) {
      await using sender = new Sender({ ...certificate, ...changes })
      const [outcome] = await sender.send(tokens(1))
      expect(outcome).toMatchObject({ kind: 'config', code: 'bad_certificate' })
      if (outcome && 'reason' in outcome) reasons.push(outcome.reason)
    }
    expect(reasons).toEqual([
      expect.stringMatching(
        /^certificate cannot be opened as a \.p12 file.*app_secret its passphrase/,
      ),
      expect.stringContaining('certificate cannot be opened as a .p12 file'),
      'certificate has no EC private key that can be read',
      'app_key is missing: the ID of the key',
      'gateway_app_id is missing: the bundle ID of the app',
    ])
    expect(gateway.calls).toEqual([])
  })
})

describe('push types at ios_gw', () => {
  const app = 'com.example.app'

  it('need a client certificate for their topic, and live activities a signing key', async () => {
    await using gateway = await startGateway()
    const ofFile = async (uid: string, pushType: ApnsTokenType) => {
      const file = authority.clientFile(uid, 'a passphrase')
      const changes = { appKey: '', appSecret: 'a passphrase', certificate: file, pushType }
      await using sender = new Sender({ ...gateway.certificate, ...changes })
      const [outcome] = await sender.send([uid === app ? 'a0a0a0a0' : 'b0b0b0b0'])
      return outcome && 'code' in outcome ? outcome.code : outcome?.kind
    }
    expect(await ofFile(app, 'voip')).toBe('accepted')
    expect(await ofFile(`${app}.voip`, 'voip')).toBe('accepted')
    expect(await ofFile(`${app}.voip`, 'alert')).toBe('TopicDisallowed')
    expect(await ofFile(app, 'liveactivity')).toBe('TopicDisallowed')
  })

  it('have tokens of their own', async () => {
    await using gateway = await startGateway()
    await using alerts = new Sender(gateway.certificate)
    await using calls = new Sender({ ...gateway.certificate, pushType: 'voip' })
    expect(allAccepted(await alerts.send(tokens(1)))).toBe(true)
    expect(await calls.send(tokens(1))).toMatchObject([
      { kind: 'invalid_token', code: 'DeviceTokenNotForTopic', isSuspect: true },
    ])
  })
})
