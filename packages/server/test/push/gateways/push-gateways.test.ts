/** Providers and simulated gateways over real sockets, with TLS and HTTP/2. */
import {
  gatewayModels,
  PushSimulator,
  type ScriptName,
  type SimulatedChannel,
  SimulatedGateway,
  scripts,
  simulatedChannels,
} from '@hermod/push-simulator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProviders, type ProvidersOptions } from '../../../dist/push/providers/providers.js'
import type { GatewayCertificate, VendorChannel } from '../../../dist/push/certificate.js'
import type { PushNotification } from '../../../dist/push/notification.js'
import type { PushOutcome, PushOutcomeKind, QuotaPauses } from '../../../dist/push/outcomes.js'
import { aNotification, targetsOf } from '../../support/push/push.js'

let simulator: PushSimulator
let tokens = 0

beforeAll(async () => {
  simulator = await PushSimulator.start()
})
afterAll(() => simulator[Symbol.asyncDispose]())

/** A token that no test has used; the gateway does to it what the script says. */
function tokenFor(channel: SimulatedChannel, script: ScriptName = 'accept'): string {
  const { prefix, iosPrefix } = scripts[script]
  const number = String(++tokens).padStart(8, '0')
  return channel === 'ios_gw' ? `${iosPrefix}${number}` : `${prefix}${number}`
}

interface Sending {
  readonly notification?: PushNotification
  readonly certificate?: Partial<GatewayCertificate>
  readonly pauses?: QuotaPauses
}

type Providers = ReturnType<typeof createProviders>

/** Sends never wait for a rate. */
const quick = { perSecond: 1e6, burst: 1e6 }
/** Enough for a connection on a slow machine, and little to wait for a silent gateway. */
const impatient = { requestTimeoutMs: 1_500 }

function newProviders(options: ProvidersOptions = {}): Providers {
  const limits = Object.fromEntries(
    simulatedChannels.map((channel) => [channel, { ...quick, ...options.limits?.[channel] }]),
  )
  return createProviders({ ...options, limits })
}

function send(
  providers: Providers,
  channel: VendorChannel,
  to: readonly string[],
  { notification = aNotification(), certificate, pauses = {} }: Sending = {},
): Promise<readonly PushOutcome[]> {
  return providers.senders[channel].send({
    certificate: { ...simulator.gateways[channel].certificate, ...certificate },
    notification,
    targets: targetsOf(to),
    pauses,
  })
}

/** What the first try comes to; channels that are not named have no such script. */
const expected: Readonly<
  Record<ScriptName, { readonly [C in SimulatedChannel]?: PushOutcomeKind | undefined }>
> = {
  accept: everywhere('accepted'),
  dead: everywhere('invalid_token'),
  wrong: everywhere('invalid_token'),
  gone: { ...everywhere('accepted'), ios_gw: undefined },
  throttle: everywhere('throttled'),
  error: everywhere('server_error'),
  // A new token is asked for, and the message goes out in the same try.
  auth: {
    cloud_gw: 'accepted',
    vendor_h: 'accepted',
    vendor_n: 'accepted',
    vendor_v: 'accepted',
    vendor_o: 'accepted',
    // The gateway allows no new token so soon.
    ios_gw: 'config',
  },
  denied: everywhere('config'),
  // It names the topic of one request.
  config: { ...everywhere('config'), ios_gw: 'invalid_token' },
  quota: {
    vendor_x: 'quota',
    vendor_f: 'quota',
    vendor_v: 'quota',
    vendor_o: 'quota',
    vendor_n: 'quota',
  },
  lists: { vendor_v: 'accepted' },
  payload: everywhere('payload'),
  muted: { vendor_f: 'suppressed', vendor_v: 'suppressed' },
  slow: everywhere('network'),
  cut: everywhere('network'),
  goaway: { ios_gw: 'accepted' },
  // Only private messages are refused, which have tests of their own.
  template: { vendor_x: 'accepted', vendor_o: 'accepted' },
}

function everywhere(kind: PushOutcomeKind) {
  return Object.fromEntries(simulatedChannels.map((channel) => [channel, kind]))
}

const cases = Object.entries(expected).flatMap(([script, kinds]) =>
  Object.entries(kinds)
    .filter(([, kind]) => kind !== undefined)
    .map(([channel, kind]) => ({
      script: script as ScriptName,
      channel: channel as SimulatedChannel,
      kind,
    })),
)

