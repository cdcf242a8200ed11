import { describe, expect, it } from 'vitest'
import type { ApnsTokenType, VendorChannel } from '../../../push/certificate.js'
import type { PushCertificateEntry } from '../certificates/certificate-model.js'
import { sequenceOf } from '../content/channel-sequence.js'
import { type ChoiceInputs, chooseChannel } from './channel-choice.js'

const now = 1_000

function certificate(
  certificateId: number,
  channel: VendorChannel,
  pushType?: ApnsTokenType,
): PushCertificateEntry {
  return {
    certificateId,
    name: `${channel} ${certificateId}`,
    gateway: {
      channel,
      environment: 'production',
      appId: 'a',
      appKey: '',
      appSecret: '',
      certificate: '',
      ...(pushType && { pushType }),
    },
    expiresAt: null,
    lastAcceptedAt: 0,
    pauses: {},
  }
}

function binding(notifierName: string, pausedUntil = 0) {
  const deviceToken = notifierName.startsWith('ios_gw') ? 'a4' : `token of ${notifierName}`
  return { notifierName, deviceToken, boundAt: 1, pausedUntil }
}

const entries = [
  certificate(1, 'cloud_gw'),
  certificate(2, 'vendor_h'),
  certificate(3, 'vendor_h'),
  certificate(4, 'ios_gw'),
  certificate(5, 'ios_gw', 'voip'),
  certificate(6, 'ios_gw', 'liveactivity'),
  certificate(7, 'ios_gw', 'alert'),
  certificate(8, 'ios_gw', 'liveactivity_start'),
]

function choose(changes: Partial<ChoiceInputs>) {
  const choice = chooseChannel({
    strategy: 'combined',
    sequence: sequenceOf(),
    tokenType: 'alert',
    isConnected: false,
    bindings: [],
    certificates: new Map(entries.map((entry) => [entry.name, entry])),
    now,
    ...changes,
  })
  if (choice.kind === 'none') return choice.reason
  return choice.kind === 'core' ? 'core' : choice.certificate.name
}

const both = [binding('cloud_gw 1'), binding('vendor_h 3'), binding('vendor_h 2')]

describe('sequenceOf', () => {
  it('has ios_gw first, ups as the handset vendors, and each channel once', () => {
    const ups = ['vendor_h', 'vendor_n', 'vendor_x', 'vendor_o', 'vendor_v', 'vendor_f']
    for (const none of [undefined, []])
      expect(sequenceOf(none)).toEqual(['ios_gw', ...ups, 'cloud_gw'])
    expect(sequenceOf(['cloud_gw', 'vendor_x', 'ups'])).toEqual([
      'ios_gw',
      'cloud_gw',
      'vendor_x',
      ...ups.filter((name) => name !== 'vendor_x'),
    ])
  })
})

describe('chooseChannel', () => {
  it('combined takes the own channel of a connected device, else the first vendor of the sequence', () => {
    expect(choose({ isConnected: true, bindings: both })).toBe('core')
    expect(choose({ bindings: both })).toBe('vendor_h 2')
    expect(choose({ bindings: both, sequence: sequenceOf(['cloud_gw', 'ups']) })).toBe('cloud_gw 1')
    expect(choose({ bindings: [binding('ios_gw 4')], sequence: sequenceOf(['cloud_gw']) })).toBe(
      'ios_gw 4',
    )
  })

  it('corepush_only and ospush_only keep to theirs', () => {
    expect(choose({ strategy: 'corepush_only', isConnected: true, bindings: both })).toBe('core')
    expect(choose({ strategy: 'corepush_only', bindings: both })).toBe('not_connected')
    expect(choose({ strategy: 'ospush_only', isConnected: true, bindings: both })).toBe(
      'vendor_h 2',
    )
  })

  it('passes over a device that its gateway calls out of reach', () => {
    expect(choose({ bindings: [binding('cloud_gw 1'), binding('vendor_h 2', now + 1)] })).toBe(
      'cloud_gw 1',
    )
    expect(choose({ bindings: [binding('vendor_h 2', now)] })).toBe('vendor_h 2')
  })

  it.each(['..', 'a4/../b', 'token', '%2e', ''])(
    'passes over the token %j of ios_gw',
    (deviceToken) => {
      const malformed = { ...binding('ios_gw 4'), deviceToken }
      expect(choose({ bindings: [malformed] })).toBe('malformed_token')
      expect(choose({ bindings: [malformed, ...both] })).toBe('vendor_h 2')
      expect(choose({ bindings: [malformed, binding('vendor_h 2', now + 1)] })).toBe(
        'device_paused',
      )
    },
  )

  describe('push types', () => {
    const apple = ['ios_gw 8', 'ios_gw 6', 'ios_gw 5', 'ios_gw 4'].map((name) => binding(name))

    it.each([
      ['alert', 'ios_gw 4'],
      ['voip', 'ios_gw 5'],
      ['liveactivity', 'ios_gw 6'],
      ['liveactivity_start', 'ios_gw 8'],
    ] as const)(
      'a push of type %s goes to the token of a certificate for it',
      (tokenType, name) => {
        expect(choose({ tokenType, bindings: apple })).toBe(name)
      },
    )

    it('a certificate with push type alert is as good as one without', () => {
      expect(choose({ bindings: [binding('ios_gw 7')] })).toBe('ios_gw 7')
    })

    it('a call reaches other channels and connected devices like any push, a live activity does not', () => {
      expect(choose({ tokenType: 'voip', bindings: both })).toBe('vendor_h 2')
      expect(choose({ tokenType: 'voip', bindings: apple, isConnected: true })).toBe('core')
      const activity = { tokenType: 'liveactivity', isConnected: true } as const
      expect(choose({ ...activity, bindings: both })).toBe('no_push_type')
      expect(choose({ ...activity, bindings: [] })).toBe('no_push_type')
      expect(choose({ ...activity, bindings: apple })).toBe('ios_gw 6')
    })

    it('a device without a token for the push type has that as its reason', () => {
      expect(choose({ bindings: [binding('ios_gw 5')] })).toBe('no_push_type')
      expect(choose({ tokenType: 'voip', bindings: [binding('ios_gw 4')] })).toBe('no_push_type')
      const paused = [binding('ios_gw 5', now + 1), binding('ios_gw 4')]
      expect(choose({ tokenType: 'voip', bindings: paused })).toBe('device_paused')
    })
  })

  it('says why there is no way', () => {
    expect(choose({})).toBe('not_connected')
    expect(choose({ bindings: [binding('unknown')] })).toBe('no_certificate')
    expect(choose({ bindings: [binding('cloud_gw 1')], sequence: sequenceOf(['vendor_x']) })).toBe(
      'no_channel_of_the_sequence',
    )
    expect(choose({ bindings: [binding('cloud_gw 1', now + 1)] })).toBe('device_paused')
  })
})
