import { describe, expect, it } from 'vitest'
import { isNumberPart, readCursor, readCursorParts, writeCursor } from './paging.js'

const isWord = (part: string) => /^[a-z]+$/.test(part)

describe('a cursor', () => {
  it('gives back the numbers and the texts that it was made of', () => {
    expect(readCursor(writeCursor(1_700_000_000_000, 7), 2)).toEqual([1_700_000_000_000, 7])
    expect(readCursorParts(writeCursor(12, 'word'), [isNumberPart, isWord])).toEqual(['12', 'word'])
  })

  it('is none at the first page', () => {
    for (const none of [undefined, '']) {
      expect(readCursor(none, 1)).toBeNull()
      expect(readCursorParts(none, [isWord])).toBeNull()
    }
  })

  it.each([
    'word',
    '12',
    '12-word-7',
    'word-12',
    '12-Word',
    '12-',
    '-word',
    '1.5-word',
    '9007199254740993-word',
  ])('of another list is refused: %s', (cursor) => {
    expect(() => readCursorParts(cursor, [isNumberPart, isWord])).toThrow('cursor must be one')
  })
})
