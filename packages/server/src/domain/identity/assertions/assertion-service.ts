import { AppError } from '@hermod/protocol'
import type { Clock } from '../../../lib/clock.js'
import type { OpenIssuer } from '../issuers/issuer-model.js'
import type { IssuerService } from '../issuers/issuer-service.js'
import type { Claims } from './assertion-rules.js'
import { type CheckResult, checkAssertion } from './check-assertion.js'
import type { Refusal } from './refusals.js'

/** Gets the assertions that were refused. */
export interface AssertionObserver {
  /** @param issuer null when the assertion names none of the application */
  refused(appId: string, issuer: string | null, refusal: Refusal): void
}

interface AssertionServiceOptions {
  readonly issuers: Pick<IssuerService, 'find' | 'findCurrent'>
  readonly clock: Clock
  readonly observer: AssertionObserver
}

/** An assertion that was accepted. */
export interface AcceptedAssertion {
  readonly issuer: OpenIssuer
  readonly claims: Claims
}

/** Checks the assertions of callers (rule C10). */
export class AssertionService {
  constructor(private readonly options: AssertionServiceOptions) {}

  /** Checks an assertion without a trace. */
  async check(appId: string, text: string): Promise<CheckResult<OpenIssuer>> {
    const { issuers, clock } = this.options
    const result = await checkAssertion(text, {
      now: clock.now(),
      findIssuer: (issuer) => issuers.find(appId, issuer),
    })
    if (result.issuer === null) return result
    // An operator may have changed or removed the issuer: another node before a refusal, any node
    // while its keys were fetched.
    const { issuer, updatedAt } = result.issuer
    const present =
      result.refusal === null
        ? await issuers.find(appId, issuer)
        : await issuers.findCurrent(appId, issuer)
    return present?.updatedAt === updatedAt ? result : this.check(appId, text)
  }

  /** @throws AppError assertion_refused */
  async accept(appId: string, text: string): Promise<AcceptedAssertion> {
    const result = await this.check(appId, text)
    return result.refusal === null ? result : this.refuse(appId, result.issuer, result.refusal)
  }

  /**
   * Refuses an assertion. Its caller does not see the reason.
   * @throws AppError assertion_refused
   */
  refuse(appId: string, issuer: OpenIssuer | null, refusal: Refusal): never {
    this.options.observer.refused(appId, issuer?.issuer ?? null, refusal)
    throw new AppError('assertion_refused')
  }
}
