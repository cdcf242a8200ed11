import { describe, expect, it } from 'vitest'
import { createToken, equalSecrets, hashToken, type TokenPrefix } from './tokens.js'

const prefixes: readonly TokenPrefix[] = ['hma_', 'hmo_', 'hmu_', 'hmp_']

describe('createToken', () => {
  it.each(prefixes)('makes %s and 43 letters and digits', (prefix) => {
    expect(createToken(prefix)).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{43}$`))
  })

  it('never makes one twice', () => {
    expect(new Set(Array.from({ length: 2000 }, () => createToken('hmu_'))).size).toBe(2000)
  })

  it('uses every letter and digit about equally often', () => {
    const counts = new Map<string, number>()
    for (let made = 0; made < 2000; made++) {
      for (const letter of createToken('hmu_').slice(4))
        counts.set(letter, (counts.get(letter) ?? 0) + 1)
    }
    expect(counts.size).toBe(62)
    // 86,000 letters: 1,387 of each, give or take 37; letters that a biased choice favoured would have 1,680.
    for (const [letter, count] of counts)
      expect(Math.abs(count - 86_000 / 62), letter).toBeLessThan(37 * 6)
  })
})

describe('hashToken', () => {
  it('is SHA-256 in base64url, so that stored tokens outlive this code', () => {
    expect(hashToken('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  })
})

describe('equalSecrets', () => {
  it.each([
    ['hmo_a', 'hmo_a', true],
    ['', '', true],
    ['hmo_a', 'hmo_b', false],
    ['hmo_a', 'hmo_a ', false],
    ['', 'hmo_a', false],
    ['é', 'e\u0301', false],
  ])('compares %j and %j', (a, b, isEqual) => {
    expect(equalSecrets(a, b)).toBe(isEqual)
  })
})
