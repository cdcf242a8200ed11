/** Assertions that are accepted, and the bounds of their rules. */
import { describe, expect, it } from 'vitest'
import {
  type AssertionParts,
  buildAssertion,
  hmacSigner,
  jsonWith,
  testKeys as keys,
  testSeconds as now,
  publicJwk,
  rsaHeader,
  sharedSecret,
  signers,
  validClaims,
} from '../../../../test/support/assertions/builder.js'
import { type CheckedIssuer, checkAssertion } from './check-assertion.js'
import { hmacRefusal, type KeySet, keySetOf, signatureRefusal } from './signature.js'

const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']
const rules = { algorithms, types: [], audience: ['app', 'web'], maxAge: 600, subjectClaim: 'sub' }
const all = keySetOf({
  keys: [
    publicJwk(keys.rsa, { kid: 'rsa' }),
    publicJwk(keys.ec, { kid: 'ec', use: 'sig', key_ops: ['verify'], alg: 'ES256' }),
    publicJwk(keys.ed, { kid: 'ed' }),
  ] as never,
})
const oneKey = keySetOf({ keys: [publicJwk(keys.rsa)] as never })

function issuerOf(set: KeySet, more: Partial<CheckedIssuer> = {}): CheckedIssuer {
  return {
    ...rules,
    ...more,
    signatureRefusal: ({ text }) => signatureRefusal(text, set, algorithms),
  }
}

const withSecrets = (...secrets: string[]): CheckedIssuer => ({
  ...rules,
  algorithms: ['HS256'],
  audience: [],
  signatureRefusal: ({ text }) => hmacRefusal(text, secrets),
})

const check = (parts: AssertionParts, issuer = issuerOf(all)) =>
  checkAssertion(buildAssertion(parts), {
    now: now * 1000,
    findIssuer: (iss) => (iss === validClaims.iss ? issuer : null),
  })

/** Returns the subject of an accepted assertion, or the refusal. */
async function subjectOf(parts: AssertionParts, issuer?: CheckedIssuer): Promise<string> {
  const result = await check(parts, issuer)
  return result.refusal ?? result.claims.subject
}

const claims = (more: object) => ({ payload: { ...validClaims, ...more } })
const raw = (end: string) => ({ payload: jsonWith({ ...validClaims, sub: undefined }, end) })
const hmac = { header: { alg: 'HS256' }, signer: hmacSigner(sharedSecret) }

describe('accepted assertions', () => {
  it.each<[string, AssertionParts, CheckedIssuer?]>([
    ['RS256', {}],
    ['PS256', { header: { alg: 'PS256', kid: 'rsa' }, signer: signers.PS256(keys.rsa) }],
    ['ES256', { header: { alg: 'ES256', kid: 'ec' }, signer: signers.ES256(keys.ec) }],
    ['EdDSA', { header: { alg: 'EdDSA', kid: 'ed' }, signer: signers.EdDSA(keys.ed) }],
    ['no kid where one key fits', { header: { alg: 'RS256' } }],
    ['no kid where one key fits alg', { header: { alg: 'ES256' }, signer: signers.ES256(keys.ec) }],
    ['any kid where no key has one', {}, issuerOf(oneKey)],
    ['HS256', hmac, withSecrets(sharedSecret)],
    ['HS256 with the second secret', hmac, withSecrets('x'.repeat(32), sharedSecret)],
    ['HS256 without aud', { ...hmac, ...claims({ aud: undefined }) }, withSecrets(sharedSecret)],
    ['no typ', { header: { ...rsaHeader, typ: undefined } }],
    ['typ in small letters', { header: { ...rsaHeader, typ: 'jwt' } }],
    ['typ as a media type', { header: { ...rsaHeader, typ: 'application/JWT' } }],
    [
      'the typ that is set',
      { header: { ...rsaHeader, typ: 'at+JWT' } },
      issuerOf(all, { types: ['at+jwt'] }),
    ],
    ['keys in the header, which are not used', { header: { ...rsaHeader, x5c: ['x'], jku: 'y' } }],
    ['the second audience', claims({ aud: 'web' })],
    ['a list with one audience', claims({ aud: ['app'] })],
    ['a list with azp', claims({ aud: ['other', 'app'], azp: 'web' })],
    ['one audience with another azp', claims({ azp: 'other' })],
    ['a payload with 8 levels', claims({ a: { a: { a: { a: { a: { a: [1] } } } } } })],
    ['numbers of any form in other claims', raw(',"sub":"4711","a":1.5,"b":1e400,"c":-0}')],
    ['a byte order mark in a text', claims({ name: '\ufeff' })],
    ['__proto__ in a payload', raw(',"sub":"4711","__proto__":{"sub":"other"}}')],
  ])('%s', async (_, parts, issuer) => {
    expect(await subjectOf(parts, issuer)).toBe('4711')
  })

  it.each<[string, AssertionParts, string]>([
    ['an integer', claims({ sub: 4711 }), '4711'],
    ['0', claims({ sub: 0 }), '0'],
    ['the largest integer', raw(',"sub":9007199254740991}'), '9007199254740991'],
    ['255 bytes', claims({ sub: 's'.repeat(255) }), 's'.repeat(255)],
    ['a text with spaces, byte for byte', claims({ sub: ' Ä\u0308 ' }), ' Ä\u0308 '],
    ['escaped surrogates of one character', raw(',"sub":"\\ud83d\\ude00"}'), '😀'],
    ['an escaped name', raw(',"\\u0073ub":"4711"}'), '4711'],
  ])('the subject may be %s', async (_, parts, subject) => {
    expect(await subjectOf(parts)).toBe(subject)
  })

  it.each<[string, AssertionParts]>([
    ['exp 59 s ago', claims({ exp: now - 59 })],
    ['iat in 60 s', claims({ iat: now + 60 })],
    ['nbf in 60 s', claims({ nbf: now + 60 })],
    ['iat max_age and 60 s ago', claims({ iat: now - 660 })],
    ['exp in ten years', claims({ exp: now + 315_360_000 })],
  ])('the clocks may differ by a minute: %s', async (_, parts) => {
    expect(await subjectOf(parts)).toBe('4711')
  })

  it('give the times in milliseconds, the whole payload and the issuer', async () => {
    const issuer = issuerOf(all)
    const result = await check(claims({ name: 'Alice' }), issuer)
    expect(result.refusal === null && result).toMatchObject({
      issuer,
      claims: { issuedAt: now * 1000, expiresAt: (now + 300) * 1000, payload: { name: 'Alice' } },
    })
  })

  it('may have 8192 bytes', async () => {
    const size = (pad: number) => buildAssertion(claims({ pad: 'p'.repeat(pad) })).length
    // Three bytes are four characters; the search ends at the largest text that fits.
    let pad = 5_600
    while (size(pad + 1) <= 8_192) pad++
    expect(size(pad)).toBeGreaterThan(8_188)
    expect(await subjectOf(claims({ pad: 'p'.repeat(pad) }))).toBe('4711')
    expect(await subjectOf(claims({ pad: 'p'.repeat(pad + 3) }))).toBe('too_large')
  })
})
