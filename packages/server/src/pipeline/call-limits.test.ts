import { AppError, type ErrorName } from '@hermod/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import { UserAllowances } from './allowance.js'
import type { Call } from './call.js'
import { CallLimits, type Limiter } from './call-limits.js'
import { adminPrincipal, operatorPrincipal, type Principal, userPrincipal } from './principal.js'

/** A limiter that never fills up again. */
class Purse<Key> implements Limiter<Key> {
  readonly #left = new Map<Key, number>()

  constructor(private readonly size: number) {}

  take(key: Key): number {
    const left = this.#left.get(key) ?? this.size
    if (left > 0) this.#left.set(key, left - 1)
    return left > 0 ? 0 : 7
  }

  giveBack(key: Key): void {
    this.#left.set(key, (this.#left.get(key) ?? this.size) + 1)
  }

  charge(key: Key, tokens: number): number {
    const left = this.#left.get(key) ?? this.size
    if (left >= 0) this.#left.set(key, left - tokens)
    return left >= 0 ? 0 : 7
  }
}

const adminToken = 'hma_valid'
const admin = adminPrincipal('home', null, null, null)
const anonymous: Principal = { kind: 'anonymous', appId: 'home' }

function user(userId: number, appId = 'home', isBot = false): Principal {
  return userPrincipal(appId, { userId, deviceSn: null, tokenHash: 'hash', isBot })
}

const noBody = () => undefined

function callOf(accessToken: string | undefined, address = '192.0.2.1'): Call {
  const credentials = { appId: 'home', accessToken, userId: undefined, groupId: undefined }
  return {
    requestId: 'r',
    address,
    userAgent: '',
    baseUrl: '',
    query: {},
    body: noBody,
    credentials,
  }
}

/** A call whose transport has proved the principal before. */
function provedCall(principal: Principal, address: string): Call {
  return { requestId: 'r', address, userAgent: '', baseUrl: '', query: {}, body: noBody, principal }
}

let limits: CallLimits

beforeEach(() => {
  limits = new CallLimits({
    addresses: new Purse(3),
    newAdminTokens: new Purse(2),
    users: new UserAllowances({
      rate: { perSecond: 1 / 7, burst: 2 },
      calls: 100,
      fileRate: { perSecond: 1, burst: 1 },
    }),
    bots: new UserAllowances({
      rate: { perSecond: 1 / 7, burst: 4 },
      calls: 100,
      fileRate: { perSecond: 1, burst: 1 },
    }),
    apps: new Purse(5),
  })
})

/** What becomes of one call: 'passes', or the error. */
function outcome(call: Call, end: Principal | ErrorName): string {
  try {
    limits.arrived(call)
    if (typeof end !== 'string') limits.authenticated(call, end)
    else limits.refused(call, new AppError(end))
    return typeof end === 'string' ? end : 'passes'
  } catch (error) {
    const { errorName, options } = error as AppError
    expect(options.retryAfterSeconds).toBe(7)
    return errorName
  }
}

function outcomes(count: number, call: Call, end: Principal | ErrorName): string[] {
  return Array.from({ length: count }, () => outcome(call, end))
}

const passes = (count: number): string[] => Array<string>(count).fill('passes')
const limited = (count: number): string[] => Array<string>(count).fill('address_limited')

describe('the limit by address', () => {
  it('counts calls without a token and with a user token, those that fail too', () => {
    expect(outcome(callOf(undefined), anonymous)).toBe('passes')
    expect(outcome(callOf('hmu_1'), user(1))).toBe('passes')
    expect(outcome(callOf('hmu_unknown'), 'token_invalid')).toBe('token_invalid')
    expect(outcome(callOf('hmu_1'), user(1))).toBe('address_limited')
    expect(outcome(callOf('hmu_1', '192.0.2.2'), user(1))).toBe('passes')
  })

  it('counts the addresses of one IPv6 network together', () => {
    for (const last of [1, 2, 3])
      expect(outcome(callOf(undefined, `2001:db8::${last}`), anonymous)).toBe('passes')
    expect(outcome(callOf(undefined, '2001:db8::4'), anonymous)).toBe('address_limited')
    expect(outcome(callOf(undefined, '2001:db8:1::4'), anonymous)).toBe('passes')
  })

  it('does not apply to an operator that the transport has proved', () => {
    expect(outcomes(20, provedCall(operatorPrincipal, 'local'), operatorPrincipal)).toEqual(
      passes(20),
    )
  })

  it('applies to a user that the transport has proved, as to one with a token', () => {
    const call = (id: number) => provedCall(user(id), '192.0.2.1')
    expect([1, 2, 3, 4].map((id) => outcome(call(id), user(id)))).toEqual([
      ...passes(3),
      ...limited(1),
    ])
    expect(outcomes(20, provedCall(admin, '192.0.2.1'), admin)).toEqual(passes(20))
  })
})

