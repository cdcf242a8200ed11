/** Keys of an issuer that are fetched: when, how often, and how long they serve. */
import type { JSONWebKeySet } from 'jose'
import { describe, expect, it } from 'vitest'
import {
  buildAssertion,
  testKeys as keys,
  publicJwk,
  rsaHeader,
  signers,
  type TestKey,
} from '../../../../../test/support/assertions/builder.js'
import { readAssertion } from '../../assertions/assertion.js'
import { FetchedKeys } from './fetched-keys.js'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** A key server that the test changes, and the keys fetched from it, on a clock of the test. */
function keyServer() {
  const state = {
    now: 1_800_000_000_000,
    served: [publicJwk(keys.rsa, { kid: 'old' })] as unknown as JSONWebKeySet['keys'],
    isDown: false,
    fetches: 0,
    failures: 0,
    /** A fetch waits for it. */
    pause: Promise.resolve(),
  }
  const fetched = new FetchedKeys({
    async fetch() {
      state.fetches++
      await state.pause
      if (state.isDown) throw new Error('it is down')
      return { keys: state.served }
    },
    clock: { now: () => state.now },
    failed: () => state.failures++,
  })
  const refusal = async (kid: string | undefined, key: TestKey | null = keys.rsa) => {
    const signer = key === null ? () => Buffer.alloc(256) : signers.RS256(key)
    const assertion = readAssertion(buildAssertion({ header: { ...rsaHeader, kid }, signer }))
    if (typeof assertion === 'string') throw new Error(assertion)
    return fetched.signatureRefusal(assertion, ['RS256'])
  }
  const serve = (...jwks: object[]) => {
    state.served = jwks as JSONWebKeySet['keys']
  }
  return { state, refusal, serve }
}

describe('fetched keys', () => {
  it('are fetched at the first use, once for simultaneous calls, and serve for 10 minutes', async () => {
    const { state, refusal } = keyServer()
    expect(await Promise.all(Array.from({ length: 50 }, () => refusal('old')))).toEqual(
      Array.from({ length: 50 }, () => null),
    )
    state.now += 10 * minute - 1
    expect(await refusal('old')).toBeNull()
    expect(state.fetches).toBe(1)
    state.now += 1
    expect(await refusal('old')).toBeNull()
    expect(state.fetches).toBe(2)
  })

  it('2,000 unknown kids cost one fetch in 30 s', async () => {
    const { state, refusal } = keyServer()
    await refusal('old')
    state.now += 30 * second
    const kids = Array.from({ length: 2_000 }, (_, index) => `kid-${index}`)
    const refusals = new Set()
    for (const kid of kids) {
      state.now += 10
      refusals.add(await refusal(kid, null))
    }
    expect([...refusals]).toEqual(['unknown_key'])
    expect(state.fetches).toBe(2)
    expect(await refusal('old')).toBeNull()
  })

  it('a new key is accepted after one fetch, when 30 s have passed since the last', async () => {
    const { state, refusal, serve } = keyServer()
    await refusal('old')
    serve(publicJwk(keys.rsa, { kid: 'old' }), publicJwk(keys.otherRsa, { kid: 'new' }))
    state.now += 30 * second - 1
    expect(await refusal('new', keys.otherRsa)).toBe('unknown_key')
    expect(state.fetches).toBe(1)
    state.now += 1
    const all = await Promise.all(
      Array.from({ length: 20 }, () => [refusal('new', keys.otherRsa), refusal('old')]).flat(),
    )
    expect(all.every((each) => each === null)).toBe(true)
    expect(state.fetches).toBe(2)
  })

  it('an old key is refused once a fresh set lacks it', async () => {
    const { state, refusal, serve } = keyServer()
    expect(await refusal('old')).toBeNull()
    serve(publicJwk(keys.otherRsa, { kid: 'new' }))
    expect(await refusal('old')).toBeNull()
    state.now += 10 * minute
    expect(await refusal('old')).toBe('unknown_key')
  })

  it('a kid that a fetch did not bring is not looked for again for 5 minutes', async () => {
    const { state, refusal, serve } = keyServer()
    await refusal('old')
    state.now += 30 * second
    expect(await refusal('new', keys.otherRsa)).toBe('unknown_key')
    serve(publicJwk(keys.otherRsa, { kid: 'new' }))
    state.now += 5 * minute - 1
    expect(await refusal('new', keys.otherRsa)).toBe('unknown_key')
    expect(state.fetches).toBe(2)
    state.now += 1
    expect(await refusal('new', keys.otherRsa)).toBeNull()
    expect(state.fetches).toBe(3)
  })

  it('a set serves for 24 h while fetching fails, with a try every 30 s', async () => {
    const { state, refusal } = keyServer()
    await refusal('old')
    state.isDown = true
    state.now += 10 * minute
    for (let call = 0; call < 60; call++) {
      expect(await refusal('old')).toBeNull()
      state.now += second
    }
    expect(state).toMatchObject({ fetches: 3, failures: 2 })
    state.now += 24 * hour - 11 * minute - 1
    expect(await refusal('old')).toBeNull()
    state.now += 1
    expect(await refusal('old')).toBe('no_keys')
    state.isDown = false
    state.now += 30 * second
    expect(await refusal('old')).toBeNull()
  })

  it('the 30 s begin before a fetch, whatever its outcome', async () => {
    const { state, refusal } = keyServer()
    let answer = () => {}
    state.pause = new Promise((resolve) => {
      answer = resolve
    })
    state.isDown = true
    const slow = refusal('old')
    state.now += 30 * second - 1
    answer()
    expect(await slow).toBe('no_keys')
    state.isDown = false
    expect(await refusal('old')).toBe('no_keys')
    state.now += 1
    expect(await refusal('old')).toBeNull()
    expect(state.fetches).toBe(2)
  })

  it('an empty set is a failure and replaces none', async () => {
    const { state, refusal, serve } = keyServer()
    await refusal('old')
    serve()
    state.now += 10 * minute
    expect(await refusal('old')).toBeNull()
    expect(state.failures).toBe(1)
  })

  it('an assertion without kid needs the only key that fits', async () => {
    const { state, refusal, serve } = keyServer()
    expect(await refusal(undefined)).toBeNull()
    serve(publicJwk(keys.rsa, { kid: 'a' }), publicJwk(keys.otherRsa, { kid: 'b' }))
    state.now += 10 * minute
    expect(await refusal(undefined)).toBe('ambiguous_key')
    serve(publicJwk(keys.ec, { kid: 'a' }))
    state.now += 10 * minute
    expect(await refusal(undefined)).toBe('unknown_key')
  })
})
