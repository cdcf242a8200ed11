import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutBytes, longest } from './text.js'

/** Texts with characters of one to 18 bytes, some of several code points. */
const words = fc.string({
  unit: fc.constantFrom('a', 'é', '中', '😀', '𝄞', ' ', '🇩🇪', 'e\u0301', '👨‍👩‍👧'),
  maxLength: 60,
})

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })
const charactersOf = (text: string) => [...graphemes.segment(text)].map(({ segment }) => segment)

describe('cutBytes', () => {
  it('keeps the most whole characters that fit', () => {
    fc.assert(
      fc.property(words, fc.nat(120), (text, max) => {
        const cut = cutBytes(text, max)
        expect(text.startsWith(cut)).toBe(true)
        expect(cut.isWellFormed()).toBe(true)
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max)
        const next = charactersOf(text.slice(cut.length))[0]
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
