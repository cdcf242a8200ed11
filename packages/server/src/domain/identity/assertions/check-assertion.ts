import type { MaybePromise } from '../../../lib/maybe-promise.js'
import { type Assertion, readAssertion } from './assertion.js'
import { type AssertionRules, type Claims, headerRefusal, readClaims } from './assertion-rules.js'
import type { Refusal } from './refusals.js'

/** An issuer, as the check of its assertions needs it. */
export interface CheckedIssuer extends AssertionRules {
  /** Checks the signature by the keys of the issuer. */
  signatureRefusal(assertion: Assertion): Promise<Refusal | null>
}

/** The result of a check. */
export type CheckResult<Issuer> =
  | { readonly refusal: null; readonly issuer: Issuer; readonly claims: Claims }
  /** The issuer is null when the assertion names none of the application. */
  | { readonly refusal: Refusal; readonly issuer: Issuer | null }

/**
 * Checks an assertion. The signature comes last, since it costs the most; nothing of an assertion
 * is used before.
 */
export async function checkAssertion<Issuer extends CheckedIssuer>(
  text: string,
  {
    now,
    findIssuer,
  }: {
    readonly now: number
    /** Finds an issuer of the application by its exact text. */
    readonly findIssuer: (issuer: string) => MaybePromise<Issuer | null>
  },
): Promise<CheckResult<Issuer>> {
  const assertion = readAssertion(text)
  if (typeof assertion === 'string') return { refusal: assertion, issuer: null }
  const { header, payload } = assertion
  const issuer = typeof payload.iss === 'string' ? await findIssuer(payload.iss) : null
  if (issuer === null) return { refusal: 'unknown_issuer', issuer }
  const headerFault = headerRefusal(header, issuer)
  if (headerFault !== null) return { refusal: headerFault, issuer }
  const claims = readClaims(payload, issuer, now)
  if (typeof claims === 'string') return { refusal: claims, issuer }
  const refusal = await issuer.signatureRefusal(assertion)
  return refusal === null ? { refusal, issuer, claims } : { refusal, issuer }
}
