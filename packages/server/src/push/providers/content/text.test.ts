import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutBytes, cutText, longest } from './text.js'

/** Texts with characters of one to four bytes, and of one or two code units. */
const words = fc.string({ unit: fc.constantFrom('a', 'é', '中', '😀', '𝄞', ' '), maxLength: 60 })

describe('cutText', () => {
  it('keeps a beginning within the limit that ends with a whole character', () => {
    fc.assert(
      fc.property(words, fc.nat(70), (text, max) => {
        const cut = cutText(text, max)
        expect(text.startsWith(cut)).toBe(true)
        expect(cut.length).toBeLessThanOrEqual(max)
        expect(cut.isWellFormed()).toBe(true)
      }),
    )
  })

  it('leaves out no more than the character that does not fit', () => {
    fc.assert(
      fc.property(words, fc.nat(70), (text, max) => {
        const cut = cutText(text, max)
        const next = [...text.slice(cut.length)][0]
        if (next !== undefined) expect(cut.length + next.length).toBeGreaterThan(max)
      }),
    )
  })
})

describe('cutBytes', () => {
  it('keeps the most whole characters that fit', () => {
    fc.assert(
      fc.property(words, fc.nat(120), (text, max) => {
        const cut = cutBytes(text, max)
        expect(text.startsWith(cut)).toBe(true)
        expect(cut.isWellFormed()).toBe(true)
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max)
        const next = [...text.slice(cut.length)][0]
        if (next !== undefined) expect(Buffer.byteLength(cut + next)).toBeGreaterThan(max)
      }),
    )
  })
})

describe('longest', () => {
  it('is empty when nothing fits, and whole when everything does', () => {
    expect(longest('abc', () => false)).toBe('')
    expect(longest('abc', () => true)).toBe('abc')
  })
})