describe('every scripted outcome', () => {
  const isSaid = async ({ script, channel, kind }: (typeof cases)[number]) => {
    const limits = script === 'slow' ? { [channel]: impatient } : {}
    await using providers = newProviders({ limits })
    const token = tokenFor(channel, script)
    const [outcome] = await send(providers, channel, [token])
    expect(outcome).toMatchObject({ kind })
    if (outcome?.kind === 'accepted') expect(outcome.messageId).not.toBe('')
    if (outcome?.kind === 'network') expect(outcome.mayBeDelivered).toBe(true)
    if (!scripts[script].isOnce || kind === 'config') return
    expect(await send(providers, channel, [token])).toMatchObject([{ kind: 'accepted' }])
  }
  // They wait for an answer that does not come.
  it.concurrent.each(cases.filter(({ script }) => script === 'slow'))(
    '$channel: $script is $kind',
    isSaid,
  )
  it.each(cases.filter(({ script }) => script !== 'slow'))('$channel: $script is $kind', isSaid)

  it('knows which tokens a wrong set-up may be the reason for', async () => {
    await using providers = newProviders()
    const channels = ['ios_gw', 'cloud_gw', 'vendor_h', 'vendor_x', 'vendor_o', 'vendor_n'] as const
    for (const channel of channels) {
      const [outcome] = await send(providers, channel, [tokenFor(channel, 'wrong')])
      expect(outcome).toMatchObject({ kind: 'invalid_token', isSuspect: true })
    }
  })

  it('ios_gw: a token has ended at the time that the gateway names', async () => {
    await using providers = newProviders()
    const [outcome] = await send(providers, 'ios_gw', [tokenFor('ios_gw', 'dead')])
    expect(outcome).toMatchObject({ since: expect.any(Number), isSuspect: false })
  })
})

