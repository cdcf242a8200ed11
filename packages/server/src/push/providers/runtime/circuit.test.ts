import { describe, expect, it } from 'vitest'
import type { PushOutcome } from '../../outcomes.js'
import { CircuitBreaker } from './circuit.js'

const limits = {
  configPauseMs: 300_000,
  refusalsToOpen: 3,
  failuresToOpen: 3,
  outagePauseMs: 15_000,
}
const accepted: PushOutcome = { kind: 'accepted', messageId: '1' }
const general: PushOutcome = { kind: 'config', code: 'x', reason: 'wrong channel' }
const config: PushOutcome = { ...general, reason: 'wrong key', isOfCredentials: true }
const network: PushOutcome = { kind: 'network', code: 'x', reason: 'cut', mayBeDelivered: true }

function setUp() {
  let devices = 0
  const clock = { time: 0, now: () => clock.time }
  const circuit = new CircuitBreaker(limits, clock)
  const request = (...outcomes: PushOutcome[]) => {
    const state = circuit.enter()
    const tokens = outcomes.map(() => `device ${++devices}`)
    if (state.kind !== 'open') circuit.leave(state, outcomes, tokens)
    return state.kind
  }
  /** A request to one device. */
  const send = (token: string, outcome: PushOutcome) => {
    const state = circuit.enter()
    if (state.kind !== 'open') circuit.leave(state, [outcome], [token])
    return state.kind
  }
  return { clock, circuit, request, send }
}

describe('Circuit', () => {
  it('opens at the first refusal of the credentials, and says why and for how long', () => {
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
    circuit.leave(probe, [accepted], ['a'])
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
    expect(request({ ...config, isOfPush: true })).toBe('closed')
    expect(request(config, accepted)).toBe('closed')
    expect(request(accepted)).toBe('closed')
  })

  it('opens when three devices in a row had a refusal of the set-up', () => {
    const { circuit, send } = setUp()
    for (const token of ['a', 'b']) send(token, { ...general })
    send('c', accepted)
    for (const token of ['a', 'b']) expect(send(token, { ...general })).toBe('closed')
    expect(circuit.openState()).toBeNull()
    send('c', { ...general })
    expect(circuit.openState()).toMatchObject({ cause: 'config', reason: 'wrong channel' })
  })

  it('stays closed for one device, and for the refusal of a whole list', () => {
    const { circuit, request, send } = setUp()
    for (let count = 0; count < 10; count++) send('a', { ...general })
    request(general, general, general, general)
    expect(circuit.openState()).toBeNull()
  })

  it('stays open after a probe with a refusal of the set-up, unless it opened for an outage', () => {
    const { clock, circuit, request, send } = setUp()
    request(config)
    clock.time = 300_000
    expect(send('a', general)).toBe('half_open')
    expect(circuit.openState()).toMatchObject({ cause: 'config' })
    clock.time = 600_000
    send('a', accepted)
    for (let count = 0; count < 3; count++) request(network)
    clock.time = 615_000
    expect(send('a', general)).toBe('half_open')
    expect(circuit.openState()).toBeNull()
  })
})
