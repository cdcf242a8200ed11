import { pushDeliveryState } from '@hermod/protocol'
import { describe, expect, it } from 'vitest'
import type { PushOutcome } from '../../../push/outcomes.js'
import type { PushCertificateEntry } from '../certificates/certificate-model.js'
import { type Delivery, tokenHash } from '../deliveries/delivery-model.js'
import type { StoredPushTask } from '../tasks/task-model.js'
import { describeStep } from '../trace/trace-sentences.js'
import { heldUntil, progressOf, type Result, tokenChange } from './delivery-progress.js'

const now = 1_000_000
const moment = { now, random: 0.5 }
const certificate = (certificateId: number, channel: string) =>
  ({
    certificateId,
    name: channel,
    gateway: { channel },
    lastAcceptedAt: 0,
    pauses: {},
  }) as unknown as PushCertificateEntry
const first = certificate(1, 'vendor_h')
const second = certificate(2, 'vendor_x')
const binding = (notifierName: string, deviceToken: string) => ({
  notifierName,
  deviceToken,
  boundAt: 1,
  pausedUntil: 0,
})
const task = {
  taskId: 5,
  expiresAt: now + 60_000,
  content: {
    strategy: 'combined',
    sequence: ['vendor_h', 'vendor_x'],
    notification: { ios: {} },
  },
} as unknown as StoredPushTask
const delivery = {
  appId: 'app',
  taskId: 5,
  userId: 7,
  deviceSn: 1,
  state: pushDeliveryState.pending,
  channel: 'vendor_h',
  certificateId: 1,
  tokenHash: tokenHash('a'),
  messageId: '',
  attempts: 2,
  failures: 0,
  waits: 0,
  nextAt: 0,
  steps: '',
} as unknown as Delivery

const inputs = {
  tasks: new Map([[5, task]]),
  bindings: new Map([['7 1', [binding('vendor_h', 'a'), binding('vendor_x', 'b')]]]),
  certificates: new Map([first, second].map((each) => [each.certificateId, each])),
}
const tried = (outcome: PushOutcome, changes: Partial<Delivery> = {}): Result => ({
  kind: 'tried',
  delivery: { ...delivery, ...changes },
  token: 'a',
  certificate: first,
  sentAt: now - 10,
  outcome,
})
const reason = { code: 'x', reason: '' }
const invalid = { kind: 'invalid_token', ...reason, since: null, isSuspect: false } as const

describe('the progress of a delivery', () => {
  it('an accepted push is sent, with the ID of the gateway', () => {
    const result = progressOf(tried({ kind: 'accepted', messageId: 'm' }), inputs, moment)
    expect(result).toMatchObject({ isSent: true, isRedirected: false })
    expect(result.delivery).toMatchObject({
      state: pushDeliveryState.accepted,
      messageId: 'm',
      attempts: 3,
    })
    expect(result.steps).toEqual([expect.not.objectContaining({ changes: expect.anything() })])
  })

  it('an accepted push keeps the changes of its channel in the step', () => {
    const changes = ['ext.a left out', 'title shortened']
    const { steps } = progressOf(
      tried({ kind: 'accepted', messageId: 'm', changes }),
      inputs,
      moment,
    )
    expect(steps).toMatchObject([{ changes: 'ext.a left out, title shortened' }])
    expect(steps.map(describeStep)).toEqual([
      'The gateway accepted it; changed for the channel: ext.a left out, title shortened.',
    ])
  })

  it('a dead token sends the push to the next channel of the sequence, which counts as a target', () => {
    const result = progressOf(tried(invalid), inputs, moment)
    expect(result).toMatchObject({ isSent: false, isRedirected: true })
    expect(result.delivery).toMatchObject({
      state: pushDeliveryState.pending,
      channel: 'vendor_x',
      certificateId: 2,
      nextAt: now,
    })
    expect(tokenChange(tried(invalid), now)).toEqual({ kind: 'clear', boundBefore: now - 10 })
  })

  it('keep the token when the answer concerns path or topic of the request', () => {
    const wrongTopic = { ...invalid, isSuspect: true, isOfRequest: true } as const
    expect(tokenChange(tried(wrongTopic), now)).toBeNull()
  })

  it('a dead token on the last channel ends the delivery', () => {
    const onSecond = { ...tried(invalid, { channel: 'vendor_x', certificateId: 2 }) }
    const result = progressOf({ ...onSecond, certificate: second } as Result, inputs, moment)
    expect(result.delivery.state).toBe(pushDeliveryState.refused)
  })

  it('another token of the same channel is no new target', () => {
    const rebound = { ...inputs, bindings: new Map([['7 1', [binding('vendor_h', 'new')]]]) }
    const result = progressOf({ kind: 'gone', delivery }, rebound, moment)
    expect(result).toMatchObject({ isSent: false, isRedirected: false })
    expect(result.delivery.tokenHash).toBe(tokenHash('new'))
  })

  it('a failure is tried again later, and the fifth one ends the delivery', () => {
    const failed = { kind: 'server_error', ...reason, retryAfterMs: 5_000 } as const
    const result = progressOf(tried(failed), inputs, moment)
    expect(result.delivery).toMatchObject({ failures: 1, attempts: 3, nextAt: now + 5_000 })
    expect(result.steps).toMatchObject([{ nextAt: now + 5_000 }])
    const last = progressOf(tried(failed, { failures: 4 }), inputs, moment)
    expect(last.delivery.state).toBe(pushDeliveryState.refused)
  })

  it('a push that is still held back changes nothing but the time of the next look', () => {
    const held = { kind: 'held_back', ...reason, retryAfterMs: 8_000, hasTurn: true } as const
    expect(heldUntil(tried(held), inputs, moment)).toBeNull()
    expect(heldUntil(tried(held, { waits: 1 }), inputs, moment)).toBe(now + 8_000)
  })

  it('a push whose time is over, or that was cancelled, says so in its last step', () => {
    const { expired, cancelled } = pushDeliveryState
    for (const [state, step] of [
      [expired, 'expired'],
      [cancelled, 'cancelled'],
    ] as const) {
      const result = progressOf({ kind: 'ended', delivery, state }, inputs, moment)
      expect([result.delivery.state, result.steps]).toEqual([state, [{ at: now, step }]])
    }
  })

  it('a connected device that has the message itself gets no push, which is not counted as sent', () => {
    const result = progressOf({ kind: 'connected', delivery }, inputs, moment)
    expect(result).toMatchObject({
      delivery: { state: pushDeliveryState.suppressed },
      steps: [{ at: now, step: 'suppressed', result: 'connected' }],
      isSent: false,
    })
  })

  it('a device that disconnected gets the push through its first vendor channel', () => {
    const onCore = { ...delivery, channel: 'core', certificateId: 0 } as Delivery
    const result = progressOf({ kind: 'disconnected', delivery: onCore }, inputs, moment)
    expect(result).toMatchObject({ isRedirected: true, delivery: { channel: 'vendor_h' } })
  })
})
