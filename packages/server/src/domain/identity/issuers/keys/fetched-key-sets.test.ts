/** The fetched keys of all issuers: the time of a fetch, and the keys of a changed issuer. */
import { afterEach, expect, it, vi } from 'vitest'
import { buildAssertion } from '../../../../../test/support/assertions/builder.js'
import type { OutboundRequest } from '../../../../lib/outbound/outbound-client.js'
import { readAssertion } from '../../assertions/assertion.js'
import { FetchedKeySets } from './fetched-key-sets.js'

const issuer = { appId: 'app', issuer: 'https://issuer.example', updatedAt: 1 }
const discovery = { discovery: 'https://issuer.example/discovery', issuer: issuer.issuer }

afterEach(() => {
  vi.useRealTimers()
})

it('a fetch by discovery has 5 seconds for both documents', async () => {
  vi.useFakeTimers()
  const times: number[] = []
  const sets = new FetchedKeySets({
    client: {
      async get({ timeoutMs }: OutboundRequest) {
        times.push(timeoutMs)
        vi.advanceTimersByTime(3_000)
        const document = {
          issuer: issuer.issuer,
          jwks_uri: 'https://issuer.example/keys',
          keys: [],
        }
        const body = Buffer.from(JSON.stringify(document))
        return { status: 200, headers: {}, body, isWhole: true }
      },
    },
    clock: { now: () => 0 },
    failed: () => {},
  })
  const assertion = readAssertion(buildAssertion())
  if (typeof assertion === 'string') throw new Error(assertion)
  await sets.of(issuer, discovery).signatureRefusal(assertion, ['RS256'])
  expect(times).toEqual([5_000, 2_000])
})

it('an issuer has its keys until it is changed', () => {
  const sets = new FetchedKeySets({
    client: { get: () => Promise.reject(new Error('it is down')) },
    clock: { now: () => 0 },
    failed: () => {},
  })
  const keys = sets.of(issuer, discovery)
  expect(sets.of(issuer, discovery)).toBe(keys)
  expect(sets.of({ ...issuer, updatedAt: 2 }, discovery)).not.toBe(keys)
})
