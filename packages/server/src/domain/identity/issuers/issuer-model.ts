import type { issuerCreations, issuerSessions } from '@hermod/protocol'
import type { JSONWebKeySet } from 'jose'
import type { SealContext } from '../../../lib/secrets/secret-box.js'
import type { AssertionRules } from '../assertions/assertion-rules.js'
import type { CheckedIssuer } from '../assertions/check-assertion.js'

/** Key of an issuer's row: the exact value of iss. */
export interface IssuerKey {
  readonly appId: string
  readonly issuer: string
}

/** The source of an issuer's keys. Shared secrets are stored encrypted, beside the settings. */
export type KeySource =
  | { readonly kind: 'discovery' | 'jwks_url'; readonly url: string }
  | { readonly kind: 'jwks'; readonly jwks: JSONWebKeySet }
  | { readonly kind: 'hmac_secret' }

/** The settings of an issuer, as they are stored in JSON. Names of claims: '' = none. */
export interface IssuerSettings extends AssertionRules {
  readonly keys: KeySource
  readonly create: (typeof issuerCreations)[number]
  readonly usernameClaim: string
  readonly nickNameClaim: string
  readonly avatarClaim: string
  readonly session: (typeof issuerSessions)[number]
}

/** An issuer of an application; times in ms. */
export interface Issuer extends IssuerKey {
  readonly settings: IssuerSettings
  /** The shared secrets as a JSON list, the current one first, encrypted; '' = none. */
  readonly sealed: string
  readonly createdAt: number
  readonly updatedAt: number
}

/** An issuer with its keys at hand. */
export interface OpenIssuer extends CheckedIssuer, IssuerKey {
  readonly settings: IssuerSettings
  readonly updatedAt: number
  /** Returns why its keys are not available, in words; '' when they are, or were not used yet. */
  keyProblem(): string
}

/** The most issuers of an application. */
export const maxIssuers = 10

/** Returns the location of an issuer's secrets. */
export function issuerContext({ appId, issuer }: IssuerKey): SealContext {
  return { column: 'identity_issuers.sealed', row: `${appId}/${issuer}` }
}