describe.each(simulatedChannels)('%s', (channel) => {
  it('takes messages of every kind, however long they are', async () => {
    await using providers = newProviders()
    const intent = 'intent:#Intent;action=a.OPEN;component=com.example.app/.Chat;S.peer=7;end'
    const rich = aNotification({
      bigText: 'A longer text.',
      badge: { mode: 'add', count: 2 },
      ext: { from: 'x', nested: { list: [1, 2] } },
      collapseKey: 'conversation-1',
      ios: { subtitle: 'in Friends', threadId: 't', category: 'c', mutableContent: true },
      android: { sound: 'bell', channelId: 'chat', clickAction: 'intent', intent },
      channels: {
        vendor_h: { badgeClass: 'com.example.Main' },
        vendor_n: { badgeClass: 'com.example.Main' },
      },
    })
    const all = [
      rich,
      aNotification({ kind: 'image', attachmentUrl: 'https://example.com/cat.png' }),
      aNotification({ kind: 'image', attachmentUrl: 'http://example.com/cat.png' }),
      aNotification({ title: '', badge: { mode: 'set', count: 0 }, isSilent: true }),
      aNotification({
        title: '中'.repeat(500),
        body: '😀'.repeat(4_000),
        bigText: 'ü'.repeat(8_000),
        ext: { first: 'a'.repeat(900), second: 'b'.repeat(8_000) },
      }),
    ]
    for (const notification of all) {
      const outcomes = await send(providers, channel, [tokenFor(channel)], {
        notification,
        certificate: { category: 'IM' },
      })
      expect(outcomes).toMatchObject([{ kind: 'accepted' }])
    }
  })

  it('passes commands to the app, or says that it cannot', async () => {
    await using providers = newProviders()
    const command = aNotification({ kind: 'cmd', title: '', body: '', ext: { do: 'sync' } })
    const sending = { notification: command, certificate: { allowsPassThrough: true } }
    const hasNone = channel === 'vendor_v' || channel === 'vendor_o'
    const [outcome] = await send(providers, channel, [tokenFor(channel)], sending)
    expect(outcome).toMatchObject(
      hasNone ? { kind: 'payload', code: 'no_pass_through' } : { kind: 'accepted' },
    )
  })

  it('says of each of many devices what became of it, in their order', async () => {
    await using providers = newProviders()
    const size = { ios_gw: 150, cloud_gw: 150, vendor_f: 150 }[channel as string] ?? 1_500
    const all = Array.from({ length: size }, () => tokenFor(channel))
    const dead = tokenFor(channel, 'dead')
    const [first = ''] = all
    const before = simulator.gateways[channel].deliveries.length
    const outcomes = await send(providers, channel, [...all.slice(0, 20), dead, ...all, first])
    expect(outcomes.map(({ kind }) => kind)).toEqual([
      ...all.slice(0, 20).map(() => 'accepted'),
      'invalid_token',
      ...all.map(() => 'accepted'),
      'accepted',
    ])
    // Nobody gets it twice.
    const delivered = simulator.gateways[channel].deliveries.slice(before)
    expect(delivered.map(({ token }) => token).sort()).toEqual([...all].sort())
    simulator.gateways[channel].deliveries.length = 0
  })

  it('is left alone by all certificates with the same credentials, wherever their receipts go', async () => {
    await using providers = newProviders()
    const own = foreignCredentials(channel, simulator.gateways[channel].certificate)
    const sendFor = (receipts: Pick<GatewayCertificate, 'receiptUrl' | 'receiptId'>) =>
      send(providers, channel, [tokenFor(channel)], { certificate: { ...own, ...receipts } })
    const [first, second] = ['https://example.com/1', 'https://example.com/2']
    expect(await sendFor({ receiptUrl: first })).toMatchObject([{ kind: 'config' }])
    const others = [{ receiptUrl: second }, { receiptUrl: first, receiptId: '7145' }]
    for (const other of others)
      expect(await sendFor(other)).toMatchObject([{ code: 'circuit_open' }])
  })

  it('refuses the credentials of another app, and is left alone for a while', async () => {
    const clock = { time: Date.now(), now: () => clock.time }
    await using providers = newProviders({ clock })
    const gateway = simulator.gateways[channel]
    const certificate = foreignCredentials(channel, gateway.certificate)
    const [outcome] = await send(providers, channel, [tokenFor(channel)], { certificate })
    expect(outcome).toMatchObject({ kind: 'config', retryAfterMs: 5 * 60_000 })
    const calls = gateway.calls.length
    const [next] = await send(providers, channel, [tokenFor(channel)], { certificate })
    expect(next).toMatchObject({ kind: 'held_back', code: 'circuit_open' })
    expect(gateway.calls.length).toBe(calls)
    clock.time += 5 * 60_000
    await send(providers, channel, [tokenFor(channel)], { certificate })
    expect(gateway.calls.length).toBeGreaterThan(calls)
  })

  it('is not taken for one that has lost a message when nothing listens or nobody trusts it', async () => {
    await using providers = newProviders()
    const { certificate } = simulator.gateways[channel]
    const places = [
      {
        sendUrl: 'https://127.0.0.1:9',
        authUrl: 'https://127.0.0.1:9/',
        ca: certificate.endpoint.ca,
      },
      { sendUrl: certificate.endpoint.sendUrl, authUrl: certificate.endpoint.sendUrl },
    ]
    for (const endpoint of places) {
      const outcomes = await send(providers, channel, [tokenFor(channel)], {
        certificate: { endpoint },
      })
      expect(outcomes).toMatchObject([{ kind: 'network', mayBeDelivered: false }])
    }
  })

  it('is sent to over fresh connections after it has cut all of them', async () => {
    await using providers = newProviders()
    await send(providers, channel, [tokenFor(channel)])
    simulator.gateways[channel].cutConnections()
    // A request may meet the end of the connection; then it says so.
    const outcomes = [
      ...(await send(providers, channel, [tokenFor(channel)])),
      ...(await send(providers, channel, [tokenFor(channel)])),
    ]
    expect(outcomes[1]).toMatchObject({ kind: 'accepted' })
  })
})

/** Credentials in the right form that the gateway does not know. */
function foreignCredentials(channel: SimulatedChannel, own: GatewayCertificate) {
  const changes: Partial<Record<SimulatedChannel, Partial<GatewayCertificate>>> = {
    ios_gw: { appKey: 'OTHERKEY01' },
    cloud_gw: { certificate: own.certificate.replace('push@', 'other@') },
  }
  return { ...own, ...(changes[channel] ?? { appSecret: 'not the secret' }) }
}

