import { AppError, type Int64, systemUserId } from '@hermod/protocol'
import { boundedCache } from '../lib/limits/bounded-cache.js'
import { networkOf } from '../lib/limits/network.js'
import { type Allowance, type UserAllowances, unlimited } from './allowance.js'
import type { Call } from './call.js'
import type { AppPrincipal, Principal } from './principal.js'

export interface Limiter<Key> {
  /** @returns 0 when the key may call, else the whole seconds after which it may */
  take(key: Key): number
  /** Undoes one successful take. */
  giveBack(key: Key): void
}

interface AddressLimiter extends Limiter<string> {
  /**
   * Takes tokens, also those that are yet to come.
   * @returns 0 when they were taken; for an address in debt the whole seconds until that is paid off
   */
  charge(key: string, tokens: number): number
}

interface Limiters {
  readonly addresses: AddressLimiter
  /** By address: Admin tokens that are not known to be valid. */
  readonly newAdminTokens: Limiter<string>
  /** By user ID, which is unique over all apps. */
  readonly users: Pick<UserAllowances, 'begin'>
  /** The limits of users that are programs. */
  readonly bots: Pick<UserAllowances, 'begin'>
  readonly apps: Limiter<string>
}

const maxAdminTokens = 10_000

/**
 * The limits of calls (rules A2, A2a): by address before authentication, by user and app after it.
 * A valid Admin token passes all of them, since an app server is one address with much traffic; so
 * does an operator.
 *
 * An Admin token that was valid at its last check goes straight to authentication, whatever its
 * address sends. Any other Admin token takes from a separate bucket, and gives the token back when
 * it turns out valid. So an app server is served behind an exhausted address, and forged tokens
 * cause no more database look-ups than other calls. Admin tokens that fail count for the address as
 * well.
 */
export class CallLimits {
  readonly #validAdminTokens = boundedCache<string, true>(maxAdminTokens)

  constructor(private readonly limiters: Limiters) {}

  /** Counts a request that is no call, such as a receipt. @throws AppError address_limited */
  requestArrived(address: string): void {
    requireNoWait('address_limited', this.limiters.addresses.take(networkOf(address)))
  }

  /** @throws AppError address_limited, before anything is looked up */
  arrived(call: Call): void {
    if (isUnlimited(call.principal)) return
    const { addresses, newAdminTokens } = this.limiters
    const adminToken = limitedAdminToken(call)
    if (adminToken !== null && this.#validAdminTokens.get(adminToken)) return
    requireNoWait(
      'address_limited',
      (adminToken === null ? addresses : newAdminTokens).take(networkOf(call.address)),
    )
  }

  /** Counts a call that failed in authentication. */
  refused(call: Call, error: unknown): void {
    const adminToken = limitedAdminToken(call)
    if (adminToken === null) return
    // A failure of the service says nothing about the token.
    const isOurs = !(error instanceof AppError) || error.entry.retryable
    if (!isOurs) this.#failed(call, adminToken)
    else if (!this.#validAdminTokens.has(adminToken))
      this.limiters.newAdminTokens.giveBack(networkOf(call.address))
  }

  /**
   * @param countsForApp false: the call does not count against the limit of the app
   * @returns the caller's allowance; it ends with the call
   * @throws AppError address_limited, too_many_requests
   */
  authenticated(call: Call, principal: Principal, countsForApp = true): Allowance {
    const adminToken = limitedAdminToken(call)
    if (principal.kind === 'admin' && adminToken !== null) this.#passed(call, adminToken)
    if (principal.kind === 'admin' || principal.kind === 'operator') return unlimited
    // An operation that needs no token ignores an invalid one, which must not bypass the limit by address.
    if (adminToken !== null) requireNoWait('address_limited', this.#failed(call, adminToken))
    const { users, bots, apps } = this.limiters
    const payerId = payerOf(principal)
    const payers = principal.kind === 'user' && principal.isBot ? bots : users
    const allowance = payerId === systemUserId ? unlimited : payers.begin(payerId)
    // The app's limit counts calls and not their cost: the debts of a few users must not delay all
    // others of the app.
    const waitSeconds = countsForApp ? apps.take(principal.appId) : 0
    if (waitSeconds > 0) allowance.end()
    requireNoWait('too_many_requests', waitSeconds)
    return allowance
  }

  /** Charges a body to its address, before it is parsed. @throws AppError address_limited */
  bodyArrived(call: Call, principal: Principal, tokens: number): void {
    if (tokens === 0 || principal.kind === 'admin' || principal.kind === 'operator') return
    this.bytesArrived(call.address, tokens)
  }

  /**
   * Charges the bytes of a body, or of a frame that runs no call, to their address.
   * @throws AppError address_limited
   */
  bytesArrived(address: string, tokens: number): void {
    const waitSeconds = this.limiters.addresses.charge(networkOf(address), tokens)
    requireNoWait('address_limited', waitSeconds)
  }

  #passed(call: Call, adminToken: string): void {
    if (this.#validAdminTokens.has(adminToken)) return
    this.#validAdminTokens.set(adminToken, true)
    this.limiters.newAdminTokens.giveBack(networkOf(call.address))
  }

  /** @returns as Limiter.take for the address */
  #failed(call: Call, adminToken: string): number {
    this.#validAdminTokens.delete(adminToken)
    return this.limiters.addresses.take(networkOf(call.address))
  }
}

/** @returns the user whose tokens the call takes; 0: none */
function payerOf(principal: AppPrincipal): Int64 {
  if (principal.kind === 'user') return principal.userId
  return principal.kind === 'ticket' ? principal.payerId : systemUserId
}

function requireNoWait(error: 'address_limited' | 'too_many_requests', waitSeconds: number): void {
  if (waitSeconds > 0) throw new AppError(error, undefined, { retryAfterSeconds: waitSeconds })
}

/** For HERMOD_RATE_LIMIT=off. */
export const noCallLimits: Pick<
  CallLimits,
  'requestArrived' | 'bytesArrived' | 'arrived' | 'refused' | 'authenticated' | 'bodyArrived'
> = {
  requestArrived() {},
  arrived() {},
  refused() {},
  bodyArrived() {},
  bytesArrived() {},
  authenticated: () => unlimited,
}

function isUnlimited(principal: Principal | undefined): boolean {
  return principal?.kind === 'admin' || principal?.kind === 'operator'
}

function limitedAdminToken({ credentials }: Call): string | null {
  const accessToken = credentials?.accessToken
  return accessToken?.startsWith('hma_') ? accessToken : null
}
