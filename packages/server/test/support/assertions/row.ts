/** Rows of the table of hostile assertions. */
import type { Refusal } from '../../../src/domain/identity/assertions/refusals.js'
import {
  type AssertionParts,
  buildAssertion,
  jsonWith,
  rsaHeader,
  type Signer,
  validClaims,
} from './builder.js'

/** An assertion with the reason of its refusal. */
export type Row = readonly [name: string, text: string, refusal: Refusal]

/** Returns a row for an assertion in parts. */
export const rowOf = (name: string, parts: AssertionParts, refusal: Refusal): Row => [
  name,
  buildAssertion(parts),
  refusal,
]

/** The valid claims with changes. */
export const claims = (more: object) => ({ ...validClaims, ...more })

/** The claims without one, which JSON.stringify leaves out. */
export const without = (name: string) => claims({ [name]: undefined })

/** The valid header with changes. */
export const header = (more: object) => ({ ...rsaHeader, ...more })

/** The claims of another issuer. */
export const from = (iss: string) => claims({ iss })

/** A value in a name. */
export const shown = (value: unknown) => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 50)}… of ${text.length}` : text
}

/** Rows with other values of a claim. */
export const withClaim = (name: string, refusal: Refusal, values: readonly unknown[]): Row[] =>
  values.map((value) =>
    rowOf(`${name} ${shown(value)}`, { payload: claims({ [name]: value }) }, refusal),
  )

/** Rows with a claim as JSON. */
export const withRawClaim = (name: string, refusal: Refusal, values: readonly string[]): Row[] =>
  values.map((value) =>
    rowOf(
      `${name} written ${value}`,
      { payload: jsonWith(without(name), `,"${name}":${value}}`) },
      refusal,
    ),
  )

/** Rows with more or other members of the header. */
export const withHeader = (refusal: Refusal, headers: readonly object[], signer?: Signer): Row[] =>
  headers.map((more) =>
    rowOf(
      `header ${shown(more)}`,
      { header: header(more), ...(signer ? { signer } : {}) },
      refusal,
    ),
  )