describe('the token of one device', () => {
  it('cloud_gw: an installation ID reaches its device until the app is gone', async () => {
    await using providers = newProviders()
    const outcomes = await send(providers, 'cloud_gw', [
      'cXyZ0_-AbCdEfGhIjKlMnO',
      'dead-_-AbCdEfGhIjKlMnO',
    ])
    expect(outcomes).toMatchObject([
      { kind: 'accepted' },
      { kind: 'invalid_token', code: 'UNREGISTERED', isSuspect: false },
    ])
  })

  it('ios_gw: a path or topic that the gateway refuses ends one delivery, and stops no other', async () => {
    await using providers = newProviders()
    for (let count = 0; count < 4; count++)
      expect(await send(providers, 'ios_gw', [tokenFor('ios_gw', 'config')])).toMatchObject([
        { kind: 'invalid_token', isSuspect: true },
      ])
    expect(await send(providers, 'ios_gw', [tokenFor('ios_gw')])).toMatchObject([
      { kind: 'accepted' },
    ])
  })

  it.each(['vendor_h', 'vendor_n'] as const)(
    '%s: a set-up that the gateway refuses for a list is tried for each device of it',
    async (channel) => {
      await using providers = newProviders()
      const [first, bad, last] = [tokenFor(channel), tokenFor(channel, 'config'), tokenFor(channel)]
      expect(await send(providers, channel, [first, bad, last])).toMatchObject([
        { kind: 'accepted' },
        { kind: 'config' },
        { kind: 'accepted' },
      ])
      expect(await send(providers, channel, [bad])).toMatchObject([{ kind: 'config' }])
      expect(await send(providers, channel, [first])).toMatchObject([{ kind: 'accepted' }])
    },
  )

  it.each(['vendor_h', 'vendor_n'] as const)(
    '%s: the circuit opens when three devices in a row have a refused set-up',
    async (channel) => {
      await using providers = newProviders()
      const bad = Array.from({ length: 3 }, () => tokenFor(channel, 'config'))
      for (const token of bad)
        expect(await send(providers, channel, [token])).toMatchObject([{ kind: 'config' }])
      expect(await send(providers, channel, [tokenFor(channel)])).toMatchObject([
        { kind: 'held_back', code: 'circuit_open' },
      ])
    },
  )
})

describe('a quota that is used up', () => {
  const endsAt = Date.now() + 3_600_000
  const text = aNotification()
  const ofChannel = aNotification({ android: { channelId: 'chat' } })
  const system = aNotification({ channels: { vendor_v: { classification: 1 } } })
  const command = aNotification({ kind: 'cmd', title: '', body: '', ext: { do: 'sync' } })

  it.each<[VendorChannel, keyof QuotaPauses, PushNotification, PushNotification]>([
    ['vendor_v', 'operational', text, system],
    ['vendor_v', 'system', system, text],
    ['vendor_f', 'command', command, text],
    ['vendor_x', 'public', text, ofChannel],
    ['vendor_x', 'private', ofChannel, text],
  ])('%s: of %s messages stops no others', async (channel, scope, stopped, others) => {
    await using providers = newProviders()
    const sending = { certificate: { allowsPassThrough: true }, pauses: { [scope]: endsAt } }
    const sendOne = (notification: PushNotification) =>
      send(providers, channel, [tokenFor(channel)], { notification, ...sending })
    const { calls } = simulator.gateways[channel]
    const before = calls.length
    expect(await sendOne(stopped)).toMatchObject([
      { kind: 'quota', code: 'quota_used_up', scope, endsAt },
    ])
    expect(calls.length).toBe(before)
    expect(await sendOne(others)).toMatchObject([{ kind: 'accepted' }])
  })

  it('vendor_x: of private messages stops those that have their channel from the certificate', async () => {
    await using providers = newProviders()
    const outcomes = await send(providers, 'vendor_x', [tokenFor('vendor_x')], {
      certificate: { channelId: 'chat' },
      pauses: { private: endsAt },
    })
    expect(outcomes).toMatchObject([{ kind: 'quota', scope: 'private' }])
  })

  it.each(simulatedChannels)('%s: of a certificate stops all messages', async (channel) => {
    await using providers = newProviders()
    const stopped = await send(providers, channel, [tokenFor(channel)], {
      pauses: { certificate: endsAt },
    })
    expect(stopped).toMatchObject([{ kind: 'quota', scope: 'certificate' }])
    const again = await send(providers, channel, [tokenFor(channel)], {
      pauses: { certificate: Date.now() },
    })
    expect(again).toMatchObject([{ kind: 'accepted' }])
  })

  it('vendor_v: of lists leaves sends to single devices, also of the list that found it used up', async () => {
    await using providers = newProviders()
    const { calls } = simulator.gateways.vendor_v
    const pathsOf = async (tokens: readonly string[]) => {
      const before = calls.length
      const outcomes = await send(providers, 'vendor_v', tokens)
      expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'accepted'])
      const paths = calls.slice(before).map(({ path }) => path)
      return paths.filter((path) => path !== '/message/auth')
    }
    const list = ['/message/saveListPayload', '/message/pushToList']
    const alone = ['/message/send', '/message/send']
    expect(await pathsOf([tokenFor('vendor_v', 'lists'), tokenFor('vendor_v')])).toEqual([
      ...list,
      ...alone,
    ])
    expect(await pathsOf([tokenFor('vendor_v'), tokenFor('vendor_v')])).toEqual(alone)
  })
})