describe('an Admin token', () => {
  it('is not limited when it is valid, neither by address nor by application', () => {
    expect(outcomes(20, callOf(adminToken), admin)).toEqual(passes(20))
    expect(outcomes(3, callOf('hmu_1'), user(1))).toEqual(['passes', 'passes', 'too_many_requests'])
  })

  it('is heard behind an address that is used up', () => {
    expect(outcomes(4, callOf('hmu_unknown'), 'token_invalid').at(-1)).toBe('address_limited')
    expect(outcomes(20, callOf(adminToken), admin)).toEqual(passes(20))
  })

  it('that fails counts for the address, and a few are enough to be refused before they are checked', () => {
    expect(outcomes(4, callOf('hma_made_up'), 'token_invalid')).toEqual([
      'token_invalid',
      'token_invalid',
      ...limited(2),
    ])
    expect(outcomes(2, callOf(undefined), anonymous)).toEqual(['passes', 'address_limited'])
    expect(outcome(callOf('hma_another'), 'token_invalid')).toBe('address_limited')
    expect(outcome(callOf('hma_another', '192.0.2.2'), 'token_invalid')).toBe('token_invalid')
  })

  it('that was valid lately passes all the same, until it fails', () => {
    expect(outcome(callOf(adminToken), admin)).toBe('passes')
    outcomes(4, callOf('hma_made_up'), 'token_invalid')
    expect(outcomes(20, callOf(adminToken), admin)).toEqual(passes(20))
    expect(outcome(callOf(adminToken), 'token_expired')).toBe('token_expired')
    expect(outcome(callOf(adminToken), 'token_expired')).toBe('address_limited')
  })

  it('does not pay for a failure of the service', () => {
    expect(outcomes(10, callOf(adminToken), 'storage_failed')).toEqual(
      Array(10).fill('storage_failed'),
    )
    expect(outcome(callOf(adminToken), admin)).toBe('passes')
    expect(outcomes(10, callOf(adminToken), 'storage_failed')).toEqual(
      Array(10).fill('storage_failed'),
    )
  })

  it('that is not valid is counted where no token is needed', () => {
    expect(outcomes(3, callOf('hma_made_up'), anonymous)).toEqual([
      'passes',
      'passes',
      'address_limited',
    ])
  })

  it('that is not valid does not open what needs no token behind an address that is used up', () => {
    expect(outcomes(4, callOf(undefined), anonymous)).toEqual([...passes(3), ...limited(1)])
    expect(outcome(callOf('hma_made_up'), anonymous)).toBe('address_limited')
    expect(outcome(callOf('hma_made_up', '192.0.2.2'), anonymous)).toBe('passes')
  })
})

describe('the limits by user and application', () => {
  it('count a user over all addresses', () => {
    const answers = [1, 2, 3].map((last) => outcome(callOf('hmu_1', `192.0.2.${last}`), user(1)))
    expect(answers).toEqual(['passes', 'passes', 'too_many_requests'])
    expect(outcome(callOf('hmu_2', '192.0.2.4'), user(2))).toBe('passes')
  })

  it('give bots their own', () => {
    const answers = [1, 2, 3, 4, 5].map((last) =>
      outcome(callOf('hmu_1', `192.0.2.${last}`), user(1, 'home', true)),
    )
    expect(answers).toEqual([...passes(4), 'too_many_requests'])
  })

  it('count an upload for the user who asked for its ticket, and for nobody where an Admin token did', () => {
    const upload = (payerId: number): Principal => ({
      kind: 'ticket',
      appId: 'home',
      payerId,
      ticket: null,
    })
    const call = (address: string) => callOf(undefined, address)
    expect(outcome(call('192.0.2.1'), upload(1))).toBe('passes')
    expect(outcome(call('192.0.2.2'), user(1))).toBe('passes')
    expect(outcome(call('192.0.2.3'), upload(1))).toBe('too_many_requests')
    for (const address of ['192.0.2.4', '192.0.2.5', '192.0.2.6'])
      expect(outcome(call(address), upload(0))).toBe('passes')
  })

  it('count an application over all its users and those without a token', () => {
    for (const id of [1, 2, 3])
      expect(outcome(callOf('hmu_1', `192.0.2.${id}`), user(id))).toBe('passes')
    for (const id of [4, 5])
      expect(outcome(callOf(undefined, `192.0.2.${id}`), anonymous)).toBe('passes')
    expect(outcome(callOf('hmu_1', '192.0.2.6'), user(6))).toBe('too_many_requests')
    expect(outcome(callOf('hmu_1', '192.0.2.7'), user(7, 'elsewhere'))).toBe('passes')
  })

  it('do not count a call for the application whose operation says so, but for its user', () => {
    const call = callOf('hmu_1')
    for (const id of [1, 2, 3, 4, 5, 6, 7]) limits.authenticated(call, user(id), false)
    expect(outcome(call, user(8))).toBe('passes')
    limits.authenticated(call, user(8), false)
    expect(() => limits.authenticated(call, user(8), false)).toThrow('too many requests')
  })
})

describe('the cost of parsing a body', () => {
  it('is paid by the address of the call, which may run into debt once', () => {
    const call = callOf('hmu_1')
    limits.bodyArrived(call, user(1), 256)
    expect(() => limits.bodyArrived(call, user(2), 1)).toThrow('too many requests')
    expect(() => limits.arrived(callOf(undefined))).toThrow('too many requests')
    limits.bodyArrived(callOf('hmu_1', '192.0.2.2'), user(1), 256)
  })

  it('is not paid with a valid Admin token, nor by a small body', () => {
    for (let count = 0; count < 9; count++) limits.bodyArrived(callOf(adminToken), admin, 256)
    limits.bodyArrived(callOf('hmu_1'), user(1), 0)
    expect(() => limits.arrived(callOf('hmu_1'))).not.toThrow()
  })
})
