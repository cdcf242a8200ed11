/** Assertions that an issuer has not made, each with the reason of its refusal. */
import type { JsonWebKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  testKeys as keys,
  testSeconds as now,
  publicJwk,
  sharedSecret,
  validClaims,
} from '../../../../test/support/assertions/builder.js'
import { claimRows } from '../../../../test/support/assertions/claim-rows.js'
import { formRows } from '../../../../test/support/assertions/form-rows.js'
import { keyRows } from '../../../../test/support/assertions/key-rows.js'
import type { Assertion } from './assertion.js'
import { type CheckedIssuer, checkAssertion } from './check-assertion.js'
import type { Refusal } from './refusals.js'
import { hmacRefusal, keySetOf, signatureRefusal } from './signature.js'

const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']

const rules = { algorithms, types: [], audience: ['app', 'web'], maxAge: 600, subjectClaim: 'sub' }

function keyIssuer(jwks: readonly JsonWebKey[], more: Partial<CheckedIssuer> = {}): CheckedIssuer {
  const set = keySetOf({ keys: jwks as never })
  const issuer = {
    ...rules,
    ...more,
    signatureRefusal: ({ text }: Assertion) => signatureRefusal(text, set, issuer.algorithms),
  }
  return issuer
}

const jwks = [
  publicJwk(keys.rsa, { kid: 'rsa' }),
  publicJwk(keys.ec, { kid: 'ec' }),
  publicJwk(keys.ed, { kid: 'ed' }),
]

const hmacIssuer: CheckedIssuer = {
  ...rules,
  algorithms: ['HS256'],
  audience: [],
  signatureRefusal: ({ text }) => hmacRefusal(text, [sharedSecret]),
}

const issuers: Readonly<Record<string, CheckedIssuer>> = {
  [validClaims.iss]: keyIssuer(jwks),
  'https://rsa.example': keyIssuer([publicJwk(keys.rsa)], { algorithms: ['RS256'] }),
  'https://types.example': keyIssuer(jwks, { types: ['at+jwt'] }),
  'https://names.example': keyIssuer(jwks, { subjectClaim: 'constructor' }),
  'https://weak.example': keyIssuer([publicJwk(keys.weakRsa, { kid: 'rsa' })]),
  'https://exponent.example': keyIssuer([publicJwk(keys.rsa, { kid: 'rsa', e: 'AQ' })]),
  'https://encryption.example': keyIssuer([publicJwk(keys.rsa, { kid: 'rsa', use: 'enc' })]),
  'https://operations.example': keyIssuer([
    publicJwk(keys.rsa, { kid: 'rsa', key_ops: ['encrypt'] }),
  ]),
  'https://signing.example': keyIssuer([
    publicJwk(keys.rsa, { kid: 'rsa', key_ops: ['sign', 'verify'] }),
  ]),
  'https://pss.example': keyIssuer([publicJwk(keys.rsa, { kid: 'rsa', alg: 'PS256' })]),
  'https://curve.example': keyIssuer([publicJwk(keys.ec384, { kid: 'ec' })]),
  'https://point.example': keyIssuer([
    publicJwk(keys.ec, { kid: 'ec', x: publicJwk(keys.otherEc).x as string }),
  ]),
  'https://private.example': keyIssuer([
    { ...keys.rsa.privateKey.export({ format: 'jwk' }), kid: 'rsa' },
  ]),
  'https://shared.example': keyIssuer([
    { kty: 'oct', k: Buffer.from(sharedSecret).toString('base64url'), kid: 'oct' },
  ]),
  'https://twice.example': keyIssuer([
    publicJwk(keys.rsa, { kid: 'rsa' }),
    publicJwk(keys.otherRsa, { kid: 'rsa' }),
  ]),
  'https://several.example': keyIssuer([
    publicJwk(keys.rsa, { kid: 'one' }),
    publicJwk(keys.otherRsa, { kid: 'two' }),
  ]),
  backend: hmacIssuer,
}

async function refusalOf(text: string): Promise<Refusal | null> {
  const findIssuer = (issuer: string) =>
    Object.hasOwn(issuers, issuer) ? (issuers[issuer] as CheckedIssuer) : null
  return (await checkAssertion(text, { now: now * 1000, findIssuer })).refusal
}

const rows = [...formRows, ...claimRows, ...keyRows]
describe('hostile assertions', () => {
  it('are many, with different names and texts', () => {
    expect(rows.length).toBeGreaterThanOrEqual(300)
    expect(new Set(rows.map(([name]) => name)).size).toBe(rows.length)
  })

  it('are all refused, each for its reason', async () => {
    const found = await Promise.all(rows.map(([, text]) => refusalOf(text)))
    const wrong = rows.flatMap(([name, , refusal], index) =>
      found[index] === refusal ? [] : [`${name}: ${found[index]}, not ${refusal}`],
    )
    expect(wrong).toEqual([])
    expect(found.filter((refusal) => refusal === null)).toEqual([])
  })
})