describe('access tokens', () => {
  const channels = ['cloud_gw', 'vendor_h', 'vendor_n', 'vendor_v', 'vendor_o'] as const

  it.each(channels)('%s: one is asked for, however many send', async (channel) => {
    await using providers = newProviders()
    const { access } = simulator.gateways[channel]
    const before = access.issued
    const sendMany = () =>
      Promise.all(Array.from({ length: 15 }, () => send(providers, channel, [tokenFor(channel)])))
    expect((await sendMany()).flat().every(({ kind }) => kind === 'accepted')).toBe(true)
    expect(access.issued - before).toBe(1)
    access.revokeAll()
    expect((await sendMany()).flat().every(({ kind }) => kind === 'accepted')).toBe(true)
    expect(access.issued - before).toBe(2)
  })

  it.each(channels)('%s: another one is asked for when its time comes', async (channel) => {
    const clock = { time: Date.now(), now: () => clock.time }
    await using providers = newProviders({ clock })
    const { authority } = simulator
    const model = gatewayModels[channel]()
    await using gateway = await SimulatedGateway.start(model, { authority, now: clock.now })
    const { certificate, access } = gateway
    await send(providers, channel, [tokenFor(channel)], { certificate })
    await send(providers, channel, [tokenFor(channel)], { certificate })
    expect(access.issued).toBe(1)
    clock.time += 24 * 3_600_000
    const [outcome] = await send(providers, channel, [tokenFor(channel)], { certificate })
    expect(outcome).toMatchObject({ kind: 'accepted' })
    expect(access.issued).toBe(2)
  })

  it('vendor_h: the key of a service account signs its own', async () => {
    await using providers = newProviders()
    const { authority } = simulator
    const model = gatewayModels.vendor_h()
    await using gateway = await SimulatedGateway.start(model, { authority })
    const certificate = { ...gateway.certificate, appSecret: '', certificate: model.account }
    const outcomes = await send(providers, 'vendor_h', [tokenFor('vendor_h')], { certificate })
    expect(outcomes).toMatchObject([{ kind: 'accepted' }])
    expect(gateway.access.issued).toBe(0)
  })

  it('vendor_h: version 3 needs that key, and tells ended tokens from those of other projects', async () => {
    await using providers = newProviders()
    const { authority } = simulator
    const model = gatewayModels.vendor_h()
    await using gateway = await SimulatedGateway.start(model, { authority })
    const account = { appSecret: '', certificate: model.account, apiVersion: 3 }
    const certificate = { ...gateway.certificate, ...account }
    const tokens = ['accept', 'dead', 'wrong'] as const
    const to = tokens.map((script) => tokenFor('vendor_h', script))
    expect(await send(providers, 'vendor_h', to, { certificate })).toMatchObject([
      { kind: 'accepted' },
      { kind: 'invalid_token', isSuspect: false },
      { kind: 'config', isOfPush: true },
    ])
    expect(await send(providers, 'vendor_h', to.slice(1), { certificate })).toMatchObject([
      { kind: 'invalid_token', isSuspect: true },
      { kind: 'config', isOfPush: true },
    ])
    const everything: PushNotification = {
      ...aNotification(),
      kind: 'image',
      attachmentUrl: 'https://example.com/cat.png',
      badge: { mode: 'add', count: 1 },
      android: { clickAction: 'intent', intent: 'app://chat/7', sound: 'bell.mp3' },
    }
    const command: PushNotification = { ...aNotification(), kind: 'cmd' }
    for (const notification of [everything, command])
      expect(
        await send(providers, 'vendor_h', to.slice(0, 1), {
          certificate: { ...certificate, category: 'IM', receiptId: 'RCP1' },
          notification,
        }),
      ).toMatchObject([{ kind: 'accepted' }])
    expect(gateway.access.issued).toBe(0)
    expect(await providers.probe(certificate)).toMatchObject({ kind: 'accepted' })
  })

  it.each(['vendor_v', 'vendor_o', 'vendor_n'] as const)(
    '%s: a clock that is wrong is named as the reason',
    async (channel) => {
      await using providers = newProviders({ clock: { now: () => Date.now() + 3_600_000 } })
      const [outcome] = await send(providers, channel, [tokenFor(channel)])
      expect(outcome).toMatchObject({ kind: 'config' })
      expect(outcome).toHaveProperty('reason', expect.stringMatching(/is 3(600|59\d|60\d) s from/))
    },
  )
})

