import { AppError } from '@hermod/protocol'
import { type Clock, dayMs } from '../../../lib/clock.js'
import type { NewToken } from '../../login/token-service.js'
import type { AcceptedAssertion, AssertionService } from '../assertions/assertion-service.js'
import type { GivenToken, SubjectTokens } from '../subject-tokens.js'
import { claimedProfile, claimedUser } from './claimed-user.js'

/** Limits the users that the assertions of an issuer make. */
export interface NewUserLimit {
  /** @returns 0 when another user may be made, else the whole seconds after which it may */
  take(issuer: string): number
  /** Undoes one {@link take} that was let through. */
  giveBack(issuer: string): void
}

interface ExchangeServiceOptions {
  readonly assertions: AssertionService
  readonly subjectTokens: SubjectTokens
  readonly newUsers: NewUserLimit
  readonly clock: Clock
  readonly tokenLifeMs: number
}

/** An assertion to exchange. */
export interface Exchange {
  readonly appId: string
  readonly assertion: string
  readonly device?: NewToken['device']
  /** The client's network address. */
  readonly address: string
}

/** The longest life of tokens with a life of their own. */
const ownLifeMs = dayMs

/** Exchanges assertions for tokens (rule C10). */
export class ExchangeService {
  constructor(private readonly options: ExchangeServiceOptions) {}

  /**
   * @throws AppError assertion_refused, user_not_found, user_disabled, user_limit_reached,
   * too_many_requests, unavailable
   */
  async exchange({ appId, assertion, device, address }: Exchange): Promise<GivenToken> {
    const { assertions, subjectTokens, newUsers } = this.options
    const accepted = await assertions.accept(appId, assertion)
    const { issuer, claims } = accepted
    const { subject, payload } = claims
    const expiresAt = this.expiryOf(accepted)
    if (expiresAt === null) return assertions.refuse(appId, issuer, 'expired')
    const limitKey = JSON.stringify([appId, issuer.issuer])
    let isTaken = false
    const create = () => {
      const retryAfterSeconds = isTaken ? 0 : newUsers.take(limitKey)
      if (retryAfterSeconds > 0)
        throw new AppError('too_many_requests', 'new users of the issuer', { retryAfterSeconds })
      isTaken = true
      return claimedUser(payload, issuer.settings)
    }
    const given = await subjectTokens.give({
      ...{ appId, issuer: issuer.issuer, subject, device, address },
      assertedAt: claims.issuedAt,
      endOf: ({ assertionsAfter }) =>
        claims.issuedAt <= assertionsAfter
          ? assertions.refuse(appId, issuer, 'revoked')
          : expiresAt,
      create: issuer.settings.create === 'first_login' ? create : null,
      profile: claimedProfile(payload, issuer.settings),
    })
    // Another first call of the subject made the user.
    if (isTaken && !given.created) newUsers.giveBack(limitKey)
    return given
  }

  /** Returns the end of the token of an assertion, in ms; null when it has passed. */
  expiryOf({ issuer, claims }: AcceptedAssertion): number | null {
    const { clock, tokenLifeMs } = this.options
    const now = clock.now()
    if (issuer.settings.session === 'own') return now + Math.min(ownLifeMs, tokenLifeMs)
    return claims.expiresAt <= now ? null : Math.min(claims.expiresAt, now + tokenLifeMs)
  }
}
