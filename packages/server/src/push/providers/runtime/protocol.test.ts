import { expect, it } from 'vitest'
import { certificateLimits, defaultLimits } from './protocol.js'

const ofRequests = { ...defaultLimits, targetsPerRequest: 100, perSecond: 100, burst: 100 }
const ofMessages = { ...ofRequests, rateUnit: 'message', targetsPerRequest: 1000 } as const

it('a certificate that sets no limits has those of its channel', () => {
  expect(certificateLimits(ofMessages, {})).toEqual(ofMessages)
  expect(certificateLimits(ofMessages, { limits: { maxInFlight: 7 } })).toEqual({
    ...ofMessages,
    maxInFlight: 7,
  })
})

it.each([
  [ofRequests, 5, { burst: 1, targetsPerRequest: 100 }],
  [ofRequests, 50, { burst: 5, targetsPerRequest: 100 }],
  [ofRequests, 50_000, { burst: 100, targetsPerRequest: 100 }],
  [ofMessages, 1, { burst: 1, targetsPerRequest: 1 }],
  [ofMessages, 50, { burst: 5, targetsPerRequest: 7 }],
  [ofMessages, 50_000, { burst: 100, targetsPerRequest: 1000 }],
])('%j at %i a second: what goes at once is a part of a second', (channel, perSecond, expected) => {
  const limits = certificateLimits(channel, { limits: { perSecond } })
  expect(limits).toEqual({ ...channel, ...expected, perSecond })
})