describe('templates of private messages', () => {
  const parameters = { sender: '{title}', text: '{body}' }
  const own = {
    vendor_x: {
      certificate: { channelId: 'chat' },
      template: { id: 'template-x', parameters },
    },
    vendor_o: {
      certificate: { category: 'IM' },
      template: {
        id: 'template-o',
        title_parameters: { sender: '{title}' },
        content_parameters: { text: '{body}' },
      },
    },
  } as const
  const channels = ['vendor_x', 'vendor_o'] as const
  const notification = aNotification({ title: '👍', body: `${'long 😀 '.repeat(60)}` })

  it.each(channels)('%s: one is wanted, and the filled one is taken', async (channel) => {
    await using providers = newProviders()
    const { certificate, template } = own[channel]
    const sendWith = (templates: GatewayCertificate['templates'] = []) =>
      send(providers, channel, [tokenFor(channel, 'template'), tokenFor(channel, 'template')], {
        notification,
        certificate: { ...certificate, templates },
      })
    const refused = { kind: 'config', isOfPush: true, alarm: { kind: 'template' } }
    expect(await sendWith()).toMatchObject([refused, refused])
    const taken = { name: 'default', ...template }
    expect(await sendWith([taken])).toMatchObject([{ kind: 'accepted' }, { kind: 'accepted' }])
    expect(await sendWith([{ ...taken, id: 'another' }])).toMatchObject([refused, refused])
    const misnamed = { name: 'default', id: template.id }
    expect(await sendWith([misnamed])).toMatchObject([refused, refused])
    // Public messages go on all the time.
    const more = await send(providers, channel, [tokenFor(channel)], { notification })
    expect(more).toMatchObject([{ kind: 'accepted' }])
  })

  it.each(channels)('%s: a probe has the template', async (channel) => {
    await using providers = newProviders()
    const { certificate, template } = own[channel]
    const outcome = await providers.probe({
      ...simulator.gateways[channel].certificate,
      ...certificate,
      templates: [{ name: 'default', ...template }],
    })
    expect(outcome.kind).toBe('accepted')
    expect(simulator.gateways[channel].calls.at(-1)?.body).toContain(template.id)
  })
})

describe('a probe', () => {
  const certificateOf = (channel: SimulatedChannel) => simulator.gateways[channel].certificate

  it.each(simulatedChannels)('%s: reaches the gateway and no device', async (channel) => {
    await using providers = newProviders()
    const { calls } = simulator.gateways[channel]
    const before = calls.length
    expect(await providers.probe(certificateOf(channel))).toMatchObject({ kind: 'accepted' })
    // A token call may come first; the message goes to one made-up token.
    expect(calls.length - before).toBeLessThanOrEqual(2)
    expect(calls.at(-1)?.path + (calls.at(-1)?.body ?? '')).toMatch(/hermod-probe|0{64}/)
  })

  it('does not stop the sends of others, whatever comes of it', async () => {
    await using providers = newProviders()
    const certificate = { ...certificateOf('vendor_x'), appSecret: 'wrong' }
    const probes = [await providers.probe(certificate), await providers.probe(certificate)]
    // The second one was not spared the gateway either.
    expect(probes).toMatchObject([
      { kind: 'config', code: '21301' },
      { kind: 'config', code: '21301' },
    ])
    const sending = { certificate: { appSecret: 'wrong' } }
    const token = tokenFor('vendor_x')
    expect(await send(providers, 'vendor_x', [token], sending)).toMatchObject([{ code: '21301' }])
    expect(await send(providers, 'vendor_x', [token], sending)).toMatchObject([
      { kind: 'held_back', code: 'circuit_open' },
    ])
    expect(await providers.probe(certificate)).toMatchObject({ code: '21301' })
  })

  it('of what cannot be read says so without a call', async () => {
    await using providers = newProviders()
    const certificate = { ...certificateOf('vendor_v'), appId: 'seven', appKey: '' }
    expect(await providers.probe(certificate)).toEqual({
      kind: 'config',
      code: 'bad_certificate',
      reason: 'gateway_app_id must be a number; app_key is missing',
    })
  })
})
