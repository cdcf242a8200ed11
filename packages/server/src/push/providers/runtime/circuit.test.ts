import { describe, expect, it } from 'vitest'
import type { PushOutcome } from '../../sender.js'
import { CircuitBreaker } from './circuit.js'

const limits = { configPauseMs: 300_000, failuresToOpen: 3, outagePauseMs: 15_000 }
const accepted: PushOutcome = { kind: 'accepted', messageId: '1' }
const config: PushOutcome = { kind: 'config', code: 'x', reason: 'wrong key' }
const network: PushOutcome = { kind: 'network', code: 'x', reason: 'cut', mayBeDelivered: true }

function setUp() {
  const clock = { time: 0, now: () => clock.time }
  const circuit = new CircuitBreaker(limits, clock)
  const request = (...outcomes: PushOutcome[]) => {
    const state = circuit.enter()
    if (state.kind !== 'open') circuit.leave(state, outcomes)
    return state.kind
  }
  return { clock, circuit, request }
}

describe('Circuit', () => {
  it('opens at the first refusal of the set-up, and says why and for how long', () => {
    const { clock, circuit, request } = setUp()
    request(config)
    clock.time = 100_000
    expect(circuit.openState()).toEqual({
      kind: 'open',
      cause: 'config',
      reason: 'wrong key',
      retryAfterMs: 200_000,
    })
  })

  it('lets a single probe through after the pause; its success closes it', () => {
    const { clock, circuit, request } = setUp()
    request(config)
    clock.time = 300_000
    const probe = circuit.enter()
    expect(probe.kind).toBe('half_open')
    expect([circuit.enter().kind, circuit.enter().kind]).toEqual(['open', 'open'])
    circuit.leave(probe, [accepted])
    expect(request(accepted)).toBe('closed')
  })

  it('stays open after a probe that fails', () => {
    const { clock, circuit, request } = setUp()
    request(config)
    clock.time = 300_000
    expect(request(network)).toBe('half_open')
    expect(circuit.openState()).toMatchObject({ cause: 'outage', retryAfterMs: 15_000 })
  })

  it('lets another probe through when one could not be sent', () => {
    const { clock, request } = setUp()
    request(config)
    clock.time = 300_000
    expect([request(), request(), request(accepted), request(accepted)]).toEqual([
      'half_open',
      'half_open',
      'half_open',
      'closed',
    ])
  })

  it('opens after an unbroken row of failures only', () => {
    const { request } = setUp()
    expect([request(network), request(network), request(accepted)]).toEqual([
      'closed',
      'closed',
      'closed',
    ])
    expect([request(network), request(network), request(network)]).toEqual([
      'closed',
      'closed',
      'closed',
    ])
    expect(request(accepted)).toBe('open')
  })

  it('takes no harm from refusals of single devices and messages', () => {
    const { request } = setUp()
    const dead: PushOutcome = {
      kind: 'invalid_token',
      code: 'x',
      reason: '',
      since: null,
      isSuspect: true,
    }
    for (let count = 0; count < 10; count++) request(dead)
    expect(request({ ...config, isOfDevice: true })).toBe('closed')
    expect(request(config, accepted)).toBe('closed')
    expect(request(accepted)).toBe('closed')
  })
})
