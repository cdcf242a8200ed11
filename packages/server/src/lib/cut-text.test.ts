import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutText, firstGrapheme } from './cut-text.js'

/** Texts with characters of one to 18 bytes, some of several code points. */
const words = fc.string({
  unit: fc.constantFrom('a', 'é', '中', '😀', '𝄞', ' ', '🇩🇪', 'e\u0301', '👨‍👩‍👧'),
  maxLength: 60,
})

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })
const charactersOf = (text: string) => [...graphemes.segment(text)].map(({ segment }) => segment)

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
        const next = charactersOf(text.slice(cut.length))[0]
        if (next !== undefined) expect(cut.length + next.length).toBeGreaterThan(max)
      }),
    )
  })
})

describe('cutText of displayed characters', () => {
  it('splits no flag, family or accent', () => {
    expect(cutText('a🇩🇪🇫🇷', 7)).toBe('a🇩🇪')
    expect(cutText('👨‍👩‍👧', 6)).toBe('')
    expect(cutText('ae\u0301', 2)).toBe('a')
  })

  it('splits a character with endless accents', () => {
    expect(cutText(`e${'\u0301'.repeat(200)}`, 100)).toHaveLength(100)
  })

  it('begins with a displayed character, not with an isolate', () => {
    expect(firstGrapheme('\u2068Anna\u2069 wrote')).toBe('A')
    // A gateway that needs a text gets one.
    expect(firstGrapheme('\u2068\u2069')).toBe('\u2068')
  })

  it('closes open isolates within the limit', () => {
    expect(cutText('\u2067abcdef\u2069', 5)).toBe('\u2067abc\u2069')
    expect(cutText('\u2067a\u2069bcdef', 5)).toBe('\u2067a\u2069bc')
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '\u2066', '\u2067', '\u2068', '\u2069') }),
        fc.nat(20),
        (text, max) => {
          const cut = cutText(text, max)
          expect(cut.length).toBeLessThanOrEqual(max)
          if (cut === text) return
          const open = [...cut].reduce(
            (count, unit) =>
              unit === '\u2069' ? Math.max(0, count - 1) : count + Number(unit !== 'a'),
            0,
          )
          expect(open).toBe(0)
        },
      ),
    )
  })
})
